#include "tools/cli/command_line.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <ostream>
#include <thread>
#include <utility>

#include "goodput_revision.h"
#include "sim/base/errors.h"
#include "sim/base/text.h"
#include "sim/config/library.h"
#include "tools/cli/command_help.h"
#include "tools/cli/json_result.h"
#include "tools/cli/options.h"

namespace goodput {
namespace {

// ---- `-` among the inputs: what stands on stdin.

constexpr std::string_view kMark = "-";

Error failed(std::string_view what) {
  return Error{fmt::format("stdin cannot be {}: {}", what, std::strerror(errno)), {}};
}

// A file can be opened anew; what is no file, was read in part or may not be opened, cannot.
bool is_whole_file() {
  struct stat status {};
  if (fstat(STDIN_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  return lseek(STDIN_FILENO, 0, SEEK_CUR) == 0 && access(config::kStdinFile, R_OK) == 0;
}

Status copy_stdin(int to) {
  std::array<char, 1 << 16> buffer;
  while (true) {
    const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got == 0) return Ok{};
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {  // a pipe that somebody else made non-blocking
      pollfd ready{STDIN_FILENO, POLLIN, 0};
      poll(&ready, 1, -1);
      continue;
    }
    if (got < 0) return failed("read");
    for (ssize_t done = 0; done < got;) {
      const ssize_t put = write(to, buffer.data() + done, static_cast<std::size_t>(got - done));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return failed("buffered");
      done += put;
    }
  }
}

// From then on stdin is a file in memory.
Status keep_stdin() {
  const int memory = memfd_create("stdin", MFD_CLOEXEC);
  if (memory < 0) return failed("buffered");
  Status copied = copy_stdin(memory);
  if (copied && dup2(memory, STDIN_FILENO) < 0) return failed("buffered");
  close(memory);
  return copied;
}

// Puts the path for the mark; how often.
int replace_marks(DeclaredOption& option) {
  int marks = 0;
  const auto replace = [&marks](std::string& text) {
    if (text != kMark) return;
    text = config::kStdinFile;
    ++marks;
  };
  if (option.text != nullptr) replace(*option.text);
  if (option.texts == nullptr) return marks;
  const std::size_t inputs = option.texts->size() - (option.is_last_output && !option.texts->empty() ? 1 : 0);
  for (std::size_t i = 0; i < inputs; ++i) replace((*option.texts)[i]);
  return marks;
}

// Puts config::kStdinFile for `-` in every input, by which messages and results call it, and lets stdin be
// read more than once from its beginning, as readers that look at a file's first bytes do: a pipe is read to
// its end, into memory. Fails when `-` is given twice, or stdin cannot be read.
Status take_stdin(DeclaredOptions& declared) {
  int marks = 0;
  for (DeclaredOption& option : declared) {
    if (option.is_input) marks += replace_marks(option);
  }
  if (marks > 1) return Error{"- (stdin) is given for two inputs; only one input can be stdin", {}};
  if (marks == 0) return Ok{};
  if (fcntl(STDIN_FILENO, F_GETFD) < 0) return Error{"- (stdin) is given, but stdin is closed", {}};
  if (is_whole_file()) return Ok{};
  return keep_stdin();
}

// ---- From what was declared for the parser to what help shows.

// Under which help lists the options that every command has.
constexpr std::string_view kGlobalGroup = "Global options";

OptionHelp describe_option(const CLI::Option& option, const DeclaredOptions& all) {
  const auto declared =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.option == &option; });
  OptionHelp help;
  for (const std::string& name : option.get_snames()) help.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) {
    if (declared == all.end() || declared->former_name != "--" + name) help.names.push_back("--" + name);
  }
  help.text = option.get_description();
  help.group = option.get_group();
  help.is_required = option.get_required();
  help.may_repeat = option.get_items_expected_max() > 1;
  if (declared == all.end()) return help;  // --help and --version
  help.value = declared->value_name;
  help.kind = declared->kind;
  return help;
}

// The app's name behind those of all it is part of.
std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

// REQUIRES: the footer of every command is its example.
CommandHelp describe_command(const CLI::App& app, const DeclaredOptions& declared) {
  CommandHelp help{full_name(app), app.get_description(), app.get_footer(), {}, {}, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    OptionHelp described = describe_option(*option, declared);
    auto& into = described.names.empty()           ? help.arguments
                 : described.group == kGlobalGroup ? help.globals
                                                   : help.options;
    into.push_back(std::move(described));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    help.commands.push_back(describe_command(*command, declared));
  return help;
}

// ---- The command line.

// Validators of CLI11 return what is wrong, or nothing. Its own conversion takes too large a number for the
// largest.
std::string is_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (code == std::errc{} && end == text.data() + text.size()) return {};
  return fmt::format("must be an integer from 0 to 2^64-1, not {}", in_quotes(text));
}

std::string is_number_of_jobs(const std::string& text) {
  constexpr std::int64_t kMost = 4096;
  const auto jobs = parse_integer(text);
  if (jobs && *jobs >= 1 && *jobs <= kMost) return {};
  return fmt::format("must be a whole number from 1 to {}, not {}", kMost, in_quotes(text));
}

