#include "models/launch/shell_script.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "models/launch/settings.h"
#include "models/launch/shell_lexer.h"
#include "models/launch/shell_variables.h"
#include "sim/base/text.h"

namespace goodput::launch {
namespace {

constexpr int kDeepestScripts = 6;  // bash -c in bash -c

// Whether a condition holds; none: it is not known.
using Truth = std::optional<bool>;

Truth both(Truth a, Truth b) {
  if ((a && !*a) || (b && !*b)) return false;
  return a && b ? Truth(true) : std::nullopt;
}
Truth either(Truth a, Truth b) {
  if ((a && *a) || (b && *b)) return true;
  return a && b ? Truth(false) : std::nullopt;
}

struct OpenBlock {
  std::string closing{};  // fi, esac, done
  Truth taken = true;     // the commands of its current branch run
  Truth earlier = false;  // an earlier branch of the same if or case ran
  ShellText subject{};    // of a case
  bool in_pattern = false;
  bool in_condition = false;
};

class ScriptReader {
 public:
  ScriptReader(std::string file, const std::map<std::string, std::string>& environment)
      : file_(std::move(file)), variables_(environment) {}

  Status run(const ShellText& text, const ShellCommand& prefix = {}) {
    if (++depth_ > kDeepestScripts) return Ok{};
    ShellLexer lexer(text, file_);
    std::size_t seen_batch_lines = 0;
    while (true) {
      const bool in_pattern = !blocks_.empty() && blocks_.back().in_pattern;
      GOODPUT_TRY(std::optional<RawCommand> command, lexer.next(in_pattern));
      for (; seen_batch_lines < lexer.batch_lines().size(); ++seen_batch_lines)
        read_batch_line(lexer.batch_lines()[seen_batch_lines]);
      if (!command) break;
      if (in_pattern)
        match_pattern(command->words);
      else
        GOODPUT_TRY_STATUS(run(*command, prefix));
      if (command->end == ShellEnd::kCase && !blocks_.empty() && blocks_.back().closing == "esac")
        blocks_.back().in_pattern = true;
      if (variables_.is_too_large())
        return Error{"its variables grow beyond 4 MiB; give the arguments directly", {.file = file_}};
    }
    --depth_;
    return Ok{};
  }

  ShellScript take() && {
    script_.variables = variables_.values_with("--");
    script_.left_out = variables_.left_out();
    return std::move(script_);
  }

 private:
  // ---- #SBATCH

  void read_batch_line(const ShellText& line) {
    const std::vector<ShellText> words = shell_words(line);
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::string option = words[i].text;
      if (option.size() < 2 || option[0] != '-') continue;
      const std::size_t equals = option.find('=');
      const bool has_next = i + 1 < words.size() && !words[i + 1].text.starts_with('-');
      const std::string value = equals != std::string::npos ? option.substr(equals + 1)
                                : has_next                  ? words[i + 1].text
                                                            : "";
      option.resize(std::min(equals, option.size()));
      option.erase(0, std::min(option.find_first_not_of('-'), option.size()));
      script_.batch_options[option] = value;
    }
    set_from_batch({"nodes", "N"}, {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}, line.line());
    set_from_batch({"ntasks-per-node"}, {"SLURM_NTASKS_PER_NODE"}, line.line());
    set_from_batch({"gpus-per-node"}, {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}, line.line());
    set_from_batch({"ntasks", "n"}, {"SLURM_NTASKS", "SLURM_NPROCS"}, line.line());
    set_from_batch({"cpus-per-task", "c"}, {"SLURM_CPUS_PER_TASK"}, line.line());
  }

  void set_from_batch(std::initializer_list<const char*> options, std::initializer_list<const char*> names,
                      std::uint32_t line) {
    for (const char* option : options) {
      const auto found = script_.batch_options.find(option);
      if (found == script_.batch_options.end()) continue;
      for (const char* name : names) variables_.set_default(name, shell_text(found->second, line));
    }
  }

  // ---- Branches.

  [[nodiscard]] Truth runs() const {
    Truth result = true;
    for (const OpenBlock& block : blocks_) result = both(result, block.taken);
    return result;
  }
  [[nodiscard]] bool is_in_condition() const { return !blocks_.empty() && blocks_.back().in_condition; }

