#include "models/launch/shell_script.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "models/launch/settings.h"
#include "models/launch/shell_arithmetic.h"
#include "sim/base/text.h"

namespace goodput::launch {
namespace {

constexpr std::size_t kLargestExpansion = std::size_t{1} << 20;

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

ShellText plain(std::string_view text, std::uint32_t line) {
  return {std::string(text), std::vector<std::uint32_t>(text.size(), line)};
}
ShellText unset(std::string_view name, std::uint32_t line) {
  return plain(fmt::format("{}{}{}", kUnsetBegin, name, kUnsetEnd), line);
}
bool is_known(std::string_view text) {
  return text.find(kUnsetBegin) == std::string_view::npos;
}

// A variable: one text, or the elements of an array.
using ShellValue = std::vector<ShellText>;

// A word as it is written, and the line that it begins on.
struct RawWord {
  std::string text{};
  std::vector<std::uint32_t> lines{};
};

// What becomes of the commands in a branch.
enum class Branch { kTaken, kNotTaken, kUnknown };

struct OpenBlock {
  std::string closing;  // fi, esac, done
  Branch branch = Branch::kTaken;
  bool was_taken = false;  // an earlier branch of the same if or case
  bool was_unknown = false;
  ShellText subject{};      // of a case
  bool in_pattern = false;  // of a case: the next word is a pattern
};

class Interpreter {
 public:
  Interpreter(const std::string& text, const std::string& file,
              const std::map<std::string, std::string>& environment)
      : text_(text), file_(file) {
    for (const auto& [name, value] : environment) variables_[name] = {plain(value, 0)};
  }

