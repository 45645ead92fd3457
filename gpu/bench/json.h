// Writes JSON: objects and arrays in the order of the calls, two spaces of indentation or all on one line.
// Numbers have as many digits as it takes to read the same double again; what is not finite is refused, JSON
// has no word for it.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace goodput::gpu::bench {

// In double quotes. Bytes from 0x80 on are passed on: text is UTF-8.
inline std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (byte < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      result += escape;
    } else {
      result += c;
    }
  }
  return result + '"';
}

// Throws std::invalid_argument for what is not finite.
inline std::string number_text(double value) {
  if (!std::isfinite(value)) throw std::invalid_argument("json: a number is not finite");
  char text[40];
  for (int digits = 15; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  return text;
}

// REQUIRES: calls that make a document: a key before every value in an object and nowhere else, every begin
// with its end.
enum class JsonLayout { kIndented, kOneLine };

class JsonWriter {
 public:
  explicit JsonWriter(JsonLayout layout = JsonLayout::kIndented) : layout_(layout) {}

  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }
  void key(std::string_view name) {
    separate();
    text_ += in_quotes(name) + ": ";
    after_key_ = true;
  }

  void value(std::string_view text) { put(in_quotes(text)); }
  void value(const char* text) { put(in_quotes(text)); }
  void value(double number) { put(number_text(number)); }
  void value(std::int64_t number) { put(std::to_string(number)); }
  void value(std::uint64_t number) { put(std::to_string(number)); }
  void value(int number) { put(std::to_string(number)); }
  void value(bool yes) { put(yes ? "true" : "false"); }
  template <class T>
  void value(const std::optional<T>& maybe) {
    maybe ? value(*maybe) : put("null");
  }
  template <class T>
  void member(std::string_view name, const T& content) {
    key(name);
    value(content);
  }

  // With a newline at the end.
  [[nodiscard]] std::string text() const { return text_ + '\n'; }

 private:
  void begin(char bracket) {
    separate();
    text_ += bracket;
    empty_.push_back(true);
    after_key_ = false;
  }
  void end(char bracket) {
    const bool empty = empty_.back();
    empty_.pop_back();
    if (!empty) new_line();
    text_ += bracket;
  }
  void put(const std::string& token) {
    separate();
    text_ += token;
    after_key_ = false;
  }
  void separate() {
    if (after_key_ || empty_.empty()) return;
    if (!empty_.back()) text_ += ',';
    empty_.back() = false;
    new_line();
  }
  void new_line() {
    if (layout_ == JsonLayout::kIndented) text_ += '\n' + std::string(2 * empty_.size(), ' ');
  }

  JsonLayout layout_;
  std::string text_;
  std::vector<bool> empty_;  // of every open object or array: nothing in it yet
  bool after_key_ = false;
};

}  // namespace goodput::gpu::bench