  // The next branch of the innermost if or case.
  void enter(Truth condition) {
    OpenBlock& block = blocks_.back();
    const Truth not_earlier = block.earlier ? Truth(!*block.earlier) : std::nullopt;
    block.taken = both(not_earlier, condition);
    block.earlier = either(block.earlier, condition);
    block.in_condition = false;
  }

  // Keywords; false: an ordinary command.
  bool run_keyword(const RawCommand& command) {
    const std::string& word = command.words[0].text;
    const bool is_if = word == "if";
    if (is_if || word == "while" || word == "until") {
      blocks_.push_back(
          {.closing = is_if ? "fi" : "done", .taken = true, .earlier = false, .in_condition = true});
      status_ = true;
      before_ = ShellEnd::kLine;
    } else if (word == "elif" && !blocks_.empty()) {
      blocks_.back().taken = true;  // while its condition is read
      blocks_.back().in_condition = true;
      before_ = ShellEnd::kLine;
    } else if (word == "then" && is_in_condition()) {
      enter(status_);
    } else if (word == "do" && is_in_condition()) {
      enter(std::nullopt);
    } else if (word == "else" && !blocks_.empty()) {
      enter(true);
    } else if (word == "for" || word == "select") {
      blocks_.push_back({.closing = "done", .taken = std::nullopt});
      if (command.words.size() > 1) variables_.forget(command.words[1].text, command.words[1].line());
    } else if (word == "case" && command.words.size() > 1) {
      OpenBlock block{.closing = "esac", .taken = false, .earlier = false, .in_pattern = true};
      block.subject = shell_text(variables_.text_of(command.words[1]), command.words[1].line());
      blocks_.push_back(std::move(block));
    } else if (word.ends_with("()") || word == "function") {
      function_begins_ = true;  // whether it is called is not followed
    } else if (word == "{") {
      blocks_.push_back(
          {.closing = "}", .taken = std::exchange(function_begins_, false) ? Truth() : Truth(true)});
    } else if (word == "fi" || word == "done" || word == "esac" || word == "}") {
      if (!blocks_.empty() && blocks_.back().closing == word) blocks_.pop_back();
      before_ = ShellEnd::kLine;
      status_ = true;
    } else if (word == "!") {
      is_negated_ = !is_negated_;
    } else {
      return word == "then" || word == "do" || word == "else";
    }
    return true;
  }

  void match_pattern(const std::vector<ShellText>& words) {
    if (words.empty()) return;
    if (words[0].text == "esac") {
      blocks_.pop_back();
      return;
    }
    OpenBlock& block = blocks_.back();
    Truth result = false;
    for (const ShellText& word : words) {
      std::string pattern = word.text;
      if (pattern.ends_with(')')) pattern.pop_back();
      std::erase_if(pattern, [](char c) { return c == '\'' || c == '"' || c == '('; });
      const bool matches = fnmatch(pattern.c_str(), block.subject.text.c_str(), 0) == 0;
      result = either(result, is_known(block.subject.text) || pattern == "*" ? Truth(matches) : std::nullopt);
    }
    block.in_pattern = false;
    enter(result);
  }

  // ---- Commands.

  Status run(const RawCommand& command, const ShellCommand& prefix) {
    if (command.words.empty() || run_keyword(command)) return Ok{};
    // A || B: B runs if A fails.
    const Truth wanted = before_ == ShellEnd::kAnd  ? status_
                         : before_ == ShellEnd::kOr ? (status_ ? Truth(!*status_) : std::nullopt)
                                                    : Truth(true);
    const Truth here = both(runs(), wanted);
    const bool negated = std::exchange(is_negated_, false);
    Truth result = true;
    if (!here || *here) {
      result = condition(command.words);
      if (command.words[0].text.starts_with("((")) set_variables(command.words);
      if (!is_condition(command.words[0].text))
        GOODPUT_TRY_STATUS(run_simple(command, here.value_or(false), prefix));
    }
    if (negated && result) result = !*result;
    if (before_ == ShellEnd::kAnd)
      status_ = both(status_, result);
    else if (before_ == ShellEnd::kOr)
      status_ = either(status_, result);
    else
      status_ = result;
    before_ = command.end == ShellEnd::kPipe ? ShellEnd::kLine : command.end;
    return Ok{};
  }

