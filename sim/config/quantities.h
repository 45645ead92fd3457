// Quantities as planners write them: 14d, 700k, 10%, 14d@95%.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/base/units.h"
#include "sim/config/config.h"

namespace goodput {

// A limit that is to hold with a probability.
template <typename T>
struct Limit {
  T value{};
  double probability = 0;
};
using Deadline = Limit<SimDuration>;
// USD. Probability 0: the mean is to be within it.
using Budget = Limit<double>;

// Error::what says what is wanted; for all.
[[nodiscard]] Result<SimDuration> parse_duration(std::string_view text);  // seconds, or with s, m, h, d, w
[[nodiscard]] Result<double> parse_amount(std::string_view text);         // 1e12, 700k, 1.2M, 3B, 15T
[[nodiscard]] Result<double> parse_share(std::string_view text);          // 10%, 0.1
[[nodiscard]] Result<Deadline> parse_deadline(std::string_view text);     // DURATION[@SHARE], 95% unless said
[[nodiscard]] Result<Budget> parse_budget(std::string_view text);         // AMOUNT[@SHARE]

// Numbers, or texts of this kind. A share is in [0, 1), a positive one in (0, 1].
[[nodiscard]] config::Value amount_value(double& value, config::Range range);
[[nodiscard]] config::Value amount_value(std::int64_t& value, std::int64_t least, std::int64_t most);
[[nodiscard]] config::Value share_value(double& value);
[[nodiscard]] config::Value positive_share_value(double& value);
[[nodiscard]] config::Value deadline_value(std::optional<Deadline>& value);
[[nodiscard]] config::Value budget_value(std::optional<Budget>& value);

}  // namespace goodput
