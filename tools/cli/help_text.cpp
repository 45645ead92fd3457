#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "tools/cli/command_help.h"

namespace goodput {
namespace {

constexpr std::size_t kColumn = 26;      // where explanations begin
constexpr std::size_t kNarrow = 60;      // below, they begin on a line of their own
constexpr std::size_t kLeastWords = 20;  // a column is never narrower

using Row = std::pair<std::string, std::string>;  // what is explained, and the explanation

// `text` from column `at` of a line on, broken between words; further lines begin at `indent`.
std::string wrapped(std::string_view text, std::size_t at, std::size_t indent, std::size_t width) {
  const std::size_t end = std::max(width, indent + kLeastWords);
  std::string lines;
  for (const std::string_view word : split(text, ' ')) {
    const bool is_first = lines.empty();
    if (!is_first && at + 1 + word.size() > end) {
      lines += '\n' + std::string(indent, ' ');
      at = indent;
    } else if (!is_first) {
      lines += ' ';
      ++at;
    }
    lines += word;
    at += word.size();
  }
  return lines;
}

std::string row_text(const Row& row, std::size_t width) {
  const std::size_t column = width < kNarrow ? 6 : kColumn;
  std::string line = "  " + row.first;
  if (row.second.empty()) return line + '\n';
  if (line.size() + 2 > column)
    line += '\n' + std::string(column, ' ');
  else
    line.resize(column, ' ');
  return line + wrapped(row.second, column, column, width) + '\n';
}

std::string section(std::string_view title, const std::vector<Row>& rows, std::size_t width) {
  if (rows.empty()) return {};
  std::string text = fmt::format("\n{}:\n", title);
  for (const Row& row : rows) text += row_text(row, width);
  return text;
}

Row row_of(const OptionHelp& option) {
  if (option.names.empty()) return {option.value, option.text};
  const std::string names = fmt::format("{}", fmt::join(option.names, ", "));
  return {option.is_flag() ? names : names + ' ' + option.value, option.text};
}

std::vector<Row> rows_of(const std::vector<OptionHelp>& options, std::string_view group) {
  std::vector<Row> rows;
  for (const OptionHelp& option : options) {
    if (option.group == group) rows.push_back(row_of(option));
  }
  return rows;
}

// Groups in the order in which they come up.
std::string option_sections(const std::vector<OptionHelp>& options, std::size_t width) {
  std::vector<std::string_view> groups;
  for (const OptionHelp& option : options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  }
  std::string text;
  for (const std::string_view group : groups) text += section(group, rows_of(options, group), width);
  return text;
}

}  // namespace

std::string usage(const CommandHelp& command) {
  std::string text = command.name;
  if (!command.commands.empty()) return text + " COMMAND [OPTIONS]";
  text += " [OPTIONS]";
  for (const OptionHelp& argument : command.arguments)
    text += argument.is_required ? " " + argument.value : " [" + argument.value + "]";
  return text;
}

std::string help_text(const CommandHelp& command, std::size_t width) {
  std::string text = wrapped(command.name + ": " + command.summary, 0, 2, width) + "\n\n";
  text += wrapped("Usage: " + usage(command), 0, 7, width) + '\n';
  std::vector<Row> commands;
  for (const CommandHelp& one : command.commands) commands.emplace_back(one.word(), one.summary);
  text += section("Commands", commands, width);
  std::vector<Row> arguments;
  for (const OptionHelp& argument : command.arguments) arguments.push_back(row_of(argument));
  text += section("Arguments", arguments, width);
  text += option_sections(command.options, width) + option_sections(command.globals, width);
  if (command.example.empty()) return text;
  text += "\nExample:\n";
  for (const std::string_view line : split(command.example, '\n')) text += fmt::format("  {}\n", line);
  return text;
}

}  // namespace goodput
