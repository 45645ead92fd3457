// What `goodput synth` says about the trace it wrote: the ground truth.
#pragma once

#include <cstdint>
#include <string>

#include "models/plan/synth_plan.h"
#include "models/synth/synthetic_trace.h"
#include "sim/base/json_fwd.h"

namespace goodput {

struct SynthResult {
  const SynthPlan& plan;
  const SyntheticStep& step;
  const SyntheticTrace& trace;
  std::string path;
  std::string format;
};

[[nodiscard]] std::string synth_text(const SynthResult& result);

// Adds the members of goodput.synth-truth/1 (docs/formats/synth-truth.md).
void add_synth_json(const SynthResult& result, OrderedJson& json);

// Job metadata as whatif's --meta reads it.
[[nodiscard]] std::string job_metadata_yaml(const SynthResult& result);

}  // namespace goodput
