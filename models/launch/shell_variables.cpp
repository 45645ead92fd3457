#include "models/launch/shell_variables.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "models/launch/settings.h"
#include "models/launch/shell_arithmetic.h"
#include "models/launch/shell_lexer.h"
#include "sim/base/text.h"

namespace goodput::launch {
namespace {

constexpr std::size_t kLargestExpansion = std::size_t{1} << 22;
constexpr int kDeepestDefaults = 20;  // ${A:-${B:-...}}

bool is_digit_char(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// The bracket that closes the one at `open`.
std::size_t closing_bracket(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '{') ++depth;
    if ((text[i] == ')' || text[i] == '}') && --depth == 0) return i;
  }
  return text.size() - 1;
}

ShellText joined(const std::vector<ShellText>& parts) {
  ShellText result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) result.append(' ', parts[i].line());
    result.append(parts[i]);
  }
  return result;
}

// ${NAME/PATTERN/TEXT} of plain texts; "//": every occurrence.
std::string replaced_text(std::string text, std::string_view rule) {
  const bool all = rule.starts_with("//");
  rule.remove_prefix(all ? 2 : 1);
  const std::size_t slash = std::min(rule.find('/'), rule.size());
  const std::string_view pattern = rule.substr(0, slash);
  const std::string_view with = slash < rule.size() ? rule.substr(slash + 1) : "";
  if (pattern.empty() || text.size() / pattern.size() * with.size() > kLargestExpansion) return text;
  for (std::size_t at = text.find(pattern); at != std::string::npos;
       at = text.find(pattern, at + with.size())) {
    text.replace(at, pattern.size(), with);
    if (!all) break;
  }
  return text;
}

}  // namespace

ShellVariables::ShellVariables(const std::map<std::string, std::string>& environment)
    : environment_(environment) {
  for (const auto& [name, value] : environment)
    variables_[name] = {.value = {shell_text(value, 0)}, .is_outside = true};
}

void ShellVariables::forget(const std::string& name, std::uint32_t line) {
  const auto outside = environment_.find(name);
  variables_[name] = {.value = {outside != environment_.end() ? shell_text(outside->second, line)
                                                              : unknown_text(name, line)}};
}

bool ShellVariables::is_too_large() const {
  return size_ > kLargestExpansion;
}

bool ShellVariables::assign(const ShellText& word, bool is_certain) {
  const std::string& text = word.text;
  std::size_t equals = 0;
  while (equals < text.size() && is_shell_name_char(text[equals])) ++equals;
  if (equals == 0 || is_digit_char(text[0])) return false;
  const std::string name = text.substr(0, equals);
  const bool appends = text.compare(equals, 2, "+=") == 0;
  if (!appends && text.compare(equals, 1, "=") != 0) return false;
  const ShellText right = word.part(equals + (appends ? 2 : 1));
  const bool is_array = right.text.starts_with('(') && right.text.ends_with(')');
  ShellValue value = is_array ? elements_of(right) : ShellValue{joined(expand(right, true))};
  for (const ShellText& part : value) size_ += part.text.size();

  const auto known = variables_.find(name);
  // What a command would print: the user can give it by the variable's name.
  const bool is_unknown = value.size() == 1 && value[0].text.size() > 1 &&
                          value[0].text.front() == kUnsetBegin &&
                          value[0].text.find(kUnsetEnd) + 1 == value[0].text.size();
  if (is_unknown) {
    forget(name, word.line());
    return true;
  }
  if (!is_certain) {
    const std::string before = known == variables_.end() ? "" : joined(known->second.value).text;
    const std::string after = joined(value).text;
    if (known != variables_.end() && (known->second.is_outside || before == after)) return true;
    const bool adds_arguments =
        (appends || after.starts_with(before)) && after.find("--") != std::string::npos;
    if (adds_arguments)
      left_out_.push_back(word.line());
    else
      forget(name, word.line());
    return true;
  }
  Variable& variable = variables_[name];
  variable.is_outside = false;
  if (!appends || variable.value.empty())
    variable.value = std::move(value);
  else if (is_array)
    variable.value.insert(variable.value.end(), value.begin(), value.end());
  else
    variable.value.front().append(value.front());
  return true;
}