  static bool is_condition(const std::string& word) {
    return word == "[" || word == "[[" || word == "test" || word.starts_with("((");
  }

  // [ A = B ], [[ -z A && B != C ]], (( A > B )), true, false. Of other commands it is not known, except for
  // those that hardly fail.
  Truth condition(const std::vector<ShellText>& words) {
    const std::string& first = words[0].text;
    if (first.starts_with("((")) {
      const std::string inside = first.substr(2, first.size() < 4 ? 0 : first.size() - 4);
      const auto value = variables_.arithmetic(inside);
      return value ? Truth(*value != 0) : std::nullopt;
    }
    if (!is_condition(first)) {
      static constexpr std::string_view kSucceed[] = {"true",   ":",   "cd",    "mkdir", "echo",
                                                      "export", "set", "pushd", "module"};
      const std::string program = variables_.text_of(words[0]);
      if (program == "false") return false;
      return std::ranges::find(kSucceed, program) != std::end(kSucceed) ? Truth(true) : std::nullopt;
    }
    std::vector<std::string> texts;
    for (std::size_t i = 1; i < words.size(); ++i) texts.push_back(variables_.text_of(words[i]));
    if (!texts.empty() && (texts.back() == "]" || texts.back() == "]]")) texts.pop_back();
    if (std::ranges::find(texts, "(") != texts.end()) return std::nullopt;
    return any_of(texts);
  }

  // A || B && ! C, with && before ||.
  static Truth any_of(const std::vector<std::string>& words) {
    Truth any = false;
    Truth all = true;
    std::vector<std::string> one;
    const auto take = [&] {
      const bool negated = !one.empty() && one[0] == "!";
      if (negated) one.erase(one.begin());
      const Truth result = test(std::exchange(one, {}));
      all = both(all, result && negated ? Truth(!*result) : result);
    };
    for (const std::string& word : words) {
      if (word == "&&" || word == "-a") {
        take();
      } else if (word == "||" || word == "-o") {
        take();
        any = either(any, std::exchange(all, Truth(true)));
      } else {
        one.push_back(word);
      }
    }
    take();
    return either(any, all);
  }

