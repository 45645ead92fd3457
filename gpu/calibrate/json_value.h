// Reads JSON: lines of the journal, which this program or attention.py wrote. Host only.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace goodput::gpu::calibrate {

// A value of JSON. What is asked of the wrong kind throws std::invalid_argument with what was wanted.
class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  using Object = std::vector<std::pair<std::string, JsonValue>>;  // in the order of the text
  using Content = std::variant<std::nullptr_t, bool, double, std::string, Array, Object>;

  JsonValue() = default;
  explicit JsonValue(Content content) : content_(std::move(content)) {}

  [[nodiscard]] bool boolean() const { return as<bool>("true or false"); }
  [[nodiscard]] double number() const { return as<double>("a number"); }
  [[nodiscard]] const std::string& text() const { return as<std::string>("a string"); }
  [[nodiscard]] const Array& array() const { return as<Array>("an array"); }
  [[nodiscard]] const Object& object() const { return as<Object>("an object"); }
  [[nodiscard]] const Content& content() const { return content_; }

  // Of an object. Null where it has no such member, or throws.
  [[nodiscard]] const JsonValue* find(std::string_view member) const;
  [[nodiscard]] const JsonValue& at(std::string_view member) const;

  friend bool operator==(const JsonValue& a, const JsonValue& b) { return a.content_ == b.content_; }
  friend bool operator!=(const JsonValue& a, const JsonValue& b) { return !(a == b); }

 private:
  template <class T>
  [[nodiscard]] const T& as(const char* wanted) const;

  Content content_ = nullptr;
};

// All of `text` is one value. Throws std::invalid_argument with the place: "byte 12: ...".
[[nodiscard]] JsonValue parse_json(std::string_view text);

// On one line, as JsonWriter writes it.
[[nodiscard]] std::string json_text(const JsonValue& value);

}  // namespace goodput::gpu::calibrate
