// `goodput help [COMMAND...]`: what --help shows, the manual page, or all of it as data.
#include <fmt/format.h>

#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "goodput_revision.h"
#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "tools/cli/command.h"
#include "tools/cli/json_result.h"
#include "tools/help/man_page.h"

namespace goodput {
namespace {

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
    options.add("command", words_, "COMMAND...", "Of this command (default: of goodput)");
    options.add_flag("--man", man_,
                     "Print the manual page of all commands, as roff: goodput help --man | man -l -");
  }

  Result<ExitCode> run(const CommandContext& context) override {
    const CommandHelp program = context.program();
    if (man_ && !words_.empty()) return Error{"--man is of all commands; leave out the command", {}};
    GOODPUT_TRY(const CommandHelp command, find_command(program, words_));
    if (man_ && context.options.wants_result())
      return Error{"--man prints a page for man; leave out --json and --report", {}};
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
          .summary = "what a command is for and what it can be told; the manual page",
          .example = "goodput help trace convert\ngoodput help --man | man -l -",
          .make = make_command<HelpCommand>};
}

}  // namespace goodput
