// The text of JSON: what a parser sees, and how strings and numbers are written. nlohmann_json does the work;
// json_text.cpp alone includes it, because every source that does takes a second longer to compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace goodput {

// Text that is not JSON, a value of another type than asked for, a member or element that does not exist.
class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A syntax error. The message is nlohmann_json's.
class JsonParseError final : public JsonError {
 public:
  JsonParseError(const std::string& what, std::size_t position) : JsonError(what), byte(position) {}
  std::size_t byte;  // where the parser stopped, counted from 1; 0: before any
};

// What a parser sees, in order. An event that returns false ends the parsing.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual bool start_object() = 0;
  virtual bool key(std::string_view name) = 0;
  virtual bool end_object() = 0;
  virtual bool start_array() = 0;
  virtual bool end_array() = 0;
  virtual bool text(std::string_view text) = 0;
  // Null, true, false or a number, as JSON; by default all of these go here.
  virtual bool scalar(std::string_view /*json*/) { return true; }
  virtual bool null();
  virtual bool boolean(bool value);
  virtual bool integer(std::int64_t value);   // below 0
  virtual bool natural(std::uint64_t value);  // not below 0
  virtual bool real(double value, std::string_view written);
};

// Throws JsonParseError if `text` is not JSON, JsonError if a number is beyond the range of double, values
// are nested more than 1000 deep, or an event ended the parsing.
void parse_events(std::string_view text, JsonEvents& events);

// Append `text` as a JSON string, quotes included, or `number` (null if it is not finite). Bytes that are not
// UTF-8 become U+FFFD.
void append_json_string(std::string_view text, std::string& to);
void append_json_number(double number, std::string& to);

}  // namespace goodput