// An option with an empty value is a script whose variable is not set, not an option left out.
std::string is_not_empty(const std::string& text) {
  return text.empty() ? "must not be empty" : "";
}

// JSON for programs may go to stdout, a page for people is for a browser to open.
std::string is_no_stdout(const std::string& text) {
  return text == "-" ? "must be a file, not stdout" : "";
}

void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() > 0) option->check(is_not_empty);
  }
  for (CLI::App* subcommand : app.get_subcommands([](CLI::App*) { return true; }))
    refuse_empty_values(*subcommand);
}

void add_global_options(CLI::App& app, DeclaredOptions& declared, GlobalOptions& options) {
  const std::string group(kGlobalGroup);
  Options add(app, declared);
  add.add("--json", options.json_path, "FILE",
          "Write the result as JSON (- for stdout, in place of the text output)")
      .output()
      .in_group(group);
  add.add("--report", options.report_path, "FILE.html", "Write the result as a self-contained HTML page")
      .output()
      .check(is_no_stdout)
      .in_group(group);
  add.add_flag("--quiet", options.quiet, "Print errors only, no results or notes").in_group(group);
  add.add("--seed", options.seed, "N", "Random seed (default 0)").check(is_seed).in_group(group);
  add.add("--jobs", options.jobs, "N",
          "Number of threads (default: one per core); results do not depend on it")
      .check(is_number_of_jobs)
      .in_group(group);
  add.add("--configs", options.configs, "DIR",
          "Folder to search for models, clusters, plans, ... by name before GOODPUT_CONFIGS and the shipped "
          "configs; repeatable, searched in the order given")
      .folder()
      .one_value_each()
      .in_group(group);
}

// The global options belong to what is run: the sub-commands of `app` when it needs one, else `app` too.
void add_global_options_to_leaves(CLI::App& app, DeclaredOptions& declared, GlobalOptions& options) {
  const std::vector<CLI::App*> subcommands = app.get_subcommands([](CLI::App*) { return true; });
  for (CLI::App* subcommand : subcommands) add_global_options_to_leaves(*subcommand, declared, options);
  if (app.get_require_subcommand_min() == 0) add_global_options(app, declared, options);
}

// The innermost command that the command line names.
const CLI::App& innermost(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front());
}

std::string suggest(std::string_view name, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  return did_you_mean(name, views);
}

std::string unknown_option(const CLI::App& app, const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& long_name : option->get_lnames()) known.push_back("--" + long_name);
  }
  if (std::find(known.begin(), known.end(), name) != known.end())
    return fmt::format("{}: {} is before the command; put it after the command", full_name(app), name);
  return fmt::format("{}: unknown option {}{}", full_name(app), in_quotes(name), suggest(name, known));
}

std::string unexpected_argument(const CLI::App& app, const std::string& argument) {
  std::vector<std::string> known;
  for (const CLI::App* subcommand : app.get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(subcommand->get_name());
  }
  if (known.empty()) return fmt::format("{}: unexpected argument {}", full_name(app), in_quotes(argument));
  const std::string hint = suggest(argument, known);
  return fmt::format("{}: unknown command {}{}", full_name(app), in_quotes(argument),
                     hint.empty() ? "; see " + full_name(app) + " --help" : hint);
}

// One line that says what is wrong with the command line. A misspelt word is named before what it left
// missing.
std::string explain(const CLI::ParseError& error, const CLI::App& root) {
  const CLI::App& app = innermost(root);
  const std::vector<std::string> extras = root.remaining(true);
  const auto option =
      std::find_if(extras.begin(), extras.end(), [](const auto& e) { return e.starts_with("-"); });
  if (option != extras.end()) return unknown_option(app, *option);
  if (!extras.empty()) return unexpected_argument(app, extras.front());
  std::string what = error.what();
  if (what == "A subcommand is required") what = "a command is required";
  std::replace(what.begin(), what.end(), '\n', ' ');
  return fmt::format("{}: {}; see {} --help", full_name(app), what, full_name(app));
}

struct CommandLine {
  CLI::App app{"Find out what stragglers and failures cost a large training job", "goodput"};
  GlobalOptions options;
  GlobalOptions before;  // those that stand before the command
  DeclaredOptions declared;
  std::vector<std::unique_ptr<Command>> commands;  // one a CommandInfo
};

void declare_commands(CommandLine& line, std::span<const CommandInfo> infos) {
  line.app.set_help_flag("-h,--help", "Show this help");
  line.app.set_version_flag("-V,--version", fmt::format("goodput {} ({})", GOODPUT_VERSION, GOODPUT_REVISION),
                            "Show version and revision");
  line.app.require_subcommand(1);
  add_global_options(line.app, line.declared, line.before);
  for (const CommandInfo& info : infos) {
    CLI::App* app = line.app.add_subcommand(std::string(info.name), std::string(info.summary));
    app->footer(std::string(info.example));
    line.commands.push_back(info.make());
    Options options(*app, line.declared);
    line.commands.back()->configure(options);
    add_global_options_to_leaves(*app, line.declared, line.options);
  }
  refuse_empty_values(line.app);
}

