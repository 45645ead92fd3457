#include "sim/base/json_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

namespace goodput {
namespace {

constexpr std::size_t kDeepestNesting = 1000;

bool is_plain(char c) {
  return c >= 0x20 && c <= 0x7e && c != '"' && c != '\\';
}

// Passes on what nlohmann_json's parser sees.
class Parser final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Parser(JsonEvents& events) : events_(events) {}

  bool null() override { return events_.null(); }
  bool boolean(bool value) override { return events_.boolean(value); }
  bool number_integer(number_integer_t value) override { return events_.integer(value); }
  bool number_unsigned(number_unsigned_t value) override { return events_.natural(value); }
  bool number_float(number_float_t value, const string_t& written) override {
    return events_.real(value, written);
  }
  bool string(string_t& value) override { return events_.text(value); }
  bool binary(binary_t& /*value*/) override { return false; }  // JSON has none
  bool start_object(std::size_t /*size*/) override { return events_.start_object() && enter(); }
  bool key(string_t& name) override { return events_.key(name); }
  bool end_object() override { return leave() && events_.end_object(); }
  bool start_array(std::size_t /*size*/) override { return events_.start_array() && enter(); }
  bool end_array() override { return leave() && events_.end_array(); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& error) override {
    what_ = error.what();
    if (const auto* syntax = dynamic_cast<const nlohmann::json::parse_error*>(&error)) byte_ = syntax->byte;
    return false;
  }

  // After a parsing that failed.
  [[noreturn]] void fail() const {
    if (byte_) throw JsonParseError(what_, *byte_);
    if (!what_.empty()) throw JsonError(what_);
    throw JsonError(depth_ > kDeepestNesting ? "values are nested too deeply" : "parsing was stopped");
  }

 private:
  bool enter() { return ++depth_ <= kDeepestNesting; }
  bool leave() {
    --depth_;
    return true;
  }

  JsonEvents& events_;
  std::size_t depth_ = 0;
  std::string what_;                 // of an error of the parser
  std::optional<std::size_t> byte_;  // of a syntax error
};

}  // namespace

bool JsonEvents::null() {
  return scalar("null");
}
bool JsonEvents::boolean(bool value) {
  return scalar(value ? "true" : "false");
}
bool JsonEvents::integer(std::int64_t value) {
  return scalar(std::to_string(value));
}
bool JsonEvents::natural(std::uint64_t value) {
  return scalar(std::to_string(value));
}
bool JsonEvents::real(double /*value*/, std::string_view written) {
  return scalar(written);
}

void parse_events(std::string_view text, JsonEvents& events) {
  Parser parser(events);
  if (!nlohmann::json::sax_parse(text, &parser)) parser.fail();
}

void append_json_string(std::string_view text, std::string& to) {
  if (std::all_of(text.begin(), text.end(), is_plain)) {
    to += '"';
    to += text;
    to += '"';
  } else {
    to += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

void append_json_number(double number, std::string& to) {
  if (!std::isfinite(number)) {
    to += "null";
    return;
  }
  std::array<char, 64> digits;
  to.append(digits.data(), nlohmann::detail::to_chars(digits.data(), digits.data() + digits.size(), number));
}

}  // namespace goodput
