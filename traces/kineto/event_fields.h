// Reads the members of one JSON object from front to back without building a document. The caller takes the
// values it needs and can stop early.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// Iterates over the members of an object. Strings may hold control characters.
//
//   EventFields fields(text);
//   while (const auto key = fields.next()) {
//     if (*key == "args") {
//       fields.enter();  // the keys of that object come next, then the remaining ones
//     } else if (*key == "ts") {
//       use(fields.value());
//     }  // other values are skipped
//   }
//   if (fields.is_damaged()) ...
class EventFields {
 public:
  // `object` is a JSON object without white space around it and must outlive this.
  explicit EventFields(std::string_view object);

  // The key of the next member, without its quotes and with its escapes. Empty after the last member of the
  // object or of one that was entered, and if the text is not JSON.
  std::optional<std::string_view> next();

  // The text of the value of the key that next() returned, with its quotes or brackets. At most once per key.
  std::string_view value();

  // If that value is an object, next() returns its keys, then empty once. Otherwise returns false, and
  // value() can still be called.
  bool enter();

  [[nodiscard]] bool is_damaged() const { return is_damaged_; }
  // Where the damage was found.
  [[nodiscard]] std::string_view rest() const;

 private:
  void skip_space() {
    if (at_ != end_ && *at_ <= ' ') skip_blanks();
  }
  void skip_blanks();
  bool take(char wanted);
  void damage();
  std::string_view scalar();

  const char* at_;
  const char* end_;
  int open_ = 0;          // objects
  bool at_first_ = true;  // no member of the innermost object was read
  bool at_value_ = false;
  bool is_damaged_ = false;
};

// The texts of the items of a JSON array; empty if `array` is not one. Does not check the items.
[[nodiscard]] std::optional<std::vector<std::string_view>> json_items(std::string_view array);

// Nanoseconds of a JSON number of microseconds: "4776480871463.312". Exact to the nanosecond; rounds further
// digits, halves away from zero. Empty if the text is not a JSON number or the result exceeds 64 bits.
[[nodiscard]] std::optional<std::int64_t> nanoseconds_of_microseconds(std::string_view number);

// A JSON number without fraction and exponent. Empty if the text is something else or exceeds 64 bits.
[[nodiscard]] std::optional<std::int64_t> json_integer(std::string_view number);

// The contents of JSON strings. Copies only strings with escapes.
class JsonStrings {
 public:
  // `text`: with its quotes. Half of a surrogate pair becomes U+FFFD. Empty if the text is not a string. The
  // result is valid until the next call and as long as `text`.
  std::optional<std::string_view> read(std::string_view text);

 private:
  std::string unescaped_;
};

// What a value is, for messages: "a string", "an object", or the text of a number or word.
[[nodiscard]] std::string describe_json(std::string_view value);

}  // namespace goodput
