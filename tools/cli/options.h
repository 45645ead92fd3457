// Declares what a command can be told. Only tools/cli knows CLI11, which takes eight seconds to compile.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/command_help.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace goodput {

// What CLI11 does not know of an option.
struct DeclaredOption {
  CLI::Option* option = nullptr;
  std::string value_name{};
  std::string former_name{};  // still accepted, with a note, and in no help
  ValueKind kind{};
  std::string* text = nullptr;                // what it is bound to, if that is a text
  std::vector<std::string>* texts = nullptr;  // or several
  bool is_input = false;                      // of files: - is stdin
  bool is_last_output = false;                // but the last one is written
};
using DeclaredOptions = std::deque<DeclaredOption>;  // references stay good

// One option or argument, to say more about it.
class Option {
 public:
  explicit Option(DeclaredOption& declared) : declared_(&declared) {}

  Option& required();
  Option& one_value_each();      // of an option for several values: `--fix A --fix B`, never `--fix A B`
  Option& at_least(int values);  // of an argument for several values
  Option& in_group(const std::string& name);                  // under which help lists it
  Option& check(std::string (*problem)(const std::string&));  // says what is wrong with a value, or nothing

  // What its values are.
  Option& input();            // files to read
  Option& inputs_but_last();  // files to read and one to write
  Option& output();           // a file to write
  Option& folder();
  Option& one_of(std::span<const std::string_view> names);
  Option& listed(
      std::string_view what);  // configs, read by a name that `goodput list WHAT` prints or by path

 private:
  DeclaredOption* declared_;
};

// The options of a command or of one of its sub-commands. What they are bound to must outlive the parsing.
class Options {
 public:
  Options(CLI::App& app, DeclaredOptions& declared) : app_(&app), declared_(&declared) {}

  // An option (`--meta`; `--new,--old` if it had another name before) or, by a name without dashes, an
  // argument; `value_name` stands for its value in help. T: std::string, std::vector<std::string>,
  // std::int64_t, double, std::optional of the last two, or what GlobalOptions need.
  template <typename T>
  Option add(const std::string& name, T& value, const std::string& value_name, const std::string& help);

  Option add_flag(const std::string& name, bool& value, const std::string& help);

  // One of the sub-commands must be given then.
  Options add_subcommand(const std::string& name, const std::string& summary);
  // One that may be given instead of what the command does without it.
  Options add_optional_subcommand(const std::string& name, const std::string& summary);

  // Whether the command line names this sub-command. Known when the command runs.
  [[nodiscard]] bool are_chosen() const;

 private:
  CLI::App* app_;
  DeclaredOptions* declared_;
};

}  // namespace goodput