  static Truth test(const std::vector<std::string>& words) {
    if (words.size() == 2 && (words[0] == "-z" || words[0] == "-n")) {
      const bool is_empty =
          words[1].empty() || (words[1].front() == kUnsetBegin && words[1].back() == kUnsetEnd);
      return is_empty == (words[0] == "-z");
    }
    if (words.size() == 1 && words[0] == "-z") return true;  // [ -z $UNSET ]
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

  Status run_simple(const RawCommand& raw, bool is_certain, const ShellCommand& prefix) {
    std::size_t first = 0;
    const std::string& name = raw.words[0].text;
    const bool declares =
        name == "export" || name == "local" || name == "readonly" || name == "declare" || name == "typeset";
    if (declares) first = 1;
    while (declares && first < raw.words.size() && raw.words[first].text.starts_with('-')) ++first;
    if (set_variables(raw.words)) return Ok{};
    std::size_t next = first;
    while (next < raw.words.size() && variables_.assign(raw.words[next], is_certain)) ++next;
    if (declares || next == raw.words.size()) return Ok{};
    ShellCommand command = prefix;
    for (std::size_t i = next; i < raw.words.size(); ++i) {
      for (ShellText& word : variables_.expand(raw.words[i])) command.push_back(std::move(word));
    }
    if (command.empty()) return Ok{};
    const std::string& program = command[prefix.size() < command.size() ? prefix.size() : 0].text;
    if (program == "source" || program == ".") script_.sourced.push_back(command.back());
    for (const ShellText& document : raw.here_documents) {
      if (program == "sbatch" || program == "bash" || program == "sh" || program == "ssh")
        GOODPUT_TRY_STATUS(run(joined_expansion(document)));
    }
    if (program == "eval") return run(joined_words(command, prefix.size() + 1), prefix);
    for (std::size_t i = 0; i + 1 < command.size(); ++i) {
      const std::string& word = command[i].text;
      const bool is_shell =
          word == "bash" || word == "sh" || word.ends_with("/bash") || word.ends_with("/sh");
      if (!is_shell) continue;
      std::size_t option = i + 1;
      while (option < command.size() && command[option].text.starts_with('-') &&
             !command[option].text.ends_with('c'))
        ++option;
      if (option + 1 >= command.size() || !command[option].text.starts_with('-')) continue;
      const ShellText inner = command[option + 1];
      command.resize(i);
      return run(inner, command);
    }
    script_.commands.push_back(std::move(command));
    return Ok{};
  }

  // unset, read and the like, and ((A += 1)): what they set is not followed.
  bool set_variables(const std::vector<ShellText>& words) {
    const std::string& name = words[0].text;
    const std::uint32_t line = words[0].line();
    if (name == "unset") {
      for (const ShellText& word : words) variables_.unset(word.text);
    } else if (name == "read" || name == "mapfile" || name == "readarray" || name == "printf" ||
               name == "getopts") {
      for (std::size_t i = 1; i < words.size(); ++i) {
        const bool is_target = name != "printf" || (i > 1 && words[i - 1].text == "-v");
        if (is_target && is_variable(words[i].text)) variables_.forget(words[i].text, line);
      }
    } else if (name.starts_with("((") || name == "let") {
      for (const ShellText& word : words) forget_assigned(word);
    } else {
      return false;
    }
    return true;
  }

  static bool is_variable(const std::string& text) {
    return !text.empty() && std::ranges::all_of(text, is_shell_name_char) && (text[0] < '0' || text[0] > '9');
  }

  // Names before =, += and the like, ++ and --, or behind the latter.
  void forget_assigned(const ShellText& word) {
    if (word.text.find('=') == std::string::npos && word.text.find("++") == std::string::npos &&
        word.text.find("--") == std::string::npos)
      return;
    std::string name;
    for (const char c : word.text + " ") {
      if (is_shell_name_char(c)) {
        name += c;
      } else if (!name.empty()) {
        if (is_variable(name)) variables_.forget(name, word.line());
        name.clear();
      }
    }
  }

  static ShellText joined_words(const ShellCommand& command, std::size_t begin) {
    ShellText text;
    for (std::size_t i = begin; i < command.size(); ++i) {
      text.append(command[i]);
      text.append(' ', command[i].line());
    }
    return text;
  }

  // A here document with its variables replaced; quotation marks stay.
  ShellText joined_expansion(const ShellText& document) {
    ShellText result;
    std::size_t begin = 0;
    while (begin < document.text.size()) {
      const std::size_t dollar = std::min(document.text.find('$', begin), document.text.size());
      result.append(document.part(begin, dollar - begin));
      std::size_t end = dollar + 1;
      if (end < document.text.size() && (dollar == 0 || document.text[dollar - 1] != '\\')) {
        if (document.text[end] == '{')
          end = std::min(document.text.find('}', end), document.text.size() - 1) + 1;
        else
          while (end < document.text.size() && is_shell_name_char(document.text[end])) ++end;
        for (const ShellText& part : variables_.expand(document.part(dollar, end - dollar), true))
          result.append(part);
      } else if (dollar < document.text.size()) {
        result.append(document.part(dollar, 1));
      }
      begin = end;
    }
    return result;
  }

  std::string file_;
  ShellVariables variables_;
  int depth_ = 0;
  std::vector<OpenBlock> blocks_{};
  Truth status_ = true;                // of the commands before on the same line
  ShellEnd before_ = ShellEnd::kLine;  // what stands between them and the next
  bool is_negated_ = false;
  bool function_begins_ = false;
  ShellScript script_{};
};

}  // namespace

Result<ShellScript> read_shell_script(const std::string& text, const std::string& file,
                                      const std::map<std::string, std::string>& environment) {
  ShellText source;
  std::uint32_t line = 1;
  for (const char c : text) {
    source.append(c, line);
    if (c == '\n') ++line;
  }
  ScriptReader reader(file, environment);
  GOODPUT_TRY_STATUS(reader.run(source));
  return std::move(reader).take();
}

}  // namespace goodput::launch
