// Arithmetic with names.
#include "models/sweep/expression.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "sim/base/random.h"

namespace goodput {
namespace {

// With spares = 8, active = 128; "" where there is none.
std::string value_of_text(const std::string& text) {
  const std::map<std::string, double> variables = {{"spares", 8}, {"active", 128}, {"x_1", 0.5}};
  const auto expression = Expression::parse(text);
  if (!expression) return expression.error().what;
  const auto value =
      expression->value([&](const std::string& name) -> Result<double> { return variables.at(name); });
  return value ? number_json(*value) : value.error().what;
}

// An expression with its value, built from the leaves up, with every parenthesis and many spaces.
struct Built {
  std::string text;
  double value;
};
Built random_expression(RandomStream& random, int depth) {
  if (depth == 0 || random.below(4) == 0) {
    const double number = static_cast<double>(random.below(9)) + 1;
    return {number_json(number), number};
  }
  const Built a = random_expression(random, depth - 1);
  const Built b = random_expression(random, depth - 1);
  const std::string space(random.below(3), ' ');
  const auto joined = [&](char op) { return "(" + a.text + space + op + space + b.text + ")"; };
  switch (random.below(5)) {
    case 0:
      return {joined('+'), a.value + b.value};
    case 1:
      return {joined('-'), a.value - b.value};
    case 2:
      return {joined('*'), a.value * b.value};
    case 3:
      return {"-" + a.text, -a.value};
    default:
      return {b.value == 0 ? a.text : joined('/'), b.value == 0 ? a.value : a.value / b.value};
  }
}

}  // namespace

TEST_CASE("expression: the operators bind as in school") {
  CHECK(value_of_text("128 + spares") == "136");
  CHECK(value_of_text("active+spares") == "136");
  CHECK(value_of_text("2 + 3 * 4 - 6 / 4") == "12.5");
  CHECK(value_of_text("2 - 3 - 4") == "-5");
  CHECK(value_of_text("64 / 4 / 2") == "8");
  CHECK(value_of_text("-(spares - 10) * 3") == "6");
  CHECK(value_of_text("+1.5e3 * x_1") == "750");
  CHECK(value_of_text("--2") == "2");
  CHECK(value_of_text(" spares ") == "8");
}

TEST_CASE("expression: what it says it is, for any nesting") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    INFO("seed ", seed);
    RandomStream random(seed, "expression");
    const Built built = random_expression(random, 4);
    INFO(built.text);
    CHECK(value_of_text(built.text) == number_json(built.value));
  }
}

TEST_CASE("expression: names come in the order in which they come up, and one alone is any value") {
  const Expression both = Expression::parse("b + a * b").value();
  CHECK(both.names() == std::vector<std::string>{"b", "a"});
  CHECK_FALSE(both.is_name());
  CHECK(Expression::parse("interval").value().is_name());
  CHECK_FALSE(Expression::parse("3").value().is_name());
}

TEST_CASE("expression: what is none says where") {
  CHECK(value_of_text("128 +") ==
        "\"128 +\" is not a valid expression: expected a number, a name or a parenthesis at the end");
  CHECK(value_of_text("1 2") == "\"1 2\" is not a valid expression: expected an operator at \"2\"");
  CHECK(value_of_text("(1 + 2") ==
        "\"(1 + 2\" is not a valid expression: expected a closing parenthesis at the end");
  CHECK(value_of_text("2 ^ 3") == "\"2 ^ 3\" is not a valid expression: expected an operator at \"^ 3\"");
  CHECK(value_of_text("1 / (spares - 8)") == "1 / (spares - 8) is not a finite number");
  CHECK(value_of_text(std::string(100, '(') + "1" + std::string(100, ')')) ==
        "the expression is nested too deeply");
}

TEST_CASE("expression: numbers are written in the fewest digits") {
  CHECK(number_json(136) == "136");
  CHECK(number_json(-0.0) == "0");
  CHECK(number_json(0.1) == "0.1");
  CHECK(number_json(1e15) == "1000000000000000");
  CHECK(number_json(1e300) == "1e+300");
}

}  // namespace goodput
