// Steps that are not whole, one case at a time.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/base/random.h"
#include "sim/live/step_intake.h"
#include "tests/support/live_job.h"

namespace goodput {
namespace {

using testing::LiveJob;
using testing::LiveOutput;
using testing::LiveRecord;
using testing::LiveRun;

// All workers in turn, of a job of two replicas and two stages unless told otherwise.
std::vector<LiveRecord> records_of(const LiveJob& job) {
  RandomStream random(1, "cases");
  std::vector<LiveRecord> records = testing::interleave(testing::write_files(job, random), random);
  std::ranges::stable_sort(records, {}, &LiveRecord::id);
  return records;
}

bool is_of(const LiveRecord& record, std::int64_t step, WorkerKey worker, OpType type) {
  return record.id.step == step && record.worker == worker && record.rows.optype.front() == type;
}

std::vector<StepStatus> statuses(const std::vector<LiveOutput>& out) {
  std::vector<StepStatus> statuses;
  for (const LiveOutput& step : out) statuses.push_back(step.status);
  return statuses;
}

constexpr StepStatus kWhole = StepStatus::kAnalysed;
constexpr StepStatus kCut = StepStatus::kIncomplete;

}  // namespace

TEST_CASE("step intake: a lost line makes its step incomplete, and names the worker") {
  for (const std::int64_t step : {1, 3}) {
    for (const OpType type : {OpType::kForwardCompute, OpType::kOptimizer, OpType::kGc}) {
      CAPTURE(step);
      const auto out =
          testing::all_out(testing::kept(records_of({.runs = {{1, 5}}}), [&](const LiveRecord& record) {
            return !is_of(record, step, {1, 0}, type);
          }));
      REQUIRE(out.size() == 5);
      for (const LiveOutput& given : out) CHECK(given.status == (given.id.step == step ? kCut : kWhole));
      CHECK(out[static_cast<std::size_t>(step) - 1].problem ==
            "too few rows arrived from 1 of 4 workers: dp 1 stage 0 (rank 2)");
    }
  }
}

TEST_CASE(
    "step intake: of a job of one worker, a line lost once makes a step incomplete, lost for good it is a "
    "change") {
  LiveJob job{.pp = 1, .runs = {{1, 7, 1, 3}}};
  const auto out = testing::all_out(testing::kept(records_of(job), [](const LiveRecord& record) {
    return record.id.step < 4 || record.rows.optype.front() != OpType::kParamsAllGather;
  }));
  CHECK(statuses(out) == std::vector{kWhole, kWhole, kWhole, kCut, kWhole, kWhole, kWhole});
}

TEST_CASE("step intake: steps without a worker are given out after the grace, and it is named") {
  StepIntake intake({});
  const auto records = testing::kept(records_of({.runs = {{1, 4}}}), [](const LiveRecord& record) {
    return record.id.step < 3 || record.worker != WorkerKey{0, 1};
  });
  for (const LiveRecord& record : records) intake.add(record.rows, 0, record.rows.size(), record.source, 100);
  CHECK(intake.take(100)->id.step == 1);
  CHECK(intake.take(100)->id.step == 2);
  CHECK_FALSE(intake.take(129));
  CHECK(intake.next_deadline() == 130);
  const auto step = intake.take(130);
  REQUIRE(step);
  CHECK(step->status == kCut);
  CHECK(step->problem == "no rows arrived from 1 of 4 workers: dp 0 stage 1 (rank 1)");
  CHECK(step->missing == std::vector<WorkerPlace>{{0, 1, 1, {}}});
}

TEST_CASE("step intake: another number of micro-batches or replicas is a change, not a loss") {
  for (const LiveRun& second : {LiveRun{5, 8, 2, 1}, LiveRun{5, 8, 2, 5}, LiveRun{5, 8, 1, 3},
                                LiveRun{5, 8, 4, 3}, LiveRun{3, 8, 4, 2}}) {
    CAPTURE(second.dp);
    CAPTURE(second.micro_batches);
    const std::vector<LiveRecord> records = records_of({.runs = {{1, 4}, second}});
    const auto out = testing::all_out(records);
    CHECK(out.size() == static_cast<std::size_t>(4 + second.last - second.first + 1));
    for (const LiveOutput& step : out) CHECK(step.status == kWhole);
  }
}

TEST_CASE("step intake: where no size is stated, the first step waits until no new worker comes") {
  StepIntake intake({});
  const auto records = records_of({.states_sizes = false, .runs = {{1, 4}}});
  for (const LiveRecord& record : records) intake.add(record.rows, 0, record.rows.size(), record.source, 100);
  CHECK_FALSE(intake.take(129));
  std::size_t steps = 0;
  while (const auto step = intake.take(130)) steps += step->status == kWhole ? 1 : 0;
  CHECK(steps >= 3);
}

TEST_CASE(
    "step intake: a size that is stated too large leaves workers missing, a metadata file overrules it") {
  StepIntake intake({.dp_size = 3});
  const auto out = testing::all_out(intake, records_of({.runs = {{1, 2}}}));
  REQUIRE(out.size() == 2);
  CHECK(out[0].problem == "no rows arrived from 2 of 6 workers: dp 2 stage 0, dp 2 stage 1");
}

TEST_CASE("step intake: of tensor-parallel ranks the lowest counts, whenever it comes") {
  for (const bool comes_last : {false, true}) {
    LiveJob job{.ranks = 2, .runs = {{1, 5}}};
    std::vector<LiveRecord> records = records_of(job);
    std::ranges::stable_sort(records, {}, [&](const LiveRecord& record) {
      return std::pair(record.id.step, comes_last ? -record.rank : record.rank);
    });
    StepIntake intake({});
    std::size_t steps = 0;
    const auto check = [&](const GatheredStep& step) {
      ++steps;
      CHECK(step.status == kWhole);
      CHECK(std::ranges::all_of(step.rows.rank, [](std::int32_t rank) { return rank % 2 == 0; }));
    };
    for (const LiveRecord& record : records) {
      intake.add(record.rows, 0, record.rows.size(), record.source, 0);
      while (const auto step = intake.take(0)) check(*step);
    }
    while (const auto step = intake.take_rest()) check(*step);
    CHECK(steps == 5);
  }
}

TEST_CASE("step intake: older rows are late when their step is out, and taken while it is open") {
  const auto records = records_of({.pp = 1, .runs = {{1, 5, 1, 3}}});
  StepIntake intake({});
  std::vector<LiveRecord> swapped;
  for (const std::int64_t step : {1, 2, 4, 3, 5}) {
    for (LiveRecord record : records) {
      if (record.id.step != step) continue;
      record.source.file = step == 3 ? 1 : 0;
      swapped.push_back(std::move(record));
    }
  }
  std::size_t steps = 0;
  for (const LiveRecord& record : swapped) {
    intake.add(record.rows, 0, record.rows.size(), record.source, 0);
    while (const auto step = intake.take(0)) {
      CHECK(step->id.run == 0);
      ++steps;
    }
  }
  CHECK(steps == 5);  // the third after the fourth
  for (const LiveRecord& record : swapped) intake.add(record.rows, 0, record.rows.size(), {9, 0, true}, 0);
  CHECK(intake.late_rows() == 0);  // read before
  intake.add(swapped[0].rows, 0, swapped[0].rows.size(), {9, 0}, 0);
  CHECK(intake.late_rows() == swapped[0].rows.size());
}

TEST_CASE("step intake: steps between those that are looked at are skipped, with no rows kept") {
  StepIntake intake({.every = 2});
  const auto out = testing::all_out(intake, records_of({.runs = {{1, 4}}}));
  CHECK(statuses(out) == std::vector{StepStatus::kSkipped, kWhole, StepStatus::kSkipped, kWhole});
  CHECK(out[0].rows == 0);
}

TEST_CASE("step intake: more rows than are to be kept push the oldest step out as it is") {
  StepIntake intake({.most_rows = 200});
  const auto records = testing::kept(records_of({.runs = {{1, 40}}}), [](const LiveRecord& record) {
    return record.worker != WorkerKey{0, 0};
  });
  std::size_t steps = 0;
  for (const LiveRecord& record : records) {
    intake.add(record.rows, 0, record.rows.size(), record.source, 0);
    while (const auto step = intake.take(0)) ++steps;
  }
  CHECK(steps > 30);
}

TEST_CASE("step intake: findings stay with the open step of their number") {
  StepIntake intake({});
  const auto records = records_of({.runs = {{1, 2}}});
  for (const LiveRecord& record : records) intake.add(record.rows, 0, record.rows.size(), record.source, 0);
  intake.note_findings({{CleaningRule::kDamagedRows, 2, {1, 7}, "a"}});
  intake.note_findings({{CleaningRule::kDamagedRows, 1, {1}, "b"}});
  const auto step = intake.take(0);
  REQUIRE(step);
  REQUIRE(step->findings.size() == 1);
  CHECK(step->findings[0].count == 3);
  CHECK(step->findings[0].steps == std::vector<std::int64_t>{1});
}

TEST_CASE("step intake: a file read as a whole has all of its steps at once, and is used up then") {
  OpTrace rows;
  for (const LiveRecord& record : records_of({.runs = {{1, 3}}})) {
    for (std::size_t i = 0; i < record.rows.size(); ++i) CHECK_FALSE(rows.append(record.rows.row(i)));
  }
  StepIntake intake({.dp_size = 2, .pp_size = 2});
  intake.add_file(rows, {0, 0}, 0);
  CHECK(intake.used_up_to(0, 500) == 0);
  for (std::int64_t number = 1; number <= 3; ++number) {
    const auto step = intake.take(0);
    REQUIRE(step);
    CHECK(step->id.step == number);
    CHECK(step->status == kWhole);
  }
  CHECK(intake.used_up_to(0, 500) == 500);
}

}  // namespace goodput
