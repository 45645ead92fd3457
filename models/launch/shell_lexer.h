// The simple commands of a shell script as they are written: words with their quotation marks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/launch/shell_text.h"
#include "sim/base/errors.h"

namespace goodput::launch {

// What ends a command.
enum class ShellEnd : std::uint8_t { kLine, kAnd, kOr, kPipe, kCase };

struct RawCommand {
  std::vector<ShellText> words{};  // keywords are commands of their own: "then", "do", "{"
  ShellEnd end = ShellEnd::kLine;
  std::vector<ShellText> here_documents{};
};

class ShellLexer {
 public:
  // `text` must outlive the lexer.
  ShellLexer(const ShellText& text, std::string file) : text_(text), file_(std::move(file)) {}

  // `in_pattern`: of a case, whose patterns end with ")". None: the end. Errors: an unfinished quotation.
  Result<std::optional<RawCommand>> next(bool in_pattern);
  // The words of a list in brackets: A=(...).
  Result<std::vector<ShellText>> list();
  // What stands behind #SBATCH in comments so far.
  [[nodiscard]] const std::vector<ShellText>& batch_lines() const { return batch_lines_; }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.text.size() ? text_.text[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool is_at_end() const { return at_ >= text_.text.size(); }
  [[nodiscard]] std::uint32_t line() const { return is_at_end() ? 0 : text_.lines[at_]; }
  [[nodiscard]] Error not_closed(char bracket, std::uint32_t line) const;
  bool skip_continuation();
  void read_comment();
  void read_here_document_mark();
  void read_here_documents(RawCommand& command);
  bool read_separator(RawCommand& command, bool in_pattern, bool& is_done);
  void take(ShellText& word) {
    word.append(text_.text[at_], text_.lines[at_]);
    ++at_;
  }
  Result<ShellText> read_word(bool in_pattern);
  Status take_quoted(ShellText& word);
  Status take_brackets(ShellText& word);

  const ShellText& text_;
  std::string file_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<std::string> marks_{};  // of here documents that begin behind this line
  std::vector<ShellText> batch_lines_{};
};

// The words of a text, cut at blanks outside quotation marks, which are removed.
[[nodiscard]] std::vector<ShellText> shell_words(const ShellText& text);

}  // namespace goodput::launch
