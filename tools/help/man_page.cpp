#include "tools/help/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>
#include <vector>

#include "sim/base/text.h"
#include "tools/cli/command.h"

namespace goodput {
namespace {

struct Described {
  std::string_view name;
  std::string_view text;
};

constexpr Described kEnvironment[] = {
    {"GOODPUT_CONFIGS",
     "Folders, separated by colons, each with models, clusters, plans, scenarios, calibration and routing as "
     "in the "
     "shipped one; what is called by a name is looked up there first."},
    {"NO_COLOR", "If not empty: no colours (https://no-color.org)."},
    {"TERM", "dumb: no colours, no progress bars."},
    {"COLORTERM", "truecolor or 24bit: colours of 24 bits instead of a palette of 256."},
};

constexpr Described kFiles[] = {
    {"share/goodput/configs",
     "The shipped models, clusters, plans, scenarios, calibrations and routing models."},
    {"share/goodput/traces/samples", "Small generated traces to try the commands on."},
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

}  // namespace

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
      ".SH FILES\nBelow the folder that holds bin/goodput; in a clone of the repository: configs, "
      "traces/samples.\n{}",
      version, plain(program.summary), plain(usage(program)),
      plain("Results go to stdout, messages to stderr. An input file that is - is read from stdin. Models, "
            "clusters, "
            "plans, scenarios and calibrations are files, or names of files that goodput has: see goodput "
            "list. "
            "Output files are written whole or not at all; the same input and seed give the same bytes."),
      paragraphs(options), command_sections(program), exit_codes(), paragraphs(kEnvironment),
      paragraphs(kFiles));
}

}  // namespace goodput
