#include "sim/job/job_ledger.h"

#include <doctest/doctest.h>

namespace goodput {
namespace {

using std::chrono::seconds;

constexpr NodeTime node_s(std::int64_t count) {
  return NodeTime{1'000'000'000} * count;
}

NodeTime node_time(const JobLedger& ledger, TimeBucket bucket) {
  return ledger.node_time[index(bucket)];
}

}  // namespace

TEST_CASE("job ledger: time spent is booked for the job and for each node that takes part") {
  JobLedger ledger;
  ledger.spend(TimeBucket::kProductive, seconds{10}, 3);
  ledger.spend(TimeBucket::kCheckpointSave, seconds{2}, 3);
  CHECK(ledger.time[index(TimeBucket::kProductive)] == seconds{10});
  CHECK(node_time(ledger, TimeBucket::kProductive) == node_s(30));
  CHECK(ledger.total() == seconds{12});
  CHECK(ledger.node_total() == node_s(36));
}

TEST_CASE("job ledger: idle nodes take none of the job's own time") {
  JobLedger ledger;
  ledger.spend(TimeBucket::kProductive, seconds{10}, 3);
  ledger.idle(seconds{10}, 2);
  CHECK(ledger.total() == seconds{10});
  CHECK(ledger.node_total() == node_s(50));
  CHECK(node_time(ledger, TimeBucket::kIdleNode) == node_s(20));
}

TEST_CASE("job ledger: waiting without nodes is the job's time and no node's") {
  JobLedger ledger;
  ledger.spend(TimeBucket::kInfrastructureRecovery, seconds{4 * 86'400}, 0);
  CHECK(ledger.total() == seconds{345'600});
  CHECK(ledger.node_total() == 0);
}

TEST_CASE("job ledger: wasted steps were productive before, so that both views still add up") {
  JobLedger ledger;
  ledger.spend(TimeBucket::kProductive, seconds{10}, 3);
  ledger.waste(seconds{4}, NodeTime{12'000'000'000});
  CHECK(ledger.time[index(TimeBucket::kProductive)] == seconds{6});
  CHECK(ledger.time[index(TimeBucket::kWastedProgress)] == seconds{4});
  CHECK(node_time(ledger, TimeBucket::kProductive) == node_s(18));
  CHECK(node_time(ledger, TimeBucket::kWastedProgress) == node_s(12));
  CHECK(ledger.total() == seconds{10});
  CHECK(ledger.node_total() == node_s(30));
}

TEST_CASE("job ledger: a hundred thousand nodes for a hundred years fit") {
  JobLedger ledger;
  const SimDuration century = std::chrono::years{100};
  ledger.spend(TimeBucket::kProductive, century, 100'000);
  CHECK(ledger.node_total() == NodeTime{century.count()} * 100'000);
  CHECK(node_seconds(ledger.node_total()) == doctest::Approx(3.15569520e14));
}

TEST_CASE("time buckets: every one has a name of its own, and a meaning") {
  for (std::size_t i = 0; i < kTimeBucketCount; ++i) {
    CAPTURE(i);
    CHECK_FALSE(kTimeBuckets[i].meaning.empty());
    for (std::size_t k = 0; k < i; ++k) CHECK(kTimeBuckets[i].name != kTimeBuckets[k].name);
  }
  CHECK(info(TimeBucket::kWastedProgress).name == "wasted_progress_from_disruption");
}

}  // namespace goodput
