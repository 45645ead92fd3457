// How failures travel: bad input as a Result, our own bugs as an InternalError.
//
// Exceptions of third-party code are turned into a Result by the function that calls it.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace goodput {

// One thing wrong with the input. `where` is a file with a line or a JSON pointer (empty: the command line),
// `what` says what is wrong and how to mend it, in one line.
struct Error {
  std::string where;
  std::string what;

  [[nodiscard]] std::string message() const { return where.empty() ? what : where + ": " + what; }
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
#define GOODPUT_TRY_STATUS(expression)                                                                 \
  do {                                                                                                 \
    if (auto goodput_status = (expression); !goodput_status) return std::move(goodput_status).error(); \
  } while (false)
