// A verdict in JSON, as results, the monitor's API and alerts have it (docs/formats/whatif.md, "verdict").
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/analysis/verdict.h"
#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"

namespace goodput {

// null without one.
[[nodiscard]] OrderedJson verdict_json(const std::optional<Verdict>& verdict);

// For storage: the same as text, empty without one, and back. Fails on a text that verdict_text() never
// wrote.
[[nodiscard]] std::string verdict_text(const std::optional<Verdict>& verdict);
Result<std::optional<Verdict>> read_verdict(std::string_view text);

}  // namespace goodput