ShellValue ShellVariables::elements_of(const ShellText& brackets) {
  const ShellText inside = brackets.part(1, brackets.text.size() - 2);
  Result<std::vector<ShellText>> words = ShellLexer(inside, "").list();
  ShellValue elements;
  for (std::size_t i = 0; words && i < words->size(); ++i) {
    for (ShellText& element : expand(words->at(i))) elements.push_back(std::move(element));
  }
  return elements;
}

// Puts words together from plain characters and the values of variables.
class ShellVariables::Expansion {
 public:
  explicit Expansion(bool whole) : whole_(whole) {}

  void add(char c, std::uint32_t line) { current_.append(c, line); }
  void quote() { is_word_ = true; }
  void add(const ShellValue& value, bool in_quotes, bool is_list) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) next(is_list && in_quotes, value[i].line());
      for (std::size_t k = 0; k < value[i].text.size(); ++k) {
        if (is_blank(value[i].text[k]) && !in_quotes && !whole_)
          finish_word();
        else
          current_.append(value[i].text[k], value[i].lines[k]);
      }
      if (i + 1 < value.size() && !in_quotes && !whole_) finish_word();
    }
    if (is_list && in_quotes && value.empty()) is_word_ = false;
  }
  std::vector<ShellText> take() && {
    finish_word();
    return std::move(words_);
  }

 private:
  void next(bool separate, std::uint32_t line) {
    if (separate && !whole_) {
      words_.push_back(std::exchange(current_, {}));
    } else if (whole_ || !current_.text.empty()) {
      current_.append(' ', line);
    }
  }
  void finish_word() {
    if (is_word_ || !current_.text.empty()) words_.push_back(std::exchange(current_, {}));
    is_word_ = false;
  }

  bool whole_;
  bool is_word_ = false;
  ShellText current_{};
  std::vector<ShellText> words_{};
};

std::vector<ShellText> ShellVariables::expand(const ShellText& word, bool whole) {
  Expansion expansion(whole);
  const std::string& text = word.text;
  bool in_double = false;
  for (std::size_t i = 0; i < text.size() && !is_too_large(); ++i) {
    const char c = text[i];
    if (c == '\'' && !in_double) {
      expansion.quote();
      for (++i; i < text.size() && text[i] != '\''; ++i) expansion.add(text[i], word.lines[i]);
    } else if (c == '"') {
      in_double = !in_double;
      if (in_double) expansion.quote();
    } else if (c == '\\' && i + 1 < text.size()) {
      ++i;
      if (text[i] != '\n' && text[i] != '\r') expansion.add(text[i], word.lines[i]);
    } else if (c == '`') {
      expansion.add({unknown_text("", word.lines[i])}, in_double, false);
      i = std::min(text.find('`', i + 1), text.size() - 1);
    } else if (c == '$' && i + 1 < text.size()) {
      bool is_list = false;
      const ShellValue value = reference(word, i, is_list);
      for (const ShellText& part : value) size_ += part.text.size();
      if (!is_too_large()) expansion.add(value, in_double, is_list);
    } else {
      expansion.add(c, word.lines[i]);
    }
  }
  return std::move(expansion).take();
}

std::string ShellVariables::text_of(const ShellText& word) {
  return joined(expand(word, true)).text;
}

