#include "sim/causes/slow_ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "sim/base/statistics.h"
#include "sim/recording/op_labels.h"

namespace goodput {
namespace {

constexpr std::size_t kRanksInEvidence = 3;
constexpr double kMostOfIt = 0.5;  // share of the extra work above which its op type is named

// `rank 3 works 101 ms longer per step than its peers, mostly in data-loader`
std::string describe(const Recording& recording, const RankWork::SlowRank& slow) {
  const std::string type = slow.op_type_share >= kMostOfIt ? fmt::format(", mostly in {}", slow.op_type) : "";
  return fmt::format("rank {} works {:.3g} ms longer per step than its peers{}", recording.ranks[slow.worker],
                     1e3 * slow.extra_s, type);
}

std::string why_none(const RankWork& work, const RootCause& cause) {
  if (!cause.value) return "every rank has a different role, so there are no peers to compare with";
  if (work.slow.empty())
    return "no rank's extra work, compared with its peers, exceeds both 5 % of a step and the normal "
           "variation among peers";
  return cause.gain.value_or(1) < kSlowdownWorthExplaining ? "fixing the slowest rank gains less than 1 %"
                                                           : "";
}

}  // namespace

std::vector<RootCause> find_slow_ranks(const AnalysedJob& job, const RankWork& work,
                                       const std::optional<Doubt>& doubt) {
  RootCause cause;
  cause.name = "slow-rank";
  cause.criterion = "extra work of the slowest rank compared with its peers, as a share of the step";
  cause.threshold = kSlowShare;
  const double step_s = mean(job.recording.step_base_s);
  for (const std::optional<double>& extra : work.extra_s) {
    if (extra) cause.value = std::max(cause.value.value_or(0), *extra / step_s);
  }
  std::vector<std::string> parts;
  InstanceSet ideal;
  for (const RankWork::SlowRank& slow : work.slow) {
    const auto [dp_rank, stage] = job.recording.worker(slow.worker);
    const double alone_s = step_s - slow.extra_s;
    cause.workers.push_back({slow.worker, alone_s > 0 ? step_s / alone_s : 1, {}});
    cause.fix.push_back(fmt::format("rank={}", job.recording.ranks[slow.worker]));
    ideal.boxes.push_back(box_of_worker(job.recording, dp_rank, stage));
    if (parts.size() < kRanksInEvidence) parts.push_back(describe(job.recording, slow));
  }
  if (!work.slow.empty()) {
    Remedy remedy;
    remedy.ideal = std::move(ideal);
    cause.gain = gain_of(job, std::move(remedy)).gain;
  }
  cause.evidence = fmt::format("{}", fmt::join(parts, "; "));
  cause.reason = why_none(work, cause);
  if (cause.reason.empty() && doubt) cause.reason = doubt->why;
  cause.likely = cause.reason.empty();
  return {std::move(cause)};
}

}  // namespace goodput
