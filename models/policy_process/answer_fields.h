// The pieces that answers of policy processes consist of, as config reads them (sim/config/config.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/config/config.h"
#include "sim/job/recovery_policy.h"

namespace goodput {

// null: what `value` holds before.
[[nodiscard]] config::Value or_nothing(config::Value value);

[[nodiscard]] config::Value nanoseconds(SimDuration& value, std::int64_t least);
// A moment; null: never.
[[nodiscard]] config::Value moment(SimTime& value);
// A step that is yet to come; null: none.
[[nodiscard]] config::Value step_ahead(std::int64_t& value);

[[nodiscard]] config::Value phases(Phases& phases);
// Texts of one line, not many and not long.
[[nodiscard]] config::Value short_texts(std::vector<std::string>& texts);
[[nodiscard]] config::Value short_text(std::string& text);

[[nodiscard]] config::Fields config_fields(CheckpointRule& rule);
[[nodiscard]] Status config_finish(CheckpointRule& rule);
[[nodiscard]] config::Fields config_fields(CheckpointRules& rules);
[[nodiscard]] Status config_finish(CheckpointRules& rules);
[[nodiscard]] config::Fields config_fields(Pace& pace);

}  // namespace goodput