// What the $ at `at` stands for; moves `at` to its last character.
ShellValue ShellVariables::reference(const ShellText& word, std::size_t& at, bool& is_list) {
  const std::string& text = word.text;
  const std::uint32_t line = word.lines[at];
  const char c = text[at + 1];
  if (c == '(' || c == '{') {
    const std::size_t end = closing_bracket(text, at + 1);
    const ShellText inside = word.part(at + 2, end - at - 2);
    at = end;
    if (c == '{') return braces(inside, is_list);
    if (!inside.text.starts_with('(') || !inside.text.ends_with(')')) return {unknown_text("", line)};
    std::string missing;
    const auto value = arithmetic(std::string_view(inside.text).substr(1, inside.text.size() - 2), &missing);
    return {value ? shell_text(std::to_string(*value), line) : unknown_text(missing, line)};
  }
  if (is_shell_name_char(c)) {
    std::size_t end = at + 2;
    while (!is_digit_char(c) && end < text.size() && is_shell_name_char(text[end])) ++end;
    const std::string name = text.substr(at + 1, end - at - 1);
    at = end - 1;
    return value_of(name, line);
  }
  if (c == '@' || c == '*' || c == '#' || c == '?' || c == '$' || c == '!') {
    ++at;
    is_list = c == '@';
    return {};  // the script's own arguments: there are none
  }
  return {shell_text("$", line)};
}

ShellValue ShellVariables::value_of(const std::string& name, std::uint32_t line) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return {unset_text(name, line)};
  // An array's name alone is its first element.
  const ShellValue& value = found->second.value;
  return value.empty() ? ShellValue{} : ShellValue{value.front()};
}

// ${NAME}, ${NAME[@]}, ${NAME:-otherwise}, ${NAME:+instead}, ${NAME//a/b}.
ShellValue ShellVariables::braces(const ShellText& inside, bool& is_list) {
  const std::uint32_t line = inside.line();
  std::size_t end = 0;
  while (end < inside.text.size() && is_shell_name_char(inside.text[end])) ++end;
  const std::string name = inside.text.substr(0, end);
  std::string_view rest = std::string_view(inside.text).substr(end);
  const auto found = variables_.find(name);
  const bool is_known_name = found != variables_.end();
  if (rest == "[@]" || rest == "[*]") {
    is_list = true;
    return is_known_name ? found->second.value : ShellValue{};
  }
  if (name.empty()) return {unknown_text("", line)};
  if (rest.empty()) return value_of(name, line);
  if (rest.starts_with('/') && is_known_name)
    return {shell_text(replaced_text(joined(found->second.value).text, rest), line)};
  const bool with_empty = rest.starts_with(':');
  if (with_empty) rest.remove_prefix(1);
  bool is_set = is_known_name;
  if (is_set && with_empty)
    is_set =
        std::ranges::any_of(found->second.value, [](const ShellText& part) { return !part.text.empty(); });
  if (rest.empty() || std::string_view("-=+?").find(rest[0]) == std::string_view::npos)
    return {unknown_text(name, line)};
  const char op = rest[0];
  if (op == '+' ? !is_set : is_set) return op == '+' ? ShellValue{} : found->second.value;
  if (op == '?' || depth_ >= kDeepestDefaults) return {unset_text(name, line)};
  ++depth_;
  ShellText other = joined(expand(inside.part(inside.text.size() - rest.size() + 1), true));
  --depth_;
  if (op == '=') variables_[name] = {.value = {other}};
  return {std::move(other)};
}

std::optional<std::int64_t> ShellVariables::arithmetic(std::string_view text, std::string* missing) const {
  std::string first_missing;
  const auto value = shell_arithmetic(text, [&](const std::string& name) -> std::optional<std::int64_t> {
    const auto found = variables_.find(name);
    if (found != variables_.end() && found->second.value.size() == 1) {
      if (const auto number = parse_integer(found->second.value[0].text)) return number;
    }
    if (first_missing.empty()) first_missing = name;
    return std::nullopt;
  });
  if (!value && missing != nullptr) *missing = first_missing.empty() ? std::string(text) : first_missing;
  return value;
}

std::vector<ShellText> ShellVariables::values_with(std::string_view part) const {
  std::vector<ShellText> values;
  for (const auto& [name, variable] : variables_) {
    ShellText value = joined(variable.value);
    if (value.text.find(part) != std::string::npos) values.push_back(std::move(value));
  }
  std::ranges::stable_sort(
      values, [](const ShellText& a, const ShellText& b) { return a.text.size() > b.text.size(); });
  return values;
}

}  // namespace goodput::launch
