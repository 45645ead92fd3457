// The raw logs of the SmartMoE artifact: a file table_iter<I>_rank<R>.log an iteration and rank, in it a line
// a layer, `layer:[[counts by expert], ...]` with a list a micro-batch. Counts are integers that Python
// printed as floats.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/text.h"
#include "traces/io/csv_lines.h"
#include "traces/io/decimal.h"
#include "traces/routing/routing_columns.h"
#include "traces/routing/routing_format.h"

namespace goodput {
namespace {

constexpr double kMostTokens = 9007199254740992;  // 2^53: floats beyond are no counts

bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
}

// A place in a line, which ends with a '\n' behind its last character.
class Cursor {
 public:
  explicit Cursor(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {}

  [[nodiscard]] bool at_end() const { return at_ == end_; }
  [[nodiscard]] std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }

  bool accept(char c) {
    while (at_ != end_ && *at_ == ' ') ++at_;
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  std::optional<std::int64_t> integer() {
    std::int64_t value = 0;
    if (at_ == end_ || !is_digit(*at_)) return std::nullopt;
    const auto [end, error] = std::from_chars(at_, end_, value);
    if (error != std::errc{}) return std::nullopt;
    at_ = end;
    return value;
  }
  // A number of tokens; nothing when it is negative or not whole.
  std::optional<std::int64_t> tokens() {
    while (at_ != end_ && *at_ == ' ') ++at_;
    const auto number = scan_plain_decimal(at_);
    if (!number) return std::nullopt;
    const double value = number->decimal.value;
    if (value < 0 || value > kMostTokens || value != std::floor(value)) return std::nullopt;
    at_ += number->length;
    return static_cast<std::int64_t>(value);
  }

 private:
  const char* at_;
  const char* end_;
};

struct LogName {
  std::int64_t iteration = 0;
  std::int64_t rank = 0;
};

std::optional<std::int64_t> take_number_after(std::string_view prefix, std::string_view& text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  Cursor cursor(text);
  const auto number = cursor.integer();
  text = cursor.rest();
  return number;
}

Result<LogName> parse_name(const std::string& path) {
  std::string_view text(path);
  text.remove_prefix(text.rfind('/') + 1);  // npos + 1 is 0
  const auto iteration = take_number_after("table_iter", text);
  const auto rank = take_number_after("_rank", text);
  if (!iteration || !rank || (text != ".log" && text != ".log.gz")) {
    return Error{"the file name must contain the iteration and the rank: table_iter<I>_rank<R>.log",
                 {.file = path}};
  }
  return LogName{*iteration, *rank};
}

class LogLines {
 public:
  LogLines(const LogName& name, RoutingRows& rows) : name_(name), rows_(rows) {}

  Status take(std::string_view line, std::size_t number) {
    if (line.empty()) return Ok{};
    Cursor cursor(line);
    const auto layer = cursor.integer();
    if (!layer || *layer >= kMostRoutingExperts || !cursor.accept(':') || !cursor.accept('[')) {
      return malformed(cursor, "expected LAYER:[[counts], ...]");
    }
    std::int64_t micro_batch = 0;
    do {
      GOODPUT_TRY_STATUS(take_counts(cursor));
      GOODPUT_TRY_STATUS(rows_.expect_experts(counts_.size(), number));
      GOODPUT_TRY(const auto row,
                  rows_.add({name_.iteration, *layer, name_.rank, micro_batch++}, number, counts_.size()));
      std::copy(counts_.begin(), counts_.end(), row.begin());
    } while (cursor.accept(','));
    if (!cursor.accept(']') || !cursor.rest().empty())
      return malformed(cursor, "expected ] and the end of the line");
    return Ok{};
  }

 private:
  // [852.0, 20.0] to counts_.
  Status take_counts(Cursor& cursor) {
    counts_.clear();
    if (!cursor.accept('[')) return malformed(cursor, "expected a list of counts");
    do {
      const auto tokens = cursor.tokens();
      if (!tokens) return malformed(cursor, "expected a whole number of tokens");
      counts_.push_back(*tokens);
    } while (cursor.accept(','));
    if (!cursor.accept(']')) return malformed(cursor, "expected , or ]");
    if (counts_.size() <= static_cast<std::size_t>(kMostRoutingExperts)) return Ok{};
    return Error{
        fmt::format("has {} experts, but at most {} are supported", counts_.size(), kMostRoutingExperts)};
  }

  static Error malformed(const Cursor& cursor, std::string_view wish) {
    constexpr std::size_t kShownBytes = 24;
    if (cursor.at_end()) return {fmt::format("the line ends early: {}", wish)};
    return {fmt::format("cannot read the line from {} on: {}",
                        in_quotes(cursor.rest().substr(0, kShownBytes)), wish)};
  }

  LogName name_;
  RoutingRows& rows_;
  std::vector<std::int64_t> counts_;
};

bool is_smartmoe_log(std::string_view head) {
  Cursor cursor(head);
  return cursor.integer() && cursor.accept(':') && cursor.accept('[') && cursor.accept('[');
}

Status append_smartmoe_log(ByteSource& source, RoutingRows& rows) {
  GOODPUT_TRY(const LogName name, parse_name(source.path()));
  LogLines log(name, rows);
  return for_each_line(source, kRoutingBlockBytes,
                       [&](std::string_view line, std::size_t number) { return log.take(line, number); });
}

}  // namespace

RoutingFormat routing_format_smartmoe_log() {
  return {.name = "smartmoe_log",
          .summary =
              "expert routing: table_iter<I>_rank<R>.log of the SmartMoE artifact, one file per iteration "
              "and rank",
          .extensions = {},
          .matches = is_smartmoe_log,
          .append_file = append_smartmoe_log,
          .write = nullptr};
}

}  // namespace goodput
