// The what-if analysis of one step of a running job: what `goodput whatif` says of the same rows, bit for
// bit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/analysis/analysis.h"
#include "sim/base/errors.h"
#include "sim/live/step_intake.h"
#include "sim/live/step_result.h"
#include "sim/ops/job_metadata.h"
#include "sim/ops/op_trace.h"

namespace goodput {

// What is known of a job besides its rows.
struct JobFacts {
  std::string name;
  JobMetadataFields metadata;
  std::string metadata_path;                  // empty: there is none
  std::map<std::int64_t, std::string> hosts;  // by rank, as its files name them
  std::int64_t world_size = 0;                // GPUs, as its files state; 0: they do not
  bool has_absent_chunks = false;             // TraceIntake's, of any of its files
};

struct AnalysedStep {
  StepResult result;
  OpTrace rows;  // with ids: what `whatif` comes to the same result with; empty where nothing was analysed
};

// What cannot be analysed is a result too: incomplete, refused, with the reason. `threads`: no result depends
// on them.
[[nodiscard]] AnalysedStep analyse_step(GatheredStep step, const JobFacts& job, unsigned threads);

// Faults that show in these steps only once those are fixed that `fix` selects; with what they cost then.
[[nodiscard]] std::vector<StepFault> find_hidden_faults(const std::vector<std::string>& fix,
                                                        const std::vector<OpTrace>& steps,
                                                        const JobFacts& job, unsigned threads);

// What several steps of one run together, given as rows of analyzed steps, say about the subject of `known`:
// what a fix of it alone would gain, its pace, since when. `known` itself where they say nothing about it.
[[nodiscard]] Verdict look_closer(const Verdict& known, const std::vector<OpTrace>& steps,
                                  const JobFacts& job, unsigned threads);

}  // namespace goodput
