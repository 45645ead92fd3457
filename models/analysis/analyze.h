// The second half of every analysis: from an arranged job to what its stragglers cost, why, and what to do.
#pragma once

#include <string>
#include <vector>

#include "models/analysis/arranged_job.h"
#include "sim/analysis/analysis.h"
#include "sim/base/errors.h"
#include "sim/whatif/whatif.h"

namespace goodput {

struct AnalysisOptions {
  WhatIfOptions whatif{};
  // Two interventions: with all that `fix` selects made ideal (sim/causes/fix.h), and with all ideal but what
  // `keep` selects. Empty lists make none.
  std::vector<std::string> fix{};
  std::vector<std::string> keep{};
};

// Deterministic; the number of threads changes no result. Fails if the ideal step takes no time (the error
// names ArrangedJob::file), and on selectors that select nothing.
Result<Analysis> analyze(const ArrangedJob& job, const AnalysisOptions& options);

// The job as it would have run with everything fixed that the selectors of `fix` name (sim/causes/fix.h): its
// causes are those that the fixed ones hide. Fails as analyze() does.
Result<ArrangedJob> repair(const ArrangedJob& job, const std::vector<std::string>& fix, unsigned threads);

}  // namespace goodput
