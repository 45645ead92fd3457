// Jobs that go back, with clocks that disagree.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/base/random.h"
#include "sim/live/step_intake.h"
#include "tests/support/live_job.h"
#include "tests/support/random_cases.h"
#include "tests/support/random_integer.h"

namespace goodput {
namespace {

using testing::LiveJob;
using testing::LiveOutput;
using testing::LiveRecord;
using testing::LiveRun;

LiveJob restarted_job(RandomStream& random) {
  LiveJob job = testing::random_live_job(random);
  job.runs.clear();
  std::int64_t first = 1;
  for (std::int32_t run = testing::between(random, 2, 3); run > 0; --run) {
    const std::int64_t last = first + 3 + testing::between(random, 0, 4);
    job.runs.push_back({first, last, 2, 3});
    first = last - testing::between(random, job.is_absolute ? 0 : 1, 2);
  }
  return job;
}

void add_skews(LiveJob& job, RandomStream& random, double most_s) {
  for (std::int32_t dp = 0; dp < 2; ++dp) {
    for (std::int32_t stage = 0; stage < job.pp; ++stage) {
      if (random.below(2) == 0) job.skew_s[{dp, stage}] = random.uniform(-most_s, most_s);
    }
  }
}

}  // namespace

TEST_CASE("step intake: a job that goes back begins a run, at whatever moments its workers do") {
  for (std::uint64_t seed = 0; seed < testing::cases(300); ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "restarted");
    const LiveJob job = restarted_job(random);
    CAPTURE(testing::to_text(job));
    const std::vector<LiveRecord> records = testing::interleave(testing::write_files(job, random), random);
    testing::check_all_whole(testing::all_out(records), testing::true_steps(records));
  }
}

TEST_CASE("step intake: clocks of hosts that are minutes apart make no run of their own") {
  for (std::uint64_t seed = 0; seed < testing::cases(300); ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "skewed");
    LiveJob job = restarted_job(random);
    job.is_absolute = true;
    add_skews(job, random, 600);
    CAPTURE(testing::to_text(job));
    const std::vector<LiveRecord> records = testing::interleave(testing::write_files(job, random), random);
    testing::check_all_whole(testing::all_out(records), testing::true_steps(records));
  }
}

TEST_CASE("step intake: a clock that is set by an hour makes no run, and no step is lost") {
  for (std::uint64_t seed = 0; seed < testing::cases(300); ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "clock set");
    LiveJob job = restarted_job(random);
    job.is_absolute = true;
    if (random.below(2) == 0) job.runs.resize(1);
    CAPTURE(testing::to_text(job));
    const auto last_run = static_cast<std::int32_t>(job.runs.size()) - 1;
    const std::int64_t from = job.runs.back().first + 1 + testing::between(random, 0, 2);
    const WorkerKey worker{testing::between(random, 0, 1), testing::between(random, 0, job.pp - 1)};
    const double by_s = random.below(2) == 0 ? 3600 : -3600;
    CAPTURE(by_s);
    testing::LiveFiles files = testing::write_files(job, random);
    for (auto& file : files) {
      for (LiveRecord& record : file) {
        for (std::size_t row = 0; row < record.rows.size(); ++row) {
          if (record.worker == worker && record.id.run == last_run && record.rows.step[row] >= from)
            record.rows.start_s[row] += by_s;
        }
      }
    }
    const std::vector<LiveRecord> records = testing::interleave(files, random);
    testing::check_all_whole(testing::all_out(records), testing::true_steps(records));
  }
}

TEST_CASE("step intake: runs that finish no step are incomplete, and those before and after are whole") {
  for (std::uint64_t seed = 0; seed < testing::cases(200); ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "crash loop");
    LiveJob job = testing::random_live_job(random);
    job.is_absolute = true;
    job.steps_a_flush = 1;
    if (job.records == LiveJob::Records::kRows) job.has_seq_ids = true;
    job.runs = {{1, 6, 2, 3}, {5, 5, 2, 3}, {5, 5, 2, 3}, {5, 9, 2, 3}};
    CAPTURE(testing::to_text(job));
    // Each worker writes some of its records in the runs between: at least one does, and none all.
    std::map<std::pair<std::int32_t, WorkerKey>, std::size_t> left;
    for (std::int32_t run : {1, 2}) {
      for (std::int32_t dp = 0; dp < 2; ++dp) {
        for (std::int32_t stage = 0; stage < job.pp; ++stage) left[{run, {dp, stage}}] = random.below(4);
      }
      left[{run, {0, 0}}] = 1 + random.below(3);
    }
    testing::LiveFiles files = testing::write_files(job, random);
    for (auto& file : files)
      file = testing::kept(file, [&](const LiveRecord& record) {
        const auto at = left.find({record.id.run, record.worker});
        return at == left.end() || at->second-- > 0 || (at->second = 0, false);
      });
    // Reading keeps up: a restart takes longer than it is behind.
    std::vector<LiveRecord> records = testing::interleave(files, random);
    std::ranges::stable_sort(records, {}, [](const LiveRecord& record) { return record.id.run; });
    const std::vector<LiveOutput> out = testing::all_out(records);
    CAPTURE(testing::to_text(out));
    const auto steps = testing::true_steps(records);
    REQUIRE(out.size() == steps.size());
    std::size_t i = 0;
    for (const auto& [id, rows] : steps) {
      CHECK(out[i].id == id);
      const bool is_broken_off = id.run == 1 || id.run == 2;
      CHECK(out[i].status == (is_broken_off ? StepStatus::kIncomplete : StepStatus::kAnalysed));
      CHECK(out[i].rows == hash_rows(rows));
      ++i;
    }
  }
}

}  // namespace goodput
