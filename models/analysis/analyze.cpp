#include "models/analysis/analyze.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/base/statistics.h"
#include "sim/causes/doubt.h"
#include "sim/causes/fix.h"
#include "sim/causes/patterns.h"
#include "sim/causes/remedy.h"
#include "sim/recording/instance_set.h"

namespace goodput {
namespace {

Result<InstanceSet> select_union(const Recording& recording, const std::vector<std::string>& selectors) {
  InstanceSet set;
  for (const std::string& selector : selectors) {
    GOODPUT_TRY(InstanceBox box, select(recording, selector));
    set.boxes.push_back(std::move(box));
  }
  return set;
}

Result<std::vector<Intervention>> intervene(const WhatIfEngine& engine, const AnalysedJob& job,
                                            const Patterns& patterns, const AnalysisOptions& options) {
  std::vector<Intervention> interventions;
  if (!options.fix.empty()) {
    GOODPUT_TRY(Remedy remedy, remedy_of(job, patterns, options.fix));
    const Gain gain = gain_of(job, std::move(remedy));
    interventions.push_back({options.fix, {}, gain.step_s, gain.gain});
  }
  if (!options.keep.empty()) {
    GOODPUT_TRY(const InstanceSet recorded, select_union(job.recording, options.keep));
    const double jct_s = mean(engine.simulate(recorded).span_s);
    interventions.push_back({{}, options.keep, jct_s, mean(job.result.nodelay.span_s) / jct_s});
  }
  return interventions;
}

double share_of_messages(const AnalysedJob& job) {
  if (job.recording.pp_size == 1) return 0;
  Remedy remedy;
  remedy.messages_take_no_time = true;
  return std::max(0.0, 1 - 1 / gain_of(job, std::move(remedy)).gain);
}

}  // namespace

Result<Analysis> analyze(const ArrangedJob& job, const AnalysisOptions& options) {
  const WhatIfEngine engine(job.graph, job.recording, options.whatif);
  Result<WhatIf> result = engine.analyse();
  if (!result) return std::move(result).error().in_file(job.file);
  WhatIf& whatif = *result;
  const AnalysedJob analysed{job.graph, job.recording, whatif, options.whatif.jobs};
  Patterns patterns = find_patterns(analysed);
  GOODPUT_TRY(std::vector<Intervention> interventions, intervene(engine, analysed, patterns, options));
  std::optional<Doubt> doubt = find_doubt(analysed);
  std::vector<RootCause> causes =
      find_root_causes(analysed, patterns, options.whatif.decompose_threshold, doubt);
  Analysis analysis{.job = job.job,
                    .grid = job.recording,
                    .trace = job.trace,
                    .cleaning = job.cleaning,
                    .clocks = job.clocks,
                    .decompose_threshold = options.whatif.decompose_threshold,
                    .whatif = {},
                    .message_share = share_of_messages(analysed),
                    .worker_pace = std::move(patterns.pace.worker),
                    .correlation = {},
                    .doubt = std::move(doubt),
                    .causes = std::move(causes),
                    .interventions = std::move(interventions),
                    .verdict = {}};
  if (patterns.micro_batches) analysis.correlation = patterns.micro_batches->correlation;
  analysis.verdict = find_verdict(whatif, job.recording, analysis.causes, analysis.doubt);
  analysis.whatif = std::move(whatif);
  return analysis;
}

}  // namespace goodput
