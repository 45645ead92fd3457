#include "sim/config/quantities.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr double kUsualProbability = 0.95;
constexpr double kLongestPlanYears = 100;

// A number and what follows it; nothing where there is no finite number.
struct NumberAndUnit {
  double number = 0;
  std::string_view unit{};
};
std::optional<NumberAndUnit> number_and_unit(std::string_view text) {
  NumberAndUnit parts;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parts.number);
  if (error != std::errc{} || !std::isfinite(parts.number)) return std::nullopt;
  parts.unit = text.substr(static_cast<std::size_t>(end - text.data()));
  return parts;
}

struct Unit {
  std::string_view name;
  double factor;
};

// `wanted` describes it.
template <std::size_t kCount>
Result<double> in_units(std::string_view text, const Unit (&units)[kCount], std::string_view wanted) {
  const auto parts = number_and_unit(text);
  if (parts) {
    for (const Unit& unit : units) {
      if (parts->unit == unit.name) return parts->number * unit.factor;
    }
  }
  return Error{fmt::format("must be {1}, not {0}", in_quotes(text), wanted)};
}

constexpr Unit kDurationUnits[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"w", 7 * 86400}};
constexpr Unit kAmountUnits[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}};
constexpr Unit kShareUnits[] = {{"", 1}, {"%", 0.01}};

constexpr std::string_view kDurationWanted = "a duration in seconds, or with a unit as in 90m, 36h, 14d, 2w";

// The limit and what follows "@"; `otherwise` without one.
Result<std::pair<std::string_view, double>> limit_parts(std::string_view text, double otherwise,
                                                        std::string_view example) {
  const auto at = text.find('@');
  if (at == std::string_view::npos) return std::pair{text, otherwise};
  GOODPUT_TRY(const double probability, parse_share(text.substr(at + 1)));
  if (probability > 0 && probability < 1) return std::pair{text.substr(0, at), probability};
  return Error{fmt::format("must have a probability between 0 and 1 after the @ (for example {1}), not {0}",
                           in_quotes(text), example)};
}

// Of a value that is a number, or a text that `parse` reads.
template <typename Parse, typename Take>
auto number_or_text(std::string wanted, Parse parse, Take take) {
  return [wanted = std::move(wanted), parse, take](const Json& from, const config::Place& place) -> Status {
    if (!from.is_number() && !from.is_string()) return place.not_wanted(from, wanted);
    auto parsed = parse(from.is_string() ? from.get<std::string>() : from.dump());
    if (!parsed) return place.error(parsed.error().what);
    if (!take(*std::move(parsed))) return place.not_wanted(from, wanted);
    return Ok{};
  };
}

bool is_within(double value, const config::Range& range) {
  return value <= range.most && (range.is_least_excluded ? value > range.least : value >= range.least);
}

std::string share_text(double share) {
  return fmt::format("{:.6g}%", share * 100);
}

}  // namespace

Result<SimDuration> parse_duration(std::string_view text) {
  GOODPUT_TRY(const double seconds, in_units(text, kDurationUnits, kDurationWanted));
  if (seconds > 0 && seconds <= kLongestPlanYears * 365 * 86400) return from_seconds(seconds);
  return Error{fmt::format("must be {1}, above 0 and at most {2} years, not {0}", in_quotes(text),
                           kDurationWanted, kLongestPlanYears)};
}

Result<double> parse_amount(std::string_view text) {
  return in_units(text, kAmountUnits, "a number, or with a suffix as in 700k, 1.2M, 3B, 15T");
}

Result<double> parse_share(std::string_view text) {
  return in_units(text, kShareUnits, "a share such as 10% or 0.1");
}

Result<Deadline> parse_deadline(std::string_view text) {
  GOODPUT_TRY(const auto parts, limit_parts(text, kUsualProbability, "14d@95%"));
  GOODPUT_TRY(const SimDuration by, parse_duration(parts.first));
  return Deadline{by, parts.second};
}

Result<Budget> parse_budget(std::string_view text) {
  GOODPUT_TRY(const auto parts, limit_parts(text, 0, "700k@95%"));
  GOODPUT_TRY(const double usd, parse_amount(parts.first));
  if (usd > 0) return Budget{usd, parts.second};
  return Error{
      fmt::format("must be an amount in USD above 0, such as 700k or 700k@95%, not {}", in_quotes(text))};
}

config::Value amount_value(double& value, config::Range range) {
  const std::string wanted = config::number(value, range).wanted;
  const auto take = [&value, range](double given) {
    value = given;
    return is_within(given, range);
  };
  return {
      wanted, number_or_text(wanted, parse_amount, take), [&value](OrderedJson& into) { into = value; }, {}};
}

config::Value amount_value(std::int64_t& value, std::int64_t least, std::int64_t most) {
  const std::string wanted = config::integer(value, least, most).wanted;
  const auto take = [&value, least, most](double given) {
    if (given != std::floor(given) ||
        !is_within(given, config::between(static_cast<double>(least), static_cast<double>(most))))
      return false;
    value = static_cast<std::int64_t>(given);
    return true;
  };
  return {
      wanted, number_or_text(wanted, parse_amount, take), [&value](OrderedJson& into) { into = value; }, {}};
}

config::Value share_value(double& value) {
  const std::string wanted = "a share of at least 0 and below 1, such as 0.1 or \"10%\"";
  const auto take = [&value](double given) {
    value = given;
    return given >= 0 && given < 1;
  };
  return {
      wanted, number_or_text(wanted, parse_share, take), [&value](OrderedJson& into) { into = value; }, {}};
}

config::Value positive_share_value(double& value) {
  const std::string wanted = "a share above 0 and at most 1, such as 0.25 or \"25%\"";
  const auto take = [&value](double given) {
    value = given;
    return given > 0 && given <= 1;
  };
  return {
      wanted, number_or_text(wanted, parse_share, take), [&value](OrderedJson& into) { into = value; }, {}};
}

config::Value deadline_value(std::optional<Deadline>& value) {
  const std::string wanted = "a duration with a probability, such as \"14d@95%\"";
  const auto take = [&value](const Deadline& given) {
    value = given;
    return true;
  };
  const auto write = [&value](OrderedJson& into) {
    if (value) into = fmt::format("{:.15g}s@{}", to_seconds(value->value), share_text(value->probability));
  };
  return {wanted, number_or_text(wanted, parse_deadline, take), write, {}};
}

config::Value budget_value(std::optional<Budget>& value) {
  const std::string wanted =
      "an amount in USD, such as \"700k\" (for the mean) or \"700k@95%\" (for 95 % of runs)";
  const auto take = [&value](const Budget& given) {
    value = given;
    return true;
  };
  const auto write = [&value](OrderedJson& into) {
    if (!value) return;
    into = fmt::format("{:.15g}", value->value);
    if (value->probability > 0)
      into = fmt::format("{:.15g}@{}", value->value, share_text(value->probability));
  };
  return {wanted, number_or_text(wanted, parse_budget, take), write, {}};
}

}  // namespace goodput
