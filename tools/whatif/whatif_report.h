// Everything `goodput whatif` has to say about a job, and its forms: text for people, JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "sim/base/json_fwd.h"
#include "sim/causes/pace.h"
#include "sim/causes/patterns.h"
#include "sim/causes/remedy.h"
#include "sim/causes/root_cause.h"
#include "sim/whatif/whatif.h"
#include "tools/chart/heatmap.h"
#include "tools/cli/command.h"
#include "tools/trace/load_recording.h"

namespace goodput {

// A step with some instances made ideal: what would fixing them buy?
struct Intervention {
  std::vector<std::string> fix;   // selectors of what is ideal,
  std::vector<std::string> keep;  // or of what stays as recorded
  double jct_s = 0;               // mean step time (span)
  double speedup = 1;  // over the replay without launch delays; of a fix of those: over the recording
};

// Replays the recording with all of `fix` (sim/causes/fix.h), and (separately) with all but the union of
// `keep` ideal. Empty lists give no intervention. Fails on bad selectors.
Result<std::vector<Intervention>> intervene(const WhatIfEngine& engine, const AnalysedJob& job,
                                            const Patterns& patterns, const std::vector<std::string>& fix,
                                            const std::vector<std::string>& keep);

struct WhatIfReport {
  const LoadedRecording& loaded;
  const WhatIf& result;
  const std::vector<RootCause>& causes;
  const std::vector<Intervention>& interventions;
  const PassPace& pace;
  double decompose_threshold;
};

// Headline, largest contributors, heat map of the workers, what it means and what to look at next.
[[nodiscard]] std::string whatif_text(const WhatIfReport& report, const Terminal& terminal);

// Of the rows and of every option that moves a number.
[[nodiscard]] std::uint64_t config_hash(const WhatIfReport& report);

// Appends the keys of `goodput.whatif/1` (docs/formats/whatif.md).
void add_whatif_json(const WhatIfReport& report, OrderedJson& json);

// The exact slowdown of every worker.
[[nodiscard]] Heatmap worker_heatmap(const WhatIfReport& report);

}  // namespace goodput
