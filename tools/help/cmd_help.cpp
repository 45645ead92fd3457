// `goodput help [COMMAND...]`: what --help shows, the manual page, or all of it as data.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "goodput_revision.h"
#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "sim/base/text.h"
#include "tools/cli/command.h"
#include "tools/cli/command_help.h"
#include "tools/cli/json_result.h"

namespace goodput {
namespace {

// ---- The manual page, goodput(1), from what the command line can say.

struct Described {
  std::string_view name;
  std::string_view text;
};

constexpr Described kEnvironment[] = {
    {"GOODPUT_CONFIGS",
     "Folders to search for configs by name before the shipped configs, separated by colons. Each folder has "
     "subfolders such as models, clusters, plans and scenarios, like the shipped configs."},
    {"NO_COLOR", "If not empty, disables colors (https://no-color.org)."},
    {"TERM", "If dumb, disables colors and progress bars."},
    {"COLORTERM", "If truecolor or 24bit, enables 24-bit colors instead of a palette of 256."},
};

constexpr Described kFiles[] = {
    {"share/goodput/configs",
     "The shipped models, clusters, plans, scenarios, calibrations and routing models."},
    {"share/goodput/traces/samples", "Small generated traces for trying out the commands."},
};

// Text that roff takes for nothing else.
std::string plain(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
  }
  if (escaped.starts_with('.') || escaped.starts_with('\'')) escaped.insert(0, "\\&");
  return escaped;
}

std::string bold(std::string_view text) {
  return fmt::format("\\fB{}\\fR", plain(text));
}

std::string paragraph(const std::string& tag, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", tag, plain(text));
}

std::string tag_of(const OptionHelp& option) {
  std::string value = fmt::format("\\fI{}\\fR", plain(option.value));
  if (option.names.empty()) return value;
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(bold(name));
  const std::string joined = fmt::format("{}", fmt::join(names, ", "));
  return option.is_flag() ? joined : fmt::format("{} {}", joined, value);
}

std::string paragraphs(std::span<const OptionHelp> options) {
  std::string text;
  for (const OptionHelp& option : options) text += paragraph(tag_of(option), option.text);
  return text;
}

// --help is said once, of all.
std::vector<OptionHelp> without_help(std::vector<OptionHelp> options) {
  std::erase_if(options, [](const OptionHelp& option) {
    return option.names == std::vector<std::string>{"-h", "--help"};
  });
  return options;
}

std::string paragraphs(std::span<const Described> table) {
  std::string text;
  for (const auto& [name, meaning] : table) text += paragraph(bold(name), meaning);
  return text;
}

// Lines as they are.
std::string block(std::string_view lines) {
  std::string text = ".PP\n.nf\n";
  for (const std::string_view line : split(lines, '\n')) text += fmt::format("    {}\n", plain(line));
  return text + ".fi\n";
}

// A sub-section for every command that does something.
std::string command_sections(const CommandHelp& command) {
  std::string text;
  for (const CommandHelp& one : command.commands) {
    if (!one.commands.empty()) {
      text += command_sections(one);
    } else {
      text += fmt::format(".SS {}\n{}\n", plain(usage(one)), plain(one.summary));
      text += paragraphs(one.arguments) + paragraphs(without_help(one.options));
    }
    if (!one.example.empty()) text += block(one.example);
  }
  return text;
}

std::string exit_codes() {
  std::string text;
  for (const ExitCodeMeaning& code : kExitCodes)
    text += paragraph(bold(fmt::format("{}", static_cast<int>(code.code))), code.meaning);
  return text;
}

// As roff with the man macros. `version`: in the footer.
std::string man_page(const CommandHelp& program, std::string_view version) {
  std::vector<OptionHelp> options = program.options;
  options.insert(options.end(), program.globals.begin(), program.globals.end());
  return fmt::format(
      ".TH GOODPUT 1 \"\" \"goodput {}\" \"User Commands\"\n"
      ".SH NAME\ngoodput \\- {}\n"
      ".SH SYNOPSIS\n{}\n"
      ".SH DESCRIPTION\n{}\n"
      ".SH OPTIONS\n{}"
      ".SH COMMANDS\n{}"
      ".SH EXIT STATUS\n{}"
      ".SH ENVIRONMENT\n{}"
      ".SH FILES\nRelative to the folder that contains bin/goodput. In a clone of the repository: configs "
      "and "
      "traces/samples.\n{}",
      version, plain(program.summary), plain(usage(program)),
      plain("Results go to stdout, messages to stderr. An input file named - is read from stdin. Models, "
            "clusters, plans, scenarios and calibrations are given as files, or by name: 'goodput list' "
            "shows the names. Output files are written completely or not at all. The same input and seed "
            "give identical output."),
      paragraphs(options), command_sections(program), exit_codes(), paragraphs(kEnvironment),
      paragraphs(kFiles));
}

// ---- The command.

// Follows the words down from the program.
Result<CommandHelp> find_command(CommandHelp command, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (command.commands.empty())
      return Error{fmt::format("{} has no commands; see {} --help", command.name, command.name), {}};
    std::vector<std::string_view> names;
    for (const CommandHelp& one : command.commands) names.push_back(one.word());
    GOODPUT_TRY(const std::size_t at, index_of_name(names, "command", word));
    command = CommandHelp(command.commands[at]);
  }
  return command;
}

