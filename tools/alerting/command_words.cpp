// A command line as words, without a shell.
#include <string>
#include <vector>

#include "tools/alerting/alerting_config.h"

namespace goodput {
namespace {

// Takes characters one by one.
class WordSplitter {
 public:
  void take(char c) {
    if (is_escaped_) {
      add(c);
      is_escaped_ = false;
    } else if (c == '\\' && quote_ != '\'') {
      is_escaped_ = true;
    } else if (quote_ != 0) {
      if (c == quote_)
        quote_ = 0;
      else
        add(c);
    } else if (c == '"' || c == '\'') {
      quote_ = c;
      is_word_ = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      end_word();
    } else {
      add(c);
    }
  }

  Result<std::vector<std::string>> finish() && {
    if (quote_ != 0) return Error{std::string("--alert-exec has an unclosed ") + quote_};
    if (is_escaped_)
      return Error{"--alert-exec ends with a backslash; add the character that it escapes, or remove it"};
    end_word();
    return std::move(words_);
  }

 private:
  void add(char c) {
    word_ += c;
    is_word_ = true;
  }
  void end_word() {
    if (is_word_) words_.push_back(std::move(word_));
    word_.clear();
    is_word_ = false;
  }

  std::vector<std::string> words_;
  std::string word_;
  bool is_word_ = false;  // "" is one
  bool is_escaped_ = false;
  char quote_ = 0;
};

}  // namespace

Result<ExecSink> exec_sink_of(std::string_view command) {
  WordSplitter splitter;
  for (const char c : command) splitter.take(c);
  GOODPUT_TRY(std::vector<std::string> words, std::move(splitter).finish());
  if (words.empty() || words.front().empty())
    return Error{"--alert-exec is empty; give a program and its arguments"};
  return ExecSink{.command = std::move(words)};
}

}  // namespace goodput
