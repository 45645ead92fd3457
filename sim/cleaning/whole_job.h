// Whether a trace shows its whole job: workers and stages of which not one row was recorded leave no hole
// that an index would notice.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/cleaning/op_instances.h"
#include "sim/ops/op_trace.h"
#include "sim/ops/trace_index.h"

namespace goodput {

// Fails when a rank is recorded at two places, and when the first, inner or last stages are absent: no rows,
// embedding gradients that are reduced on stage 0 but not on the last one, passes whose gmc counts more
// stages than are recorded. What stage sends to one that is not there is models/megatron's to know.
Status check_whole_job(const TraceIndex& index);

// The workers, among all combinations of recorded dp ranks and stages from 0 on, without a row in any step,
// in words. None when there are rows of all.
[[nodiscard]] std::optional<std::string> absent_workers(const std::vector<StepInstances>& steps);

// Describes the first worker whose step numbers are all off by the same amount; empty if there is none. Start
// times that count from one origin show whether the worker really recorded other steps. `step_origin_s` is
// what was subtracted from the starts of each step (OpTraceReading).
[[nodiscard]] std::optional<std::string> miscounting_worker(
    const OpTrace& trace, const std::map<std::int64_t, double>& step_origin_s);

}  // namespace goodput
