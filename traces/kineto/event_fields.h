// The members of one JSON object, read front to back without building anything: an event of a trace is looked
// at once, and only as far as somebody wants to know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// Goes over the members of an object, or over the items of an array. Strings may hold control characters.
//
//   EventFields fields(text);
//   while (const auto key = fields.next()) {
//     if (*key == "args") {
//       fields.enter();  // the keys of that object follow, then those behind it
//     } else if (*key == "ts") {
//       use(fields.value());
//     }  // what nobody asks for is skipped
//   }
//   if (fields.is_damaged()) ...
class EventFields {
 public:
  // `object` is a JSON object without white space around it and must outlive this.
  explicit EventFields(std::string_view object);

  // The key of the next member, as it stands between its quotes. Nothing behind the last member, both of the
  // object itself and of one that was entered, and where the text is no JSON.
  std::optional<std::string_view> next();

  // The text of the value behind the key that next() returned, its quotes or brackets included. Once a key.
  std::string_view value();

  // If that value is an object, the next keys are its own, until next() returns nothing. Else returns false,
  // and the value is still to be had.
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

// The texts of the items of a JSON array; nothing if `array` is none. Items are looked at no further.
[[nodiscard]] std::optional<std::vector<std::string_view>> json_items(std::string_view array);

// Nanoseconds of a JSON number of microseconds: "4776480871463.312". Exact; below a nanosecond it is rounded,
// halves away from zero. Nothing if the text is no JSON number or 64 bits do not hold the result.
[[nodiscard]] std::optional<std::int64_t> nanoseconds_of_microseconds(std::string_view number);

// A JSON number without fraction and exponent. Nothing if the text is no such number or 64 bits do not hold
// it.
[[nodiscard]] std::optional<std::int64_t> json_integer(std::string_view number);

// What JSON strings say. Copies only those with escapes.
class JsonStrings {
 public:
  // `text` with its quotes. Half of a surrogate pair becomes U+FFFD. Nothing if the text is no string. Valid
  // until the next call and as long as `text`.
  std::optional<std::string_view> read(std::string_view text);

 private:
  std::string unescaped_;
};

// What a value is, for messages: "a string", "an object"; of numbers and words their text.
[[nodiscard]] std::string describe_json(std::string_view value);

}  // namespace goodput
