#include "models/check/tolerance.h"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::string_view kForms =
    "must be \"exact\", \"1 %\", \"0.02\" or, with several trials, \"1 % at 95 %\"";

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Of "95 %".
std::optional<double> percent(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  return parse_number(without_blanks(text));
}

}  // namespace

Result<Tolerance> Tolerance::parse(std::string_view text) {
  const Error error{fmt::format("{}, not {}", kForms, in_quotes(text))};
  if (without_blanks(text) == "exact") return Tolerance{};
  Tolerance tolerance;
  const auto at = text.find(" at ");
  if (at != std::string_view::npos) {
    const auto sure = percent(without_blanks(text.substr(at + 4)));
    if (!sure) return error;
    if (!(*sure >= 50 && *sure < 100))
      return Error{
          fmt::format("must have a confidence of at least 50 % and below 100 %, not {}", in_quotes(text))};
    tolerance.confidence = *sure / 100;
  }
  const std::string_view size = without_blanks(text.substr(0, at));
  const auto relative = percent(size);
  const auto number = relative ? relative : parse_number(size);
  if (!number) return error;
  if (*number < 0) return Error{fmt::format("must be 0 or more, not {}", in_quotes(text))};
  tolerance.kind = relative ? Kind::kRelative : Kind::kAbsolute;
  tolerance.size = relative ? *number / 100 : *number;
  return tolerance;
}

std::string Tolerance::text() const {
  if (kind == Kind::kExact) return "exact";
  const std::string amount =
      is_relative() ? fmt::format("{:.6g} %", 100 * size) : fmt::format("{:.6g}", size);
  return confidence ? fmt::format("{} at {:.6g} %", amount, 100 * *confidence) : amount;
}

std::optional<double> Tolerance::change(double baseline, double figure) const {
  if (kind == Kind::kAbsolute) return figure - baseline;
  if (baseline == figure) return 0;
  if (baseline == 0) return std::nullopt;
  return (figure - baseline) / std::abs(baseline);
}

bool Tolerance::allows(double baseline, double figure) const {
  if (kind == Kind::kExact) return baseline == figure;
  const std::optional<double> moved = change(baseline, figure);
  return moved && std::abs(*moved) <= size;
}

}  // namespace goodput
