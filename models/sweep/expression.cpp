#include "models/sweep/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr int kDeepestExpression = 64;

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

// Recursive descent: sum = product {(+|-) product}, product = factor {(*|/) factor}, factor = number | name |
// (sum) | (+|-) factor.
class Expression::Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) { result_.text_ = text; }

  Result<Expression> parse() {
    GOODPUT_TRY_STATUS(sum());
    if (!rest_.empty()) return wanted("an operator");
    return std::move(result_);
  }

 private:
  Status sum() {
    GOODPUT_TRY_STATUS(product());
    while (is_next('+') || is_next('-')) {
      const Term::Kind kind = take() == '+' ? Term::Kind::kAdd : Term::Kind::kSubtract;
      GOODPUT_TRY_STATUS(product());
      result_.terms_.push_back({kind, 0, 0});
    }
    return Ok{};
  }

  Status product() {
    GOODPUT_TRY_STATUS(factor());
    while (is_next('*') || is_next('/')) {
      const Term::Kind kind = take() == '*' ? Term::Kind::kMultiply : Term::Kind::kDivide;
      GOODPUT_TRY_STATUS(factor());
      result_.terms_.push_back({kind, 0, 0});
    }
    return Ok{};
  }

  Status factor() {
    if (++depth_ > kDeepestExpression) return Error{"the expression is nested too deeply"};
    if (is_next('-') || is_next('+')) {
      const bool is_minus = take() == '-';
      GOODPUT_TRY_STATUS(factor());
      if (is_minus) result_.terms_.push_back({Term::Kind::kNegate, 0, 0});
    } else if (is_next('(')) {
      take();
      GOODPUT_TRY_STATUS(sum());
      if (!is_next(')')) return wanted("a closing parenthesis");
      take();
    } else {
      GOODPUT_TRY_STATUS(operand());
    }
    --depth_;
    return Ok{};
  }

  Status operand() {
    skip_spaces();
    if (!rest_.empty() && starts_name(rest_.front())) {
      take_name();
      return Ok{};
    }
    Term term;
    const char* const begin = rest_.data();
    const bool is_number = !rest_.empty() && (is_digit(rest_.front()) || rest_.front() == '.');
    const auto [end, code] = std::from_chars(begin, begin + rest_.size(), term.number);
    if (!is_number || code != std::errc{}) return wanted("a number, a name or a parenthesis");
    rest_.remove_prefix(static_cast<std::size_t>(end - begin));
    skip_spaces();
    result_.terms_.push_back(term);
    return Ok{};
  }

  void take_name() {
    const auto end =
        std::find_if(rest_.begin(), rest_.end(), [](char c) { return !starts_name(c) && !is_digit(c); });
    const std::string name(rest_.begin(), end);
    rest_.remove_prefix(name.size());
    skip_spaces();
    std::vector<std::string>& names = result_.names_;
    auto known = std::find(names.begin(), names.end(), name);
    if (known == names.end()) known = names.insert(names.end(), name);
    result_.terms_.push_back({Term::Kind::kName, 0, static_cast<std::size_t>(known - names.begin())});
  }

  bool is_next(char c) {
    skip_spaces();
    return !rest_.empty() && rest_.front() == c;
  }
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  [[nodiscard]] Error wanted(std::string_view what) const {
    const std::string found = rest_.empty() ? "the end" : in_quotes(rest_);
    return Error{fmt::format("{} is not a valid expression: expected {} at {}", in_quotes(result_.text_),
                             what, found)};
  }

  std::string_view rest_;
  Expression result_;
  int depth_ = 0;
};

Result<Expression> Expression::parse(std::string_view text) {
  return Parser(text).parse();
}

Result<double> Expression::value(const std::function<Result<double>(const std::string&)>& value_of) const {
  std::vector<double> stack;
  const auto pop = [&stack] {
    const double top = stack.back();
    stack.pop_back();
    return top;
  };
  for (const Term& term : terms_) {
    if (term.kind == Term::Kind::kNumber) {
      stack.push_back(term.number);
      continue;
    }
    if (term.kind == Term::Kind::kName) {
      GOODPUT_TRY(const double value, value_of(names_[term.name]));
      stack.push_back(value);
      continue;
    }
    const double right = pop();
    switch (term.kind) {
      case Term::Kind::kAdd:
        stack.back() += right;
        break;
      case Term::Kind::kSubtract:
        stack.back() -= right;
        break;
      case Term::Kind::kMultiply:
        stack.back() *= right;
        break;
      case Term::Kind::kDivide:
        stack.back() /= right;
        break;
      default:
        stack.push_back(-right);
    }
  }
  if (!std::isfinite(stack.back())) return Error{fmt::format("{} is not a finite number", text_)};
  return stack.back();
}

bool is_variable_name(std::string_view text) {
  return !text.empty() && starts_name(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return starts_name(c) || is_digit(c); });
}

std::string number_json(double number) {
  constexpr double kMostExactWhole = 9007199254740992;  // 2^53
  if (std::trunc(number) == number && std::abs(number) <= kMostExactWhole)
    return fmt::format("{}", static_cast<std::int64_t>(number));
  return fmt::format("{}", number);
}

}  // namespace goodput
