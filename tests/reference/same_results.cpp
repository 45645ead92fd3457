#include "tests/reference/same_results.h"

#include <doctest/doctest.h>

namespace goodput::testing {

void check_same(const JobResult& got, const JobResult& want) {
  CHECK(got.finished == want.finished);
  CHECK(got.stopped == want.stopped);
  CHECK(got.end.time_since_epoch().count() == want.end.time_since_epoch().count());
  CHECK(got.steps == want.steps);
  CHECK(got.samples == want.samples);
  CHECK(got.steps_lost == want.steps_lost);
  CHECK(got.nodes_lost == want.nodes_lost);
  CHECK(got.stored_bytes == want.stored_bytes);
  CHECK(got.waited.count() == want.waited.count());
  for (std::size_t i = 0; i < kCauses; ++i) {
    CAPTURE(kCauseNames[i]);
    CHECK(got.courses[i] == want.courses[i]);
  }
  for (std::size_t i = 0; i < kTimeBucketCount; ++i) {
    CAPTURE(kTimeBuckets[i].name);
    CHECK(got.ledger.time[i].count() == want.ledger.time[i].count());
    CHECK(static_cast<std::int64_t>(got.ledger.node_time[i]) ==
          static_cast<std::int64_t>(want.ledger.node_time[i]));
  }
  // Added up in another order: rounding alone.
  CHECK(got.cost_usd == doctest::Approx(want.cost_usd).epsilon(1e-12));
  REQUIRE(got.metrics.size() == want.metrics.size());
  for (std::size_t i = 0; i < got.metrics.size(); ++i) {
    CAPTURE(got.metrics[i].name);
    CHECK(got.metrics[i].value == want.metrics[i].value);
  }
}

}  // namespace goodput::testing