OrderedJson option_json(const OptionHelp& option) {
  OrderedJson json = {{"names", option.names},
                      {"value", option.is_flag() ? OrderedJson() : OrderedJson(option.value)},
                      {"text", option.text},
                      {"required", option.is_required},
                      {"repeats", option.may_repeat}};
  if (!option.kind.choices.empty()) json["choices"] = option.kind.choices;
  return json;
}

OrderedJson command_json(const CommandHelp& command) {
  OrderedJson json = {{"name", command.name}, {"summary", command.summary}, {"usage", usage(command)}};
  const auto add = [&json](std::string_view key, const std::vector<OptionHelp>& options) {
    OrderedJson& list = json[std::string(key)] = OrderedJson::array();
    for (const OptionHelp& option : options) list.push_back(option_json(option));
  };
  add("arguments", command.arguments);
  add("options", command.options);
  add("global_options", command.globals);
  json["commands"] = OrderedJson::array();
  for (const CommandHelp& one : command.commands) json["commands"].push_back(command_json(one));
  return json;
}

class HelpCommand final : public Command {
 public:
  void configure(Options& options) override {
    options.add("command", words_, "COMMAND...", "Command to describe (default: goodput itself)");
    options.add_flag(
        "--man", man_,
        "Print the man page for all commands as roff; view it with 'goodput help --man | man -l -'");
  }

  Result<ExitCode> run(const CommandContext& context) override {
    const CommandHelp program = context.program();
    if (man_ && !words_.empty()) return Error{"--man covers all commands; leave out COMMAND", {}};
    GOODPUT_TRY(const CommandHelp command, find_command(program, words_));
    if (man_ && context.options.wants_result())
      return Error{"--man prints only the man page; leave out --json and --report", {}};
    if (!context.options.json_on_stdout())
      context.out << (man_ ? man_page(program, GOODPUT_VERSION) : help_text(command, context.terminal.width));
    OrderedJson json = begin_json_result("help", context, {});
    json["command"] = command_json(command);
    GOODPUT_TRY_STATUS(write_json_result(json, context));
    return ExitCode::kOk;
  }

 private:
  std::vector<std::string> words_;
  bool man_ = false;
};

}  // namespace

CommandInfo command_help() {
  return {.name = "help",
          .summary = "Show the help of a command, or print the man page",
          .example = "goodput help trace convert\ngoodput help --man | man -l -",
          .make = make_command<HelpCommand>};
}

}  // namespace goodput
