#include "models/analysis/analyze.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/base/statistics.h"
#include "sim/causes/doubt.h"
#include "sim/causes/fix.h"
#include "sim/causes/patterns.h"
#include "sim/causes/rank_work.h"
#include "sim/causes/remedy.h"
#include "sim/causes/slow_ranks.h"
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
                                            const Patterns* patterns, const AnalysisOptions& options) {
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

Result<ArrangedJob> repair(const ArrangedJob& job, const std::vector<std::string>& fix, unsigned threads) {
  const WhatIfEngine engine(job.graph, job.recording, {.jobs = threads});
  Result<WhatIf> result = engine.analyse();
  if (!result) return std::move(result).error().in_file(job.file);
  const AnalysedJob analysed{job.graph, job.recording, *result, threads};
  const bool is_by_rank = job.recording.naming == WorkerGrid::Naming::kByRank;
  std::optional<Patterns> patterns;
  if (!is_by_rank) patterns = find_patterns(analysed);
  GOODPUT_TRY(Remedy remedy, remedy_of(analysed, patterns ? &*patterns : nullptr, fix));
  ArrangedJob fixed = job;
  fixed.recording = repaired(analysed, std::move(remedy));
  return fixed;
}

Result<Analysis> analyze(const ArrangedJob& job, const AnalysisOptions& options) {
  const WhatIfEngine engine(job.graph, job.recording, options.whatif);
  Result<WhatIf> result = engine.analyse();
  if (!result) return std::move(result).error().in_file(job.file);
  WhatIf& whatif = *result;
  const AnalysedJob analysed{job.graph, job.recording, whatif, options.whatif.jobs};
  const bool is_by_rank = job.recording.naming == WorkerGrid::Naming::kByRank;
  std::optional<Patterns> patterns;
  if (!is_by_rank) patterns = find_patterns(analysed);
  GOODPUT_TRY(std::vector<Intervention> interventions,
              intervene(engine, analysed, patterns ? &*patterns : nullptr, options));
  std::optional<Doubt> doubt = job.doubt ? job.doubt : find_doubt(analysed);
  std::optional<RankWork> rank_work;
  if (is_by_rank) rank_work = measure_rank_work(job.recording);
  std::vector<RootCause> causes =
      is_by_rank ? find_slow_ranks(analysed, *rank_work, doubt)
                 : find_root_causes(analysed, *patterns, options.whatif.decompose_threshold, doubt);
  Analysis analysis{.job = job.job,
                    .grid = job.recording,
                    .trace = job.trace,
                    .cleaning = job.cleaning,
                    .clocks = job.clocks,
                    .decompose_threshold = options.whatif.decompose_threshold,
                    .whatif = {},
                    .message_share = share_of_messages(analysed),
                    .worker_pace = {},
                    .correlation = {},
                    .rank_work = std::move(rank_work),
                    .doubt = std::move(doubt),
                    .causes = std::move(causes),
                    .interventions = std::move(interventions),
                    .verdict = {}};
  if (patterns) {
    analysis.worker_pace = std::move(patterns->pace.worker);
    if (patterns->micro_batches) analysis.correlation = patterns->micro_batches->correlation;
  }
  if (analysis.trace.has_inferred_waits)
    analysis.trace.notes.push_back(
        fmt::format("waits were inferred from recorded times; the replayed step time differs from the "
                    "recorded one by {:.1f} %",
                    100 * whatif.discrepancy));
  analysis.verdict = find_verdict(whatif, job.recording, analysis.causes, analysis.doubt);
  analysis.whatif = std::move(whatif);
  return analysis;
}

}  // namespace goodput
