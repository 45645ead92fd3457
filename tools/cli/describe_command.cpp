#include "tools/cli/describe_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace goodput {
namespace {

OptionHelp describe_option(const CLI::Option& option, const DeclaredOptions& all) {
  OptionHelp help;
  for (const std::string& name : option.get_snames()) help.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) help.names.push_back("--" + name);
  help.text = option.get_description();
  help.group = option.get_group();
  help.is_required = option.get_required();
  help.may_repeat = option.get_items_expected_max() > 1;
  const auto declared =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.option == &option; });
  if (declared == all.end()) return help;  // --help and --version
  help.value = declared->value_name;
  help.kind = declared->kind;
  return help;
}

}  // namespace

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

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

}  // namespace goodput
