// The forms of a what-if analysis: text for people, JSON for programs.
#pragma once

#include <cstdint>
#include <string>

#include "sim/analysis/analysis.h"
#include "sim/base/json_fwd.h"
#include "sim/recording/recording.h"
#include "tools/chart/heatmap.h"
#include "tools/cli/command.h"

namespace goodput {

struct WhatIfTextOptions {
  Terminal terminal{};
  bool explains_all = false;  // also why each cause is not likely
};

// The verdict first, then the numbers behind it, a heat map of the workers, and the causes.
[[nodiscard]] std::string whatif_text(const Analysis& analysis, const WhatIfTextOptions& options);

// Of the rows and of every option that changes a number.
[[nodiscard]] std::uint64_t config_hash(const Recording& recording, const Analysis& analysis);

// Appends the keys of `goodput.whatif/1` (docs/formats/whatif.md).
void add_whatif_json(const Analysis& analysis, OrderedJson& json);

// The exact slowdown of every worker.
[[nodiscard]] Heatmap worker_heatmap(const Analysis& analysis);

}  // namespace goodput
