#include "tools/page/page_result.h"

#include <fmt/format.h>

#include <vector>

#include "sim/base/json_text.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::size_t kDeepestNesting = 64;
constexpr std::string_view kWanted = "expected a result that a goodput command wrote with --json";

// Not within a character of several bytes: 0b10xxxxxx goes on with one.
std::size_t cut_before(std::string_view text, std::size_t most) {
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return most;
}

std::string cut(std::string_view text) {
  if (text.size() <= kLongestPageText) return std::string(text);
  const std::size_t kept = cut_before(text, kLongestPageText);
  return fmt::format("{} [{} more bytes left out of this page]", text.substr(0, kept), text.size() - kept);
}

// No `<` is left that could end the script around it or begin a comment, and no line ends where JavaScript
// sees one and JSON does not. They can only stand in strings, where escapes mean the same.
std::string inert(std::string_view text) {
  constexpr std::string_view kLineSeparator = "\u2028";
  constexpr std::string_view kParagraphSeparator = "\u2029";
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (text[i] == '<') {
      result += "\\u003c";
    } else if (rest.starts_with(kLineSeparator) || rest.starts_with(kParagraphSeparator)) {
      result += rest.starts_with(kLineSeparator) ? "\\u2028" : "\\u2029";
      i += kLineSeparator.size() - 1;
    } else {
      result += text[i];
    }
  }
  return result;
}

// Writes down what the parser sees. False ends the parsing.
class Rewriting final : public JsonEvents {
 public:
  bool scalar(std::string_view json) override { return value(json); }
  bool text(std::string_view text) override {
    if (is_at_schema()) schema_ = text;
    return value(page_text(text));
  }
  bool start_object() override { return open('{'); }
  bool end_object() override { return close('}'); }
  bool start_array() override { return open('['); }
  bool end_array() override { return close(']'); }
  bool key(std::string_view name) override {
    separate();
    key_ = name;
    json_ += page_text(name);
    json_ += ':';
    follows_key_ = true;
    return true;
  }

  [[nodiscard]] bool is_too_deep() const { return is_too_deep_; }
  [[nodiscard]] const std::string& schema() const { return schema_; }  // empty: none
  [[nodiscard]] std::string take_json() { return std::move(json_); }

 private:
  [[nodiscard]] bool is_at_schema() const {
    return has_elements_.size() == 1 && follows_key_ && key_ == "schema";
  }

  void separate() {
    if (follows_key_) {
      follows_key_ = false;
      return;
    }
    if (has_elements_.empty()) return;
    if (has_elements_.back()) json_ += ',';
    has_elements_.back() = true;
  }

  bool value(std::string_view written) {
    separate();
    json_ += written;
    return true;
  }

  bool open(char bracket) {
    separate();
    json_ += bracket;
    has_elements_.push_back(false);
    is_too_deep_ = has_elements_.size() > kDeepestNesting;
    return !is_too_deep_;
  }

  bool close(char bracket) {
    json_ += bracket;
    has_elements_.pop_back();
    return true;
  }

  std::string json_;
  std::string schema_;
  std::string key_;
  std::vector<bool> has_elements_;  // of each array and object that is open
  bool follows_key_ = false;
  bool is_too_deep_ = false;
};

Status check_schema(const std::string& schema) {
  constexpr std::string_view kOurs = "goodput.";
  if (schema.empty()) return Error{fmt::format("has no schema; {}", kWanted)};
  const std::size_t slash = schema.find('/');
  if (!schema.starts_with(kOurs) || slash == std::string::npos || slash == kOurs.size())
    return Error{
        fmt::format("has the schema {}, which is not a goodput schema; {}", in_quotes(schema), kWanted)};
  if (schema.substr(slash + 1) != "1")
    return Error{
        fmt::format("has schema {}, but this goodput reads only version 1 of this schema; use the goodput "
                    "version that wrote the result",
                    in_quotes(schema))};
  return Ok{};
}

}  // namespace

std::string page_text(std::string_view text) {
  std::string json;
  append_json_string(cut(text), json);
  return inert(json);
}

Result<PageResult> page_result(std::string name, std::string_view text) {
  Rewriting rewriting;
  try {
    parse_events(text, rewriting);
  } catch (const JsonError&) {
    if (rewriting.is_too_deep()) return Error{"is nested too deeply to be a result"};
    return Error{fmt::format("is not JSON; {}", kWanted)};
  }
  GOODPUT_TRY_STATUS(check_schema(rewriting.schema()));
  return PageResult{std::move(name), rewriting.schema(), rewriting.take_json()};
}

}  // namespace goodput
