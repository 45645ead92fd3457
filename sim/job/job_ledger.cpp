#include "sim/job/job_ledger.h"

#include <numeric>

namespace goodput {

void JobLedger::spend(TimeBucket bucket, SimDuration duration, std::int32_t nodes) {
  time[index(bucket)] += duration;
  node_time[index(bucket)] += NodeTime{duration.count()} * nodes;
}

void JobLedger::idle(SimDuration duration, std::int32_t nodes) {
  node_time[index(TimeBucket::kIdleNode)] += NodeTime{duration.count()} * nodes;
}

void JobLedger::waste(SimDuration duration, NodeTime nodes) {
  time[index(TimeBucket::kProductive)] -= duration;
  time[index(TimeBucket::kWastedProgress)] += duration;
  node_time[index(TimeBucket::kProductive)] -= nodes;
  node_time[index(TimeBucket::kWastedProgress)] += nodes;
}

SimDuration JobLedger::total() const {
  return std::accumulate(time.begin(), time.end(), SimDuration{});
}

NodeTime JobLedger::node_total() const {
  return std::accumulate(node_time.begin(), node_time.end(), NodeTime{});
}

}  // namespace goodput
