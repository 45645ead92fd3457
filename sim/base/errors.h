// How failures travel: bad input as a Result, our own bugs as an InternalError.
//
// Exceptions of third-party code are turned into a Result by the function that calls it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace goodput {

// A part of a file that is counted, not named.
struct Position {
  enum class Unit : std::uint8_t { kNone, kLine, kRow, kEvent, kByte };

  Unit unit = Unit::kNone;
  std::uint64_t number = 0;
  std::uint64_t column = 0;  // of a line, from 1; 0: the line as a whole

  [[nodiscard]] static Position line(std::uint64_t number, std::uint64_t column = 0) {
    return {Unit::kLine, number, column};
  }
  [[nodiscard]] static Position row(std::uint64_t number) { return {Unit::kRow, number, 0}; }
  [[nodiscard]] static Position event(std::uint64_t number) { return {Unit::kEvent, number, 0}; }
  [[nodiscard]] static Position byte(std::uint64_t number) { return {Unit::kByte, number, 0}; }

  friend bool operator==(const Position&, const Position&) = default;
};

// Where in the input something is wrong, as far as it is known; nothing of it on the command line.
struct Where {
  std::string file{};  // as messages name it
  Position position{};
  std::string pointer{};  // JSON pointer (RFC 6901) from the root of `file`; no file: from the object at hand

  [[nodiscard]] bool empty() const;
  // Of what is known: "FILE", "FILE:LINE", "FILE:LINE:COLUMN", "FILE:row ROW", "FILE: event EVENT",
  // "FILE: byte BYTE", "FILE /pointer", "/pointer".
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Where&, const Where&) = default;
};

// Stands in Error::what for the name of Error::option. It is the control character SUBSTITUTE, which text of
// users that in_quotes() or on_one_line() went over never has.
inline constexpr std::string_view kOption = "\x1a";

// How the reader of a message knows an option: its name by key.
using OptionName = std::string (*)(std::string_view key);

// One thing wrong with the input.
struct Error {
  std::string what;  // what is wrong and how to mend it, in one line
  Where where{};
  std::string option{};  // key of the setting that caused the error or mends it ("polarity"); empty: none

  // "WHERE: WHAT". An error that has no place but an option stands at the option ("steps: ..."), unless
  // `what` says where the name of the option goes (kOption).
  [[nodiscard]] std::string message() const;
  // The same for readers who know options by other names than their keys.
  [[nodiscard]] std::string message(OptionName name_of) const;

  // The error of an object that stands at `pointer`, as its owner sees it. One with a file stays what it is.
  [[nodiscard]] Error inside(std::string_view pointer) &&;
  [[nodiscard]] Error inside(std::string_view pointer) const&;
  // The same error in `file`, unless it has a file.
  [[nodiscard]] Error in_file(std::string_view file) &&;
  [[nodiscard]] Error in_file(std::string_view file) const&;
  // The same error of the option `key`, whose value it is about.
  [[nodiscard]] Error of_option(std::string_view key) &&;
  [[nodiscard]] Error of_option(std::string_view key) const&;
};

// Thrown by GOODPUT_CHECK: a number we computed breaks an invariant of ours. Only main() catches it.
class InternalError final : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// A T or the Error that prevented it. Member names follow std::expected (C++23), to become an alias of it.
template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a function returns its value
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): ... or its error
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // REQUIRES: has_value(). Throws std::bad_variant_access otherwise.
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // REQUIRES: !has_value().
  [[nodiscard]] const Error& error() const& { return std::get<1>(state_); }
  [[nodiscard]] Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

// Success without a value.
struct Ok {};
using Status = Result<Ok>;

[[noreturn]] void fail_check(const char* file, int line, const char* condition, const std::string& message);

}  // namespace goodput

// Aborts the run with an InternalError (exit code 2) when `condition` is false; on in every build type.
#define GOODPUT_CHECK(condition, message)                                               \
  do {                                                                                  \
    if (!(condition)) ::goodput::fail_check(__FILE__, __LINE__, #condition, (message)); \
  } while (false)

#define GOODPUT_CONCAT_INNER(a, b) a##b
#define GOODPUT_CONCAT(a, b) GOODPUT_CONCAT_INNER(a, b)
#define GOODPUT_TRY_INNER(result, declaration, expression) \
  auto result = (expression);                              \
  if (!result) return std::move(result).error();           \
  declaration = *std::move(result)

// GOODPUT_TRY(const auto rows, read(path)): declares `rows` or returns the error to our caller.
#define GOODPUT_TRY(declaration, expression) \
  GOODPUT_TRY_INNER(GOODPUT_CONCAT(goodput_result_, __LINE__), declaration, expression)

// The same for a Status, which has no value.
#define GOODPUT_TRY_STATUS_INNER(status, expression)                           \
  do {                                                                         \
    if (auto status = (expression); !status) return std::move(status).error(); \
  } while (false)
#define GOODPUT_TRY_STATUS(expression) \
  GOODPUT_TRY_STATUS_INNER(GOODPUT_CONCAT(goodput_status_, __LINE__), expression)
