#include "gpu/calibrate/json_value.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

#include "gpu/bench/json.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr int kMostDepth = 32;

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  JsonValue document() {
    JsonValue value = read_value(0);
    skip_space();
    if (at_ != text_.size()) fail("unexpected text after the value");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::invalid_argument("byte " + std::to_string(at_) + ": " + what);
  }
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (at_ < text_.size() && (peek() == ' ' || peek() == '\t' || peek() == '\r' || peek() == '\n')) ++at_;
  }
  bool take(char wanted) {
    skip_space();
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) fail(std::string("expected '") + wanted + "'");
  }
  bool take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  JsonValue read_value(int depth) {
    if (depth > kMostDepth) fail("nested too deeply");
    skip_space();
    switch (peek()) {
      case '{':
        return read_object(depth);
      case '[':
        return read_array(depth);
      case '"':
        return JsonValue(read_text());
      default:
        return read_word();
    }
  }
  JsonValue read_object(int depth) {
    JsonValue::Object members;
    expect('{');
    if (take('}')) return JsonValue(std::move(members));
    do {
      skip_space();
      std::string name = read_text();
      expect(':');
      members.emplace_back(std::move(name), read_value(depth + 1));
    } while (take(','));
    expect('}');
    return JsonValue(std::move(members));
  }
  JsonValue read_array(int depth) {
    JsonValue::Array items;
    expect('[');
    if (take(']')) return JsonValue(std::move(items));
    do items.push_back(read_value(depth + 1));
    while (take(','));
    expect(']');
    return JsonValue(std::move(items));
  }
  JsonValue read_word() {
    if (take_word("true")) return JsonValue(true);
    if (take_word("false")) return JsonValue(false);
    if (take_word("null")) return JsonValue();
    const std::size_t end = text_.find_first_not_of("+-.0123456789eE", at_);
    const std::string digits(text_.substr(at_, end == std::string_view::npos ? end : end - at_));
    char* stopped = nullptr;
    const double number = std::strtod(digits.c_str(), &stopped);
    if (digits.empty() || *stopped != '\0' || !std::isfinite(number)) fail("expected a value");
    at_ += digits.size();
    return JsonValue(number);
  }
  std::string read_text() {
    if (peek() != '"') fail("expected '\"'");
    std::string text;
    for (++at_; peek() != '"'; ++at_) {
      if (at_ >= text_.size()) fail("unterminated string");
      text += peek() == '\\' ? read_escape() : std::string(1, peek());
    }
    ++at_;
    return text;
  }
  // Behind it at_ is on its last byte.
  std::string read_escape() {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
    ++at_;
    if (const std::size_t which = kNames.find(peek()); peek() != '\0' && which != std::string_view::npos)
      return {kMeant[which]};
    if (peek() != 'u' || at_ + 4 >= text_.size()) fail("unknown escape sequence");
    std::uint32_t code = 0;
    const char* const digits = text_.data() + at_ + 1;
    if (std::from_chars(digits, digits + 4, code, 16).ptr != digits + 4) fail("unknown escape sequence");
    at_ += 4;
    return utf8(code);
  }
  // Surrogates are none of ours.
  static std::string utf8(std::uint32_t code) {
    if (code < 0x80) return {static_cast<char>(code)};
    const auto tail = [](std::uint32_t bits) { return static_cast<char>(0x80U | (bits & 0x3fU)); };
    if (code < 0x800) return {static_cast<char>(0xc0U | code >> 6U), tail(code)};
    return {static_cast<char>(0xe0U | code >> 12U), tail(code >> 6U), tail(code)};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

struct ContentWriter {
  bench::JsonWriter& json;

  void operator()(std::nullptr_t) const { json.value(std::optional<double>()); }
  void operator()(bool yes) const { json.value(yes); }
  void operator()(double number) const { json.value(number); }
  void operator()(const std::string& text) const { json.value(text); }
  void operator()(const JsonValue::Array& items) const {
    json.begin_array();
    for (const JsonValue& item : items) std::visit(*this, item.content());
    json.end_array();
  }
  void operator()(const JsonValue::Object& members) const {
    json.begin_object();
    for (const auto& member : members) {
      json.key(member.first);
      std::visit(*this, member.second.content());
    }
    json.end_object();
  }
};

}  // namespace

template <class T>
const T& JsonValue::as(const char* wanted) const {
  const T* const content = std::get_if<T>(&content_);
  if (content == nullptr) throw std::invalid_argument(std::string("expected ") + wanted);
  return *content;
}
template const bool& JsonValue::as(const char*) const;
template const double& JsonValue::as(const char*) const;
template const std::string& JsonValue::as(const char*) const;
template const JsonValue::Array& JsonValue::as(const char*) const;
template const JsonValue::Object& JsonValue::as(const char*) const;

const JsonValue* JsonValue::find(std::string_view member) const {
  for (const auto& [name, value] : object()) {
    if (name == member) return &value;
  }
  return nullptr;
}

const JsonValue& JsonValue::at(std::string_view member) const {
  const JsonValue* const value = find(member);
  if (value == nullptr) throw std::invalid_argument("'" + std::string(member) + "' is missing");
  return *value;
}

JsonValue parse_json(std::string_view text) {
  return JsonReader(text).document();
}

std::string json_text(const JsonValue& value) {
  bench::JsonWriter json(bench::JsonLayout::kOneLine);
  std::visit(ContentWriter{json}, value.content());
  std::string text = json.text();
  text.pop_back();
  return text;
}

}  // namespace goodput::gpu::calibrate