Command& chosen_command(const CommandLine& line) {
  const std::vector<const CLI::App*> all = line.app.get_subcommands([](const CLI::App*) { return true; });
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i]->parsed()) return *line.commands[i];
  }
  throw InternalError("no command was parsed");
}

int default_jobs() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

// Nothing but the name of a command that has commands.
bool is_bare_group(const CLI::App& app, const std::vector<std::string>& arguments) {
  const std::string name = full_name(app);
  const auto words = static_cast<std::size_t>(std::count(name.begin(), name.end(), ' '));
  return arguments.size() == words && !app.get_subcommands([](const CLI::App*) { return true; }).empty();
}

// What stands before the command means what it means behind it.
Status join_options(CommandLine& line) {
  const CLI::App& command = innermost(line.app);
  for (const char* name : {"--json", "--report", "--seed", "--jobs"}) {
    if (line.app.count(name) > 0 && command.count(name) > 0)
      return Error{fmt::format("{} is given twice, before and after the command; give it once", name), {}};
  }
  const GlobalOptions& before = line.before;
  if (line.app.count("--json") > 0) line.options.json_path = before.json_path;
  if (line.app.count("--report") > 0) line.options.report_path = before.report_path;
  if (line.app.count("--seed") > 0) line.options.seed = before.seed;
  if (line.app.count("--jobs") > 0) line.options.jobs = before.jobs;
  line.options.quiet = line.options.quiet || before.quiet;
  line.options.configs.insert(line.options.configs.begin(), before.configs.begin(), before.configs.end());
  return Ok{};
}

// Parses; a code: all is said and done.
std::optional<ExitCode> parse(CommandLine& line, const std::vector<std::string>& arguments,
                              const CommandContext& context) {
  const auto show_help = [&] {
    context.out << help_text(describe_command(innermost(line.app), line.declared), context.terminal.width);
    return ExitCode::kOk;
  };
  try {
    line.app.parse(
        std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes the last first
  } catch (const CLI::CallForVersion& version) {
    context.out << version.what() << '\n';
    return ExitCode::kOk;
  } catch (const CLI::CallForHelp&) {
    return show_help();
  } catch (const CLI::ParseError& error) {
    if (is_bare_group(innermost(line.app), arguments)) return show_help();
    context.err << "error: " << on_one_line(explain(error, line.app)) << '\n';
    return ExitCode::kBadInput;
  }
  return std::nullopt;
}

// Of options that were given by their former names.
void note_former_names(const CommandLine& line, const std::vector<std::string>& arguments,
                       const CommandContext& context) {
  for (const DeclaredOption& declared : line.declared) {
    const std::string& former = declared.former_name;
    const bool is_given =
        std::any_of(arguments.begin(), arguments.end(), [&former](const std::string& argument) {
          return argument == former || argument.starts_with(former + '=');
        });
    if (former.empty() || declared.option->count() == 0 || !is_given) continue;
    context.note(fmt::format("{} is now named --{}", former, declared.option->get_lnames().front()));
  }
}

Result<ExitCode> run_chosen(CommandLine& line, const std::vector<std::string>& arguments,
                            CommandContext& context) {
  GOODPUT_TRY_STATUS(join_options(line));
  context.options = line.options;
  note_former_names(line, arguments, context);
  GOODPUT_TRY_STATUS(check_file_roles({}, {}, context));  // of commands that name no other files too
  GOODPUT_TRY_STATUS(take_stdin(line.declared));
  return chosen_command(line).run(context);
}

}  // namespace

std::string flag_of(std::string_view key) {
  std::string flag = fmt::format("--{}", key);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

ExitCode run_command_line(std::span<const CommandInfo> commands, const std::vector<std::string>& arguments,
                          std::ostream& out, std::ostream& err, Terminal terminal,
                          const Environment& environment,
                          const std::shared_ptr<config::ForeignFiles>& foreign_files) {
  CommandLine line;
  line.options.jobs = default_jobs();
  declare_commands(line, commands);
  const auto program = [&line] { return describe_command(line.app, line.declared); };
  const auto run_program = [commands, environment, foreign_files](const std::vector<std::string>& again,
                                                                  std::ostream& again_out,
                                                                  std::ostream& again_err) {
    return run_command_line(commands, again, again_out, again_err, {}, environment, foreign_files);
  };
  CommandContext context{{}, out, err, terminal, environment, program, run_program, foreign_files};
  const std::optional<ExitCode> done = parse(line, arguments, context);
  Result<ExitCode> code = done ? Result<ExitCode>(*done) : run_chosen(line, arguments, context);
  if (code && !out.flush()) code = Error{"cannot write to stdout"};
  if (code) return *code;
  err << "error: " << on_one_line(code.error().message(flag_of)) << '\n';
  return ExitCode::kBadInput;
}

}  // namespace goodput