  Result<ShellScript> run() {
    while (at_ < text_.size()) {
      GOODPUT_TRY_STATUS(read_command());
      if (size_ > kLargestExpansion)
        return Error{"its variables expand to more than 1 MiB; give the arguments directly", {.file = file_}};
    }
    return std::move(script_);
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  char next() {
    const char c = text_[at_++];
    if (c == '\n') ++line_;
    return c;
  }
  [[nodiscard]] Error unfinished(std::string_view what, std::uint32_t line) const {
    return {fmt::format("{} is not closed", what), {.file = file_, .position = Position::line(line)}};
  }

  void read_comment() {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    std::string_view comment(text_.data() + at_, end - at_);
    at_ = end;
    if (!comment.starts_with("#SBATCH")) return;
    const ShellCommand words = shell_words(plain(comment.substr(7), line_));
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::string option = words[i].text;
      if (option.empty() || option[0] != '-' || option == "-") continue;
      const std::size_t equals = option.find('=');
      const bool has_next = i + 1 < words.size() && !words[i + 1].text.starts_with('-');
      const std::string value = equals != std::string::npos ? option.substr(equals + 1)
                                : has_next                  ? words[i + 1].text
                                                            : "";
      option.resize(std::min(equals, option.size()));
      option.erase(0, option.find_first_not_of('-'));
      script_.batch_options[option] = value;
    }
    set_from_batch("nodes", "N", {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"});
    set_from_batch("ntasks-per-node", "ntasks-per-node", {"SLURM_NTASKS_PER_NODE"});
    set_from_batch("gpus-per-node", "gpus-per-node", {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"});
    set_from_batch("ntasks", "n", {"SLURM_NTASKS", "SLURM_NPROCS"});
  }

  void set_from_batch(const char* option, const char* short_option,
                      std::initializer_list<const char*> names) {
    auto found = script_.batch_options.find(option);
    if (found == script_.batch_options.end()) found = script_.batch_options.find(short_option);
    if (found == script_.batch_options.end()) return;
    for (const char* name : names) variables_.emplace(name, ShellValue{plain(found->second, line_)});
  }

  // Words up to the end of the command, then runs it.
  Status read_command() {
    std::vector<RawWord> words;
    while (at_ < text_.size()) {
      const char c = peek();
      if (c == '#') {
        read_comment();
      } else if (c == '\\' && peek(1) == '\n') {
        next(), next();
      } else if (c == '\\' && peek(1) == '\r' && peek(2) == '\n') {
        next(), next(), next();
      } else if (c == '\n') {
        next();
        skip_here_documents();
        if (ends_command(words)) break;
      } else if (is_blank(c)) {
        next();
      } else if (c == ';' && peek(1) == ';') {
        next(), next();
        GOODPUT_TRY_STATUS(run(std::exchange(words, {})));
        next_pattern();
      } else if (c == '&' && peek(1) == '>') {
        next();
      } else if (c == '|' && in_pattern()) {
        next();
      } else if (c == ';' || c == '&' || c == '|' || (c == ')' && !in_pattern())) {
        next();
        if (ends_command(words)) break;
      } else if (c == '(' && words.empty()) {
        next();  // a subshell
      } else if (c == '<' && peek(1) == '<' && peek(2) != '<') {
        read_here_document_mark();
      } else {
        GOODPUT_TRY(RawWord word, read_word());
        words.push_back(std::move(word));
        if (words.size() == 1 && is_keyword(words[0].text)) break;
        if (in_pattern() && words.back().text.ends_with(')')) break;
        if (words.size() == 3 && words[0].text == "case" && words[2].text == "in") break;
      }
    }
    return run(std::move(words));
  }

  // `while`, `if` and the like begin a command of their own behind them.
  static bool is_keyword(std::string_view word) {
    static constexpr std::string_view kKeywords[] = {"then", "else", "do", "fi", "done",
                                                     "esac", "{",    "}",  "!"};
    return std::ranges::find(kKeywords, word) != std::end(kKeywords);
  }
  static bool ends_command(const std::vector<RawWord>& words) { return !words.empty(); }

  void read_here_document_mark() {
    next(), next();
    if (peek() == '-') next();
    while (peek() == ' ') next();
    std::string mark;
    while (at_ < text_.size() && !is_blank(peek()) && peek() != ';' && peek() != '>') mark += next();
    std::erase_if(mark, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
    here_marks_.push_back(mark);
  }

  void skip_here_documents() {
    for (const std::string& mark : std::exchange(here_marks_, {})) {
      while (at_ < text_.size()) {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        std::string_view body(text_.data() + at_, end - at_);
        at_ = std::min(end + 1, text_.size());
        ++line_;
        while (!body.empty() && is_blank(body.front())) body.remove_prefix(1);
        while (!body.empty() && is_blank(body.back())) body.remove_suffix(1);
        if (body == mark) break;
      }
    }
  }

  // As written, with its quotation marks.
  Result<RawWord> read_word() {
    RawWord word;
    const auto take = [&] {
      word.lines.push_back(line_);
      word.text += next();
    };
    while (at_ < text_.size()) {
      const char c = peek();
      if (c == '\\' && at_ + 1 < text_.size()) {
        if (peek(1) == '\n') {
          next(), next();
          continue;
        }
        take(), take();
      } else if (c == '\'' || c == '"' || c == '`') {
        const std::uint32_t begin = line_;
        take();
        while (at_ < text_.size() && peek() != c) {
          if (peek() == '\\' && c != '\'' && at_ + 1 < text_.size()) take();
          take();
        }
        if (at_ >= text_.size()) return unfinished(c == '\'' ? "'" : std::string(1, c), begin);
        take();
      } else if (c == '$' && (peek(1) == '(' || peek(1) == '{')) {
        take();
        GOODPUT_TRY_STATUS(take_brackets(take));
      } else if (c == '(' && (word.text.ends_with('=') || word.text.ends_with("$"))) {
        GOODPUT_TRY_STATUS(take_brackets(take));
      } else if (c == ')' && in_pattern()) {
        take();
        break;
      } else if (c == '&' && word.text.ends_with('>')) {
        take();
      } else if (is_blank(c) || c == ';' || c == '&' || c == '|' || c == ')' || c == '(') {
        if (c == '(') {
          take();  // name() of a function
          if (peek() == ')') take();
        }
        break;
      } else {
        take();
      }
    }
    return word;
  }

  template <typename Take>
  Status take_brackets(const Take& take) {
    const std::uint32_t begin = line_;
    const char open = peek();
    int depth = 0;
    char quote = '\0';
    while (at_ < text_.size()) {
      const char c = peek();
      if (quote != '\0') {
        if (c == quote) quote = '\0';
      } else if (c == '#' && open == '(' && at_ > 0 && is_blank(text_[at_ - 1])) {
        read_comment();
        continue;
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == '(' || c == '{') {
        ++depth;
      } else if (c == ')' || c == '}') {
        --depth;
      }
      if (c == '\\' && at_ + 1 < text_.size() && quote != '\'') take();
      take();
      if (depth == 0) return Ok{};
    }
    return unfinished(std::string(1, open), begin);
  }

  // ---- Running commands.

  [[nodiscard]] bool in_pattern() const { return !blocks_.empty() && blocks_.back().in_pattern; }
  void next_pattern() {
    if (!blocks_.empty() && blocks_.back().closing == "esac") blocks_.back().in_pattern = true;
  }
  [[nodiscard]] Branch branch() const {
    Branch result = Branch::kTaken;
    for (const OpenBlock& block : blocks_) {
      if (block.branch == Branch::kNotTaken) return Branch::kNotTaken;
      if (block.branch == Branch::kUnknown) result = Branch::kUnknown;
    }
    return result;
  }

  Status run(std::vector<RawWord> words) {
    if (words.empty()) return Ok{};
    if (in_pattern()) return match_pattern(words);
    const std::string& first = words[0].text;
    if (first == "if" || first == "while" || first == "until") {
      blocks_.push_back({.closing = first == "if" ? "fi" : "done"});
      words.erase(words.begin());
      enter(first == "if" ? condition(words) : Branch::kUnknown);
    } else if (first == "elif") {
      words.erase(words.begin());
      enter(condition(words));
    } else if (first == "else") {
      enter(Branch::kTaken);
    } else if (first == "for" || first == "select") {
      blocks_.push_back({.closing = "done", .branch = Branch::kUnknown});
    } else if (first == "case") {
      open_case(words);
    } else if (first == "fi" || first == "done" || first == "esac") {
      if (!blocks_.empty() && blocks_.back().closing == first) blocks_.pop_back();
    } else if (!is_keyword(first) && branch() != Branch::kNotTaken) {
      run_simple(words);
    }
    return Ok{};
  }

  // The next branch of the innermost if.
  void enter(Branch condition) {
    if (blocks_.empty()) return;
    OpenBlock& block = blocks_.back();
    if (block.was_taken)
      block.branch = Branch::kNotTaken;
    else if (block.was_unknown && condition != Branch::kNotTaken)
      block.branch = Branch::kUnknown;
    else
      block.branch = condition;
    block.was_taken |= condition == Branch::kTaken;
    block.was_unknown |= condition == Branch::kUnknown;
  }

  void open_case(const std::vector<RawWord>& words) {
    OpenBlock block{.closing = "esac", .branch = Branch::kNotTaken};
    if (words.size() > 1) {
      for (const ShellText& part : expand(words[1])) block.subject.append(part);
    }
    block.in_pattern = true;
    blocks_.push_back(std::move(block));
  }

  Status match_pattern(const std::vector<RawWord>& words) {
    OpenBlock& block = blocks_.back();
    if (words[0].text == "esac") {
      blocks_.pop_back();
      return Ok{};
    }
    Branch result = Branch::kNotTaken;
    for (const RawWord& word : words) {
      std::string pattern = word.text;
      if (pattern.ends_with(')')) pattern.pop_back();
      std::erase_if(pattern, [](char c) { return c == '\'' || c == '"' || c == '('; });
      if (!is_known(block.subject.text))
        result = Branch::kUnknown;
      else if (fnmatch(pattern.c_str(), block.subject.text.c_str(), 0) == 0)
        result = Branch::kTaken;
    }
    if (words.back().text.ends_with(')')) block.in_pattern = false;
    enter(result);
    return Ok{};
  }

  // [ A = B ], [[ -z A ]], (( A > B )) is not understood.
  Branch condition(const std::vector<RawWord>& raw) {
    std::vector<std::string> words;
    for (const RawWord& word : raw) {
      std::string joined;
      for (const ShellText& part : expand(word)) joined += part.text;
      words.push_back(std::move(joined));
    }
    bool negated = false;
    if (words.size() < 3 || (words[0] != "[" && words[0] != "[[" && words[0] != "test"))
      return Branch::kUnknown;
    words.erase(words.begin());
    if (words.back() == "]" || words.back() == "]]") words.pop_back();
    if (!words.empty() && words[0] == "!") {
      negated = true;
      words.erase(words.begin());
    }
    const std::optional<bool> result = test(words);
    if (!result) return Branch::kUnknown;
    return *result != negated ? Branch::kTaken : Branch::kNotTaken;
  }

  static std::optional<bool> test(const std::vector<std::string>& words) {
    if (words.size() == 2 && (words[0] == "-z" || words[0] == "-n")) {
      const bool is_empty =
          words[1].empty() || (words[1].front() == kUnsetBegin && words[1].back() == kUnsetEnd);
      return is_empty == (words[0] == "-z");
    }
    if (words.size() != 3 || !is_known(words[0]) || !is_known(words[2])) return std::nullopt;
    const std::string& op = words[1];
    if (op == "=" || op == "==") return fnmatch(words[2].c_str(), words[0].c_str(), 0) == 0;
    if (op == "!=") return fnmatch(words[2].c_str(), words[0].c_str(), 0) != 0;
    const auto left = parse_integer(words[0]);
    const auto right = parse_integer(words[2]);
    if (!left || !right) return std::nullopt;
    if (op == "-eq") return *left == *right;
    if (op == "-ne") return *left != *right;
    if (op == "-gt") return *left > *right;
    if (op == "-ge") return *left >= *right;
    if (op == "-lt") return *left < *right;
    if (op == "-le") return *left <= *right;
    return std::nullopt;
  }

  void run_simple(const std::vector<RawWord>& words) {
    std::size_t first = 0;
    if (words[0].text == "export" || words[0].text == "local" || words[0].text == "readonly" ||
        words[0].text == "declare" || words[0].text == "typeset")
      first = 1;
    std::size_t assigned = first;
    while (assigned < words.size() && assign(words[assigned])) ++assigned;
    if (first == 1 || assigned == words.size()) return;
    ShellCommand command;
    for (std::size_t i = assigned; i < words.size(); ++i) {
      for (ShellText& word : expand(words[i])) {
        size_ += word.text.size();
        command.push_back(std::move(word));
      }
    }
    script_.commands.push_back(std::move(command));
  }

  // NAME=VALUE, NAME+=VALUE, NAME=(...). What a branch that may not be taken sets is not known.
  bool assign(const RawWord& word) {
    std::size_t equals = 0;
    while (equals < word.text.size() && is_name_char(word.text[equals])) ++equals;
    if (equals == 0 || std::isdigit(static_cast<unsigned char>(word.text[0])) != 0) return false;
    const std::string name = word.text.substr(0, equals);
    const bool appends = word.text.compare(equals, 2, "+=") == 0;
    if (!appends && word.text.compare(equals, 1, "=") != 0) return false;
    const std::size_t begin = equals + (appends ? 2 : 1);
    RawWord right{word.text.substr(begin),
                  {word.lines.begin() + static_cast<std::ptrdiff_t>(begin), word.lines.end()}};
    const std::uint32_t line = word.lines.front();
    ShellValue value;
    const bool is_array = right.text.starts_with('(') && right.text.ends_with(')');
    if (branch() == Branch::kUnknown) {
      value = {unset(name, line)};
    } else if (is_array) {
      value = array_of(right);
    } else {
      ShellText whole;
      for (const ShellText& part : expand(right, true)) whole.append(part);
      value = {std::move(whole)};
    }
    ShellValue& variable = variables_[name];
    if (!appends || variable.empty())
      variable = std::move(value);
    else if (is_array)
      variable.insert(variable.end(), value.begin(), value.end());
    else
      for (const ShellText& part : value) variable.back().append(part);
    for (const ShellText& part : variable) size_ += part.text.size();
    return true;
  }

  ShellValue array_of(const RawWord& brackets) {
    ShellValue elements;
    Interpreter inside(brackets.text.substr(1, brackets.text.size() - 2), file_, {});
    while (inside.at_ < inside.text_.size()) {
      const char c = inside.peek();
      if (is_blank(c) || (c == '\\' && (inside.peek(1) == '\n' || inside.peek(1) == '\r'))) {
        inside.next();
        if (c == '\\') inside.next();
        continue;
      }
      if (c == '#') {
        inside.read_comment();
        continue;
      }
      const std::size_t begin = inside.at_;
      Result<RawWord> word = inside.read_word();
      if (!word || inside.at_ == begin) break;
      for (std::size_t i = 0; i < word->lines.size(); ++i)
        word->lines[i] = brackets.lines[1 + begin + std::min(i, inside.at_ - begin - 1)];
      for (ShellText& element : expand(*word)) elements.push_back(std::move(element));
    }
    return elements;
  }

  // ---- Expansion.

  // The words that a word becomes. `whole`: it stays one, as in an assignment.
  std::vector<ShellText> expand(const RawWord& word, bool whole = false) {
    std::vector<ShellText> result;
    ShellText current;
    bool is_word = false;
    bool in_double = false;
    const auto add_value = [&](const ShellValue& value, bool separate) {
      for (const ShellText& part : value) size_ += part.text.size();
      if (size_ > kLargestExpansion) return;  // run() says so
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (i > 0 && separate && !whole) {
          result.push_back(std::exchange(current, {}));
        } else if (i > 0) {
          current.append(' ', value[i].line());
        }
        for (std::size_t k = 0; k < value[i].text.size(); ++k) {
          const char c = value[i].text[k];
          if (is_blank(c) && !in_double && !whole) {
            if (is_word || !current.text.empty()) result.push_back(std::exchange(current, {}));
            is_word = false;
          } else {
            current.append(c, value[i].lines[k]);
          }
        }
      }
      if (!value.empty() && in_double) is_word = true;
    };
    for (std::size_t i = 0; i < word.text.size(); ++i) {
      const char c = word.text[i];
      const std::uint32_t line = word.lines[i];
      if (c == '\'' && !in_double) {
        is_word = true;
        for (++i; i < word.text.size() && word.text[i] != '\''; ++i)
          current.append(word.text[i], word.lines[i]);
      } else if (c == '"') {
        in_double = !in_double;
        is_word = true;
      } else if (c == '\\' && i + 1 < word.text.size()) {
        ++i;
        if (word.text[i] != '\n' && word.text[i] != '\r') current.append(word.text[i], word.lines[i]);
      } else if (c == '`') {
        const std::size_t end = std::min(word.text.find('`', i + 1), word.text.size());
        current.append(unset("`...`", line));
        i = end;
      } else if (c == '$' && i + 1 < word.text.size()) {
        bool is_list = false;
        const ShellValue value = reference(word.text, line, i, is_list);
        add_value(value, is_list && in_double);
        if (is_list && in_double && value.empty()) is_word = false;
      } else {
        current.append(c, line);
      }
    }
    if (is_word || !current.text.empty()) result.push_back(std::move(current));
    return result;
  }

  // What the $ at text[at] stands for; moves `at` to its last character.
  ShellValue reference(const std::string& text, std::uint32_t line, std::size_t& at, bool& is_list) {
    const char c = text[at + 1];
    if (c == '(' || c == '{') {
      const std::size_t end = closing(text, at + 1);
      const std::string inside = text.substr(at + 2, end - at - 2);
      at = end;
      if (c == '{') return braces(inside, line, is_list);
      if (!inside.starts_with('(') || !inside.ends_with(')'))
        return {unset("(" + inside.substr(0, 40) + ")", line)};
      return {arithmetic(inside.substr(1, inside.size() - 2), line)};
    }
    if (is_name_char(c)) {
      std::size_t end = at + 1;
      if (std::isdigit(static_cast<unsigned char>(c)) != 0)
        ++end;
      else
        while (end < text.size() && is_name_char(text[end])) ++end;
      const std::string name = text.substr(at + 1, end - at - 1);
      at = end - 1;
      return value_of(name, line);
    }
    if (c == '@' || c == '*' || c == '#' || c == '?' || c == '$' || c == '!') {
      ++at;
      is_list = c == '@';
      return {};  // the script's own arguments: there are none
    }
    return {plain("$", line)};
  }

  static std::size_t closing(const std::string& text, std::size_t open) {
    int depth = 0;
    for (std::size_t i = open; i < text.size(); ++i) {
      if (text[i] == '(' || text[i] == '{') ++depth;
      if ((text[i] == ')' || text[i] == '}') && --depth == 0) return i;
    }
    return text.size() - 1;
  }

  ShellValue value_of(const std::string& name, std::uint32_t line) {
    const auto found = variables_.find(name);
    return found == variables_.end() ? ShellValue{unset(name, line)} : found->second;
  }

  // ${NAME}, ${NAME[@]}, ${NAME:-otherwise}, ${NAME:+instead}.
  ShellValue braces(const std::string& inside, std::uint32_t line, bool& is_list) {
    std::size_t end = 0;
    while (end < inside.size() && is_name_char(inside[end])) ++end;
    const std::string name = inside.substr(0, end);
    std::string_view rest = std::string_view(inside).substr(end);
    if (rest == "[@]" || rest == "[*]") {
      is_list = true;
      const auto found = variables_.find(name);
      return found == variables_.end() ? ShellValue{} : found->second;
    }
    if (name.empty()) return {unset(inside.substr(0, 40), line)};
    if (rest.empty()) return value_of(name, line);
    const bool with_empty = rest.starts_with(':');
    if (with_empty) rest.remove_prefix(1);
    const auto found = variables_.find(name);
    bool is_set = found != variables_.end();
    if (is_set && with_empty) {
      is_set = std::ranges::any_of(found->second, [](const ShellText& part) { return !part.text.empty(); });
    }
    if (rest.empty() || std::string_view("-=+?").find(rest[0]) == std::string_view::npos)
      return {unset(inside.substr(0, 40), line)};
    const char op = rest[0];
    if (op == '+' ? !is_set : is_set) return op == '+' ? ShellValue{} : found->second;
    if (op == '?') return {unset(name, line)};
    if (depth_ > 20) return {unset(name, line)};
    ++depth_;
    const std::string other(rest.substr(1));
    ShellText whole;
    for (const ShellText& part : expand({other, std::vector<std::uint32_t>(other.size(), line)}, true))
      whole.append(part);
    --depth_;
    if (op == '=') variables_[name] = {whole};
    return {std::move(whole)};
  }

  ShellText arithmetic(const std::string& text, std::uint32_t line) {
    std::string missing;
    const auto value = shell_arithmetic(text, [&](const std::string& name) -> std::optional<std::int64_t> {
      const auto found = variables_.find(name);
      if (found != variables_.end() && found->second.size() == 1 && is_known(found->second[0].text)) {
        if (const auto number = parse_integer(found->second[0].text)) return number;
      }
      if (missing.empty()) missing = name;
      return std::nullopt;
    });
    return value ? plain(std::to_string(*value), line)
                 : unset(missing.empty() ? text.substr(0, 40) : missing, line);
  }

  const std::string text_;
  const std::string file_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::size_t size_ = 0;  // of everything that was expanded
  int depth_ = 0;
  std::vector<std::string> here_marks_{};
  std::vector<OpenBlock> blocks_{};
  std::map<std::string, ShellValue> variables_{};
  ShellScript script_{};
};

}  // namespace

void ShellText::append(const ShellText& other) {
  text += other.text;
  lines.insert(lines.end(), other.lines.begin(), other.lines.end());
}

ShellCommand shell_words(const ShellText& text) {
  ShellCommand words;
  ShellText current;
  char quote = '\0';
  bool is_word = false;
  for (std::size_t i = 0; i < text.text.size(); ++i) {
    const char c = text.text[i];
    if (quote != '\0') {
      if (c == quote)
        quote = '\0';
      else
        current.append(c, text.lines[i]);
    } else if (c == '\'' || c == '"') {
      quote = c;
      is_word = true;
    } else if (is_blank(c) || (c == '\\' && i + 1 < text.text.size() && is_blank(text.text[i + 1]))) {
      if (is_word || !current.text.empty()) words.push_back(std::exchange(current, {}));
      is_word = false;
    } else {
      current.append(c, text.lines[i]);
    }
  }
  if (is_word || !current.text.empty()) words.push_back(std::move(current));
  return words;
}

Result<ShellScript> read_shell_script(const std::string& text, const std::string& file,
                                      const std::map<std::string, std::string>& environment) {
  return Interpreter(text, file, environment).run();
}

}  // namespace goodput::launch
