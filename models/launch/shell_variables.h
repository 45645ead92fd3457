// The variables of a shell script, and the words that their use makes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/launch/shell_text.h"

namespace goodput::launch {

using ShellValue = std::vector<ShellText>;  // one text, or the elements of an array

class ShellVariables {
 public:
  explicit ShellVariables(const std::map<std::string, std::string>& environment);

  // NAME=VALUE, NAME+=VALUE, NAME=(...). False: the word is no assignment. `is_certain`: the command runs;
  // otherwise it may: another value than before is then not known, and arguments that it adds are left out,
  // with a note.
  bool assign(const ShellText& word, bool is_certain);
  // Something that goodput does not follow sets it.
  void forget(const std::string& name, std::uint32_t line);
  void unset(const std::string& name) { variables_.erase(name); }
  // Lines whose arguments were left out.
  [[nodiscard]] const std::vector<std::uint32_t>& left_out() const { return left_out_; }
  // Unless it is set.
  void set_default(const std::string& name, const ShellText& value) {
    variables_.emplace(name, Variable{{value}});
  }

  // The words that a word becomes. `whole`: it stays one, as in an assignment.
  std::vector<ShellText> expand(const ShellText& word, bool whole = false);
  std::string text_of(const ShellText& word);  // as one word
  // Variables of the script that contain this text, the longest value first.
  [[nodiscard]] std::vector<ShellText> values_with(std::string_view part) const;
  [[nodiscard]] std::optional<std::int64_t> arithmetic(std::string_view text,
                                                       std::string* missing = nullptr) const;
  // A hostile script's variables can double with every line: expansions stop here.
  [[nodiscard]] bool is_too_large() const;

 private:
  struct Variable {
    ShellValue value{};
    bool is_outside = false;  // the user gave it
  };
  class Expansion;

  ShellValue elements_of(const ShellText& brackets);
  ShellValue reference(const ShellText& word, std::size_t& at, bool& is_list);
  ShellValue braces(const ShellText& inside, bool& is_list);
  ShellValue value_of(const std::string& name, std::uint32_t line) const;

  std::map<std::string, Variable> variables_{};
  std::map<std::string, std::string> environment_;
  std::vector<std::uint32_t> left_out_{};
  std::size_t size_ = 0;  // of everything that was expanded
  int depth_ = 0;
};

}  // namespace goodput::launch
