#include "sim/live/step_intake.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/base/random.h"
#include "tests/support/live_job.h"
#include "tests/support/random_cases.h"
#include "tests/support/random_integer.h"

namespace goodput {
namespace {

using testing::all_out;
using testing::check_all_whole;
using testing::LiveJob;
using testing::LiveOutput;
using testing::LiveRecord;
using testing::true_steps;

// After how many records each step of a job of one run is to come out: with its last record, the first one
// when all workers have begun to write of later ones, and none before those ahead of it.
std::map<std::int64_t, std::size_t> moments(const std::vector<LiveRecord>& records) {
  const std::int64_t first =
      std::ranges::min_element(records, {}, [](const LiveRecord& record) { return record.id.step; })->id.step;
  std::map<std::int64_t, std::size_t> moments;
  std::set<std::pair<WorkerKey, std::int32_t>> went_on;
  std::size_t all_went_on = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (const std::int64_t step : records[i].rows.step) moments[step] = i + 1;
    if (records[i].id.step > first && went_on.insert({records[i].worker, records[i].rank}).second)
      all_went_on = i + 1;
  }
  std::size_t before = 0;
  for (auto& [step, moment] : moments) {
    moment = std::max({moment, before, all_went_on});
    before = moment;
  }
  return moments;
}

}  // namespace

TEST_CASE("step intake: every step comes out once, whole, in order and at once, however files interleave") {
  for (std::uint64_t seed = 0; seed < testing::cases(300); ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "step intake");
    LiveJob job = testing::random_live_job(random);
    const std::vector<LiveRecord> records = testing::interleave(testing::write_files(job, random), random);
    const std::vector<LiveOutput> out = all_out(records);
    check_all_whole(out, true_steps(records));
    const std::map<std::int64_t, std::size_t> due = moments(records);
    for (const LiveOutput& step : out) {
      CAPTURE(step.id.step);
      if (step.after <= records.size()) CHECK(step.after == due.at(step.id.step));
    }
    if (job.runs[0].last > job.steps_a_flush) CHECK(out.back().after == records.size());
  }
}

}  // namespace goodput
