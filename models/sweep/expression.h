// Arithmetic with names, as sweeps write it: "128 + 2 * (spares - 1)".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

// Numbers, names, + - * / and parentheses. Fixed once parsed.
class Expression {
 public:
  // The Error has no place.
  static Result<Expression> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }
  // In the order in which they come up, each once.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  // It is one name and nothing else: what has it may be any value, not only a number.
  [[nodiscard]] bool is_name() const { return terms_.size() == 1 && terms_[0].kind == Term::Kind::kName; }

  // `value_of`: of each of names(); its errors, and a result that is no finite number, are ours. An Error of
  // our own has no place. REQUIRES: parsed.
  [[nodiscard]] Result<double> value(const std::function<Result<double>(const std::string&)>& value_of) const;

 private:
  class Parser;
  // In postfix order.
  struct Term {
    enum class Kind : std::uint8_t { kNumber, kName, kAdd, kSubtract, kMultiply, kDivide, kNegate };

    Kind kind = Kind::kNumber;
    double number = 0;
    std::size_t name = 0;  // of names_
  };

  std::string text_{};
  std::vector<std::string> names_{};
  std::vector<Term> terms_{};
};

// A name of one's own, of variables: letters, digits and underscores, no digit first.
[[nodiscard]] bool is_variable_name(std::string_view text);

// A finite number as JSON in the fewest digits; whole ones as integers.
[[nodiscard]] std::string number_json(double number);

}  // namespace goodput
