// Declares what a command can be told. Only tools/cli knows CLI11, which takes eight seconds to compile.
#pragma once

#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace goodput {

// One option or argument, to say more about it.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option& required();
  Option& one_value_each();      // of an option for several values: `--fix A --fix B`, never `--fix A B`
  Option& at_least(int values);  // of an argument for several values
  Option& in_group(const std::string& name);  // under which help lists it

 private:
  CLI::Option* option_;
};

// The options of a command or of one of its sub-commands. What they are bound to must outlive the parsing.
class Options {
 public:
  explicit Options(CLI::App& app) : app_(&app) {}

  // An option (`--meta`) or, by a name without dashes, an argument; `value_name` stands for its value in
  // help. T: std::string, std::vector<std::string>, std::int64_t, double, or std::optional of the last two.
  template <typename T>
  Option add(const std::string& name, T& value, const std::string& value_name, const std::string& help);

  Option add_flag(const std::string& name, bool& value, const std::string& help);

  // One of the sub-commands must be given then.
  Options add_subcommand(const std::string& name, const std::string& summary);

  // Whether the command line names this sub-command. Known when the command runs.
  [[nodiscard]] bool are_chosen() const;

 private:
  CLI::App* app_;
};

}  // namespace goodput
