#include "tools/simulate/throughput.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "sim/base/append.h"
#include "traces/table/csv_field.h"

namespace goodput {
namespace {

// What counts, step by step, so that it is known after a return to an earlier step.
class TrainedSamples {
 public:
  [[nodiscard]] std::int64_t now() const {
    if (stretches_.empty()) return 0;
    const JobSpan& last = stretches_.back();
    return last.samples + last.steps * last.samples_per_step;
  }
  void train(const JobSpan& span) {
    if (span.steps > 0) stretches_.push_back(span);
  }
  void lose(std::int64_t steps) {
    while (steps > 0 && !stretches_.empty()) {
      const std::int64_t lost = std::min(steps, stretches_.back().steps);
      stretches_.back().steps -= lost;
      steps -= lost;
      if (stretches_.back().steps == 0) stretches_.pop_back();
    }
  }

 private:
  std::vector<JobSpan> stretches_;  // that count; each begins with the samples at which the last one ends
};

double rate_of(const JobSpan& span) {
  if (span.bucket != TimeBucket::kProductive) return 0;
  return static_cast<double>(span.steps * span.samples_per_step) / to_seconds(span.end - span.begin);
}

// Steps that are lost by the course taken at each moment.
std::map<SimTime, std::int64_t> losses_of(const JobLog& log) {
  std::map<SimTime, std::int64_t> losses;
  for (const JobInstant& instant : log.instants) {
    if (instant.kind == JobInstant::Kind::kCourse && instant.lost_steps > 0)
      losses[instant.time] += instant.lost_steps;
  }
  return losses;
}

}  // namespace

std::vector<ThroughputPoint> throughput_of(const RecordedRun& run) {
  const std::map<SimTime, std::int32_t> held = run.nodes_held();
  const std::map<SimTime, std::int64_t> losses = losses_of(run.log);
  auto loss = losses.begin();
  TrainedSamples trained;
  const auto lose_until = [&](SimTime time) {
    for (; loss != losses.end() && loss->first <= time; ++loss) trained.lose(loss->second);
  };
  const auto held_at = [&](SimTime time) { return std::prev(held.upper_bound(time))->second; };
  std::vector<ThroughputPoint> points;
  for (const JobSpan& span : run.log.spans) {
    lose_until(span.begin);
    ThroughputPoint point{span.begin,
                          held_at(span.begin),
                          static_cast<std::int32_t>(run.log.node_sets[span.nodes].size()),
                          static_cast<double>(trained.now()),
                          rate_of(span),
                          span.bucket};
    points.push_back(point);
    for (auto change = held.upper_bound(span.begin); change != held.end() && change->first < span.end;
         ++change) {
      point.samples += point.samples_per_s * to_seconds(change->first - point.time);
      point.time = change->first;
      point.nodes_held = change->second;
      points.push_back(point);
    }
    if (span.bucket == TimeBucket::kProductive) trained.train(span);
  }
  lose_until(run.end);
  points.push_back({run.end, held_at(run.end), 0, static_cast<double>(trained.now()), 0, {}});
  return points;
}

std::string throughput_csv(std::span<const RecordedRun> runs) {
  std::string csv = "t_s,policy,nodes_held,nodes_used,samples,samples_per_s,bucket\n";
  for (const RecordedRun& run : runs) {
    const std::string policy = csv_field(run.policy);
    for (const ThroughputPoint& point : throughput_of(run)) {
      append(csv, "{},{},{},{},{:.0f},{:.6g},{}\n", to_seconds(point.time), policy, point.nodes_held,
             point.nodes_used, std::floor(point.samples), point.samples_per_s,
             point.bucket ? info(*point.bucket).name : "");
    }
  }
  return csv;
}

}  // namespace goodput
