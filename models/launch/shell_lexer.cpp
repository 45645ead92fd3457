#include "models/launch/shell_lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace goodput::launch {
namespace {

constexpr int kDeepestQuotes = 50;

// They begin a command of their own behind them.
bool is_keyword(std::string_view word) {
  static constexpr std::string_view kKeywords[] = {"then", "else", "do", "fi",   "done",  "esac", "{",
                                                   "}",    "!",    "if", "elif", "while", "until"};
  return std::ranges::find(kKeywords, word) != std::end(kKeywords);
}

}  // namespace

Error ShellLexer::not_closed(char bracket, std::uint32_t line) const {
  return {fmt::format("{} is not closed", bracket), {.file = file_, .position = Position::line(line)}};
}

// A backslash at the end of a line.
bool ShellLexer::skip_continuation() {
  if (peek() != '\\') return false;
  const std::size_t length = peek(1) == '\n' ? 2 : peek(1) == '\r' && peek(2) == '\n' ? 3 : 0;
  at_ += length;
  return length > 0;
}

void ShellLexer::read_comment() {
  const std::size_t end = std::min(text_.text.find('\n', at_), text_.text.size());
  constexpr std::string_view kBatch = "#SBATCH";
  ShellText comment = text_.part(at_, end - at_);
  at_ = end;
  if (comment.text.starts_with(kBatch)) batch_lines_.push_back(comment.part(kBatch.size()));
}

