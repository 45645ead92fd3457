#include "models/launch/shell_arithmetic.h"

#include <cctype>
#include <charconv>
#include <iterator>
#include <limits>

#include "sim/base/text.h"

namespace goodput::launch {
namespace {

using Number = std::optional<std::int64_t>;

class Arithmetic {
 public:
  Arithmetic(std::string_view text, const std::function<Number(const std::string&)>& value_of)
      : text_(text), value_of_(value_of) {}

  Number result() {
    const Number value = choice();
    skip_blanks();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(char wanted) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  // The longer operators of a level come first.
  template <std::size_t kSize>
  std::size_t take_one_of(const std::string_view (&operators)[kSize]) {
    skip_blanks();
    for (std::size_t i = 0; i < kSize; ++i) {
      if (!text_.substr(at_).starts_with(operators[i])) continue;
      at_ += operators[i].size();
      return i;
    }
    return kSize;
  }

  Number choice() {
    const Number condition = compare();
    if (!take('?')) return condition;
    const Number yes = choice();
    if (!take(':')) return std::nullopt;
    const Number no = choice();
    return condition ? (*condition != 0 ? yes : no) : std::nullopt;
  }

  // Levels of operators of two operands, the weakest first.
  Number compare(std::size_t level = 0) {
    constexpr std::string_view kOperators[][4] = {
        {"||", "||", "||", "||"}, {"&&", "&&", "&&", "&&"}, {"==", "!=", "==", "!="}, {"<=", ">=", "<", ">"}};
    if (level == std::size(kOperators)) return add();
    Number left = compare(level + 1);
    while (true) {
      const std::size_t op = take_one_of(kOperators[level]);
      if (op == 4) return left;
      const Number right = compare(level + 1);
      if (!left || !right) {
        left = std::nullopt;
        continue;
      }
      const bool results[][4] = {{*left != 0 || *right != 0},
                                 {*left != 0 && *right != 0},
                                 {*left == *right, *left != *right},
                                 {*left <= *right, *left >= *right, *left<*right, *left> * right}};
      left = results[level][op] ? 1 : 0;
    }
  }

  Number add() {
    Number left = multiply();
    while (left) {
      const bool plus = take('+');
      if (!plus && !take('-')) break;
      const Number right = multiply();
      std::int64_t sum = 0;
      if (!right ||
          (plus ? __builtin_add_overflow(*left, *right, &sum) : __builtin_sub_overflow(*left, *right, &sum)))
        return std::nullopt;
      left = sum;
    }
    return left;
  }

  Number multiply() {
    Number left = unary();
    while (left) {
      const char op = take('*') ? '*' : take('/') ? '/' : take('%') ? '%' : '\0';
      if (op == '\0') break;
      const Number right = unary();
      if (!right) return std::nullopt;
      std::int64_t product = 0;
      if (op == '*') {
        if (__builtin_mul_overflow(*left, *right, &product)) return std::nullopt;
        left = product;
      } else {
        if (*right == 0 || *left == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
        left = op == '/' ? *left / *right : *left % *right;
      }
    }
    return left;
  }

  Number unary() {
    if (++depth_ > 100) return std::nullopt;
    Number value;
    if (take('-')) {
      value = unary();
      if (value && *value != std::numeric_limits<std::int64_t>::min()) value = -*value;
    } else if (take('(')) {
      value = choice();
      if (!take(')')) value = std::nullopt;
    } else {
      value = operand();
    }
    --depth_;
    return value;
  }

  // Decimal; behind 0 octal, behind 0x hexadecimal.
  static Number literal(const std::string& word) {
    if (word.size() < 2 || word[0] != '0') return parse_integer(word);
    const bool is_hex = word[1] == 'x' || word[1] == 'X';
    std::int64_t value = 0;
    const char* const begin = word.data() + (is_hex ? 2 : 1);
    const char* const end = word.data() + word.size();
    const auto [read, failed] = std::from_chars(begin, end, value, is_hex ? 16 : 8);
    return failed == std::errc() && read == end ? Number(value) : std::nullopt;
  }

  // 8, NAME, $NAME, ${NAME}
  Number operand() {
    skip_blanks();
    const bool braces = text_.substr(at_).starts_with("${");
    if (braces) at_ += 2;
    if (!braces && take('$')) skip_blanks();
    std::string word;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      word += text_[at_++];
    if (braces && !take('}')) return std::nullopt;
    if (word.empty()) return std::nullopt;
    return std::isdigit(static_cast<unsigned char>(word[0])) != 0 && !braces ? literal(word)
                                                                             : value_of_(word);
  }

  std::string_view text_;
  const std::function<Number(const std::string&)>& value_of_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<std::int64_t> shell_arithmetic(
    std::string_view text, const std::function<std::optional<std::int64_t>(const std::string&)>& value_of) {
  return Arithmetic(text, value_of).result();
}

}  // namespace goodput::launch
