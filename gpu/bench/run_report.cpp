#include "gpu/bench/run_report.h"

#include <algorithm>

namespace goodput::gpu::bench {
namespace {

std::string verdict_text(bool met) {
  return met ? "met" : "missed";
}

std::string target_verdict(const RunReport& report, const PointOutcome& outcome,
                           const PointVerdict& verdict) {
  const PointGoal& goal = outcome.point.goal;
  if (!goal.us && !goal.share) return "";
  if (report.tier == Tier::kEmulated) return "-";
  if (goal.share) {
    return verdict.events ? verdict_text(meets_share(*goal.share, verdict.graph_share, verdict.events->share))
                          : "-";
  }
  if (report.machine.gpu.find("NVIDIA H200") == std::string::npos) return "-";
  const Measurement& time = outcome.result->time;
  const std::optional<double> graph_us =
      time.graph ? std::optional<double>(time.graph->times.us.median) : std::nullopt;
  return verdict_text(meets_target(*goal.us, graph_us, time.events.us.median));
}

bool is_wrong(const PointOutcome& outcome) {
  if (!outcome.result) return outcome.reason != kDeadlineReason;
  return outcome.result->check.nwrong != 0 || outcome.result->check.compared == 0;
}

}  // namespace

const char* name_of(Tier tier) {
  return tier == Tier::kEmulated ? "emulated" : "measured";
}

const char* name_of(Ended ended) {
  switch (ended) {
    case Ended::kRunning:
      return "running";
    case Ended::kDeadline:
      return "deadline";
    case Ended::kDone:
      return "done";
  }
  return "";
}

std::optional<double> RunReport::ceiling_gb_per_s(const CopyFlow& flow) const {
  for (const CopyCeiling& ceiling : ceilings) {
    const CopyRate* const best = ceiling.best();
    if (ceiling.flow == flow && best != nullptr) return best->gb_per_s;
  }
  return std::nullopt;
}

bool RunReport::has_wrong() const {
  return std::any_of(ceilings.begin(), ceilings.end(),
                     [](const CopyCeiling& ceiling) { return ceiling.nwrong() != 0; }) ||
         std::any_of(points.begin(), points.end(), is_wrong);
}

bool RunReport::has_result() const {
  return std::any_of(points.begin(), points.end(),
                     [](const PointOutcome& outcome) { return outcome.result.has_value(); });
}

PointVerdict judge(const RunReport& report, const PointOutcome& outcome) {
  PointVerdict verdict;
  const PointResult& result = *outcome.result;
  if (outcome.point.goal.ceiling && report.tier == Tier::kMeasured) {
    const std::optional<double> rate = report.ceiling_gb_per_s(*outcome.point.goal.ceiling);
    verdict.events = judge_floor(result.bytes, rate, result.time.events.us.median);
    if (result.time.graph) {
      const std::optional<AgainstFloor> graph =
          judge_floor(result.bytes, rate, result.time.graph->times.us.median);
      if (graph) verdict.graph_share = graph->share;
    }
  }
  verdict.target = target_verdict(report, outcome, verdict);
  return verdict;
}

}  // namespace goodput::gpu::bench