void ShellLexer::read_here_document_mark() {
  at_ += 2;
  if (peek() == '-') ++at_;
  while (peek() == ' ') ++at_;
  std::string mark;
  while (!is_at_end() && !is_blank(peek()) && peek() != ';' && peek() != '>') mark += text_.text[at_++];
  std::erase_if(mark, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
  marks_.push_back(std::move(mark));
}

// REQUIRES: at the beginning of a line.
void ShellLexer::read_here_documents(RawCommand& command) {
  for (const std::string& mark : std::exchange(marks_, {})) {
    ShellText body;
    while (!is_at_end()) {
      const std::size_t end = std::min(text_.text.find('\n', at_), text_.text.size());
      const ShellText line = text_.part(at_, end + 1 - at_);
      at_ = std::min(end + 1, text_.text.size());
      std::string_view bare = line.text;
      while (!bare.empty() && is_blank(bare.front())) bare.remove_prefix(1);
      while (!bare.empty() && is_blank(bare.back())) bare.remove_suffix(1);
      if (bare == mark) break;
      body.append(line);
    }
    command.here_documents.push_back(std::move(body));
  }
}

// Blanks, comments and what ends a command. False: a word begins.
bool ShellLexer::read_separator(RawCommand& command, bool in_pattern, bool& is_done) {
  const char c = peek();
  // [[ A && B ]] is one command.
  const bool is_test =
      !command.words.empty() && command.words[0].text == "[[" && command.words.back().text != "]]";
  if (is_test && (c == '&' || c == '|' || c == '(' || c == ')' || c == '<')) {
    ShellText word;
    take(word);
    if (peek() == c) take(word);
    command.words.push_back(std::move(word));
    return true;
  }
  const auto end = [&](std::size_t length, ShellEnd how) {
    at_ += length;
    is_done = !command.words.empty() || how == ShellEnd::kCase;
    if (is_done) command.end = how;
  };
  const bool begins_subshell = c == '(' && command.words.empty() && peek(1) != '(';  // or a pattern
  if (c == '#') {
    read_comment();
  } else if (c == '\n') {
    ++at_;
    read_here_documents(command);
    is_done = !command.words.empty();
  } else if (is_blank(c) || (c == '&' && peek(1) == '>') || (c == '|' && in_pattern) || begins_subshell) {
    ++at_;
  } else if (c == ';' && peek(1) == ';') {
    end(2, ShellEnd::kCase);
  } else if (c == '&' && peek(1) == '&') {
    end(2, ShellEnd::kAnd);
  } else if (c == '|') {
    end(peek(1) == '|' || peek(1) == '&' ? 2 : 1, peek(1) == '|' ? ShellEnd::kOr : ShellEnd::kPipe);
  } else if (c == ';' || c == '&' || (c == ')' && !in_pattern)) {
    end(1, ShellEnd::kLine);
  } else if (c == '<' && peek(1) == '<' && peek(2) != '<') {
    read_here_document_mark();
  } else {
    return skip_continuation();
  }
  return true;
}

Result<std::optional<RawCommand>> ShellLexer::next(bool in_pattern) {
  RawCommand command;
  while (!is_at_end()) {
    bool is_done = false;
    if (read_separator(command, in_pattern, is_done)) {
      if (is_done) return std::optional(std::move(command));
      continue;
    }
    GOODPUT_TRY(ShellText word, read_word(in_pattern));
    command.words.push_back(std::move(word));
    const std::string& last = command.words.back().text;
    if (command.words.size() == 1 && is_keyword(last)) return std::optional(std::move(command));
    const bool begins_function = (command.words.size() == 1 && last.ends_with("()")) ||
                                 (command.words.size() == 2 && command.words[0].text == "function");
    if (begins_function || (in_pattern && last.ends_with(')'))) return std::optional(std::move(command));
    if (command.words.size() == 3 && command.words[0].text == "case" && last == "in")
      return std::optional(std::move(command));
  }
  if (command.words.empty()) return std::optional<RawCommand>{};
  return std::optional(std::move(command));
}

Result<std::vector<ShellText>> ShellLexer::list() {
  std::vector<ShellText> words;
  while (!is_at_end()) {
    if (skip_continuation()) continue;
    if (is_blank(peek())) {
      ++at_;
    } else if (peek() == '#') {
      read_comment();
    } else {
      const std::size_t begin = at_;
      GOODPUT_TRY(ShellText word, read_word(false));
      if (at_ == begin) take(word);
      words.push_back(std::move(word));
    }
  }
  return words;
}

Result<ShellText> ShellLexer::read_word(bool in_pattern) {
  ShellText word;
  while (!is_at_end()) {
    const char c = peek();
    if (skip_continuation()) continue;
    if (c == '\\' && at_ + 1 < text_.text.size()) {
      take(word), take(word);
    } else if (c == '\'' || c == '"' || c == '`') {
      GOODPUT_TRY_STATUS(take_quoted(word));
    } else if (c == '$' && (peek(1) == '(' || peek(1) == '{')) {
      take(word);
      GOODPUT_TRY_STATUS(take_brackets(word));
    } else if (c == '(' && (word.text.empty() || word.text.ends_with('='))) {
      GOODPUT_TRY_STATUS(take_brackets(word));
    } else if (c == '(' && peek(1) == ')') {
      take(word), take(word);  // of a function
      break;
    } else if (c == ')' && in_pattern) {
      take(word);
      break;
    } else if (is_blank(c) || c == ';' || c == '|' || c == ')' || (c == '&' && !word.text.ends_with('>'))) {
      break;
    } else {
      take(word);
    }
  }
  return word;
}

// From a quotation mark to the next; what stands in ${...} and $(...) has its own.
Status ShellLexer::take_quoted(ShellText& word) {
  const char mark = peek();
  const std::uint32_t begin = line();
  take(word);
  while (!is_at_end() && peek() != mark) {
    if (mark == '"' && peek() == '$' && (peek(1) == '(' || peek(1) == '{')) {
      take(word);
      GOODPUT_TRY_STATUS(take_brackets(word));
      continue;
    }
    if (peek() == '\\' && mark != '\'' && at_ + 1 < text_.text.size()) take(word);
    take(word);
  }
  if (is_at_end()) return not_closed(mark, begin);
  take(word);
  return Ok{};
}

Status ShellLexer::take_brackets(ShellText& word) {
  const std::uint32_t begin = line();
  const char open = peek();
  if (++depth_ > kDeepestQuotes) return not_closed(open, begin);
  int depth = 0;
  while (!is_at_end()) {
    const char c = peek();
    if (c == '#' && open == '(' && at_ > 0 && is_blank(text_.text[at_ - 1])) {
      read_comment();
      continue;
    }
    if (c == '\'' || c == '"' || c == '`') {
      GOODPUT_TRY_STATUS(take_quoted(word));
      continue;
    }
    if (c == '(' || c == '{') ++depth;
    if (c == ')' || c == '}') --depth;
    if (c == '\\' && at_ + 1 < text_.text.size()) take(word);
    take(word);
    if (depth == 0) {
      --depth_;
      return Ok{};
    }
  }
  return not_closed(open, begin);
}

std::vector<ShellText> shell_words(const ShellText& text) {
  std::vector<ShellText> words;
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

}  // namespace goodput::launch
