// What was committed is what is read.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tests/tools/monitor_store/random_steps.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput {
namespace {

using testing::commit_of;
using testing::is_same;
using testing::message_in;
using testing::plain_step;
using testing::random_result;
using testing::random_rows;
using testing::step_with_rows;
using testing::StoreFolder;

MonitorStore open_store(const std::string& file, const StoreOptions& options = {}) {
  Result<MonitorStore> store = MonitorStore::open(file, options);
  REQUIRE_MESSAGE(store, message_in(store));
  return *std::move(store);
}

// A null is a number that is none, whichever.
StepResult with_plain_nan(StepResult result) {
  for (double StepTotals::*member :
       {&StepTotals::began_s, &StepTotals::received_s, &StepTotals::recorded_s, &StepTotals::replayed_s,
        &StepTotals::ideal_s, &StepTotals::slowdown, &StepTotals::launch_slowdown, &StepTotals::discrepancy,
        &StepTotals::worst_slowdown, &StepTotals::gain}) {
    if (std::isnan(result.totals.*member)) result.totals.*member = std::numeric_limits<double>::quiet_NaN();
  }
  return result;
}

TEST_CASE("monitor store: steps come back to the bit, with everything that was known of them") {
  const StoreFolder folder;
  std::map<StepId, StepRecord> written;
  {
    MonitorStore store = open_store(folder.file(), {.rows_of_last = 1000});
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      RandomStream random(seed, "store round trip");
      const StepId id{static_cast<std::int32_t>(seed / 20), static_cast<std::int64_t>(random.bits())};
      StepRecord record{.result = random_result(random, id)};
      record.rows = random_rows(random, random.below(100), id.step, seed % 2 == 0);
      written[id] = record;
      const auto done = store.commit(commit_of("job", {record}));
      REQUIRE_MESSAGE(done, message_in(done));
    }
  }
  const Result<MonitorStore> opened = MonitorStore::open_for_reading(folder.file());
  REQUIRE_MESSAGE(opened, message_in(opened));
  MonitorStore store = open_store(folder.file());
  for (const auto& entry : written) {
    const StepId id = entry.first;
    const StepRecord& record = entry.second;
    INFO("run " << id.run << " step " << id.step);
    const auto step = store.step("job", id);
    REQUIRE_MESSAGE(step, message_in(step));
    REQUIRE(step->has_value());
    CHECK(is_same(**step, with_plain_nan(record.result)));
    const auto rows = store.rows("job", id);
    REQUIRE_MESSAGE(rows, message_in(rows));
    REQUIRE(rows->has_value());
    CHECK(is_same(**rows, *record.rows));
    CHECK(*store.has_step("job", id));
  }
  const auto steps = store.steps("job", {});
  REQUIRE(steps);
  REQUIRE(steps->size() == written.size());
  std::size_t i = 0;
  for (const auto& [id, record] : written) CHECK((*steps)[i++].id == id);
}

TEST_CASE("monitor store: a step that is there stays as it is, in its run") {
  const StoreFolder folder;
  MonitorStore store = open_store(folder.file());
  REQUIRE(store.commit(commit_of("job", {plain_step({0, 7}, 100, 1.5)})));
  REQUIRE(store.commit(commit_of("job", {plain_step({0, 7}, 200, 2.5), plain_step({1, 7}, 300, 3.5)})));
  REQUIRE(store.commit(commit_of("other", {plain_step({0, 7}, 400, 4.5)})));
  CHECK((*store.step("job", {0, 7}))->totals.slowdown == 1.5);
  CHECK((*store.step("job", {1, 7}))->totals.slowdown == 3.5);
  CHECK((*store.step("other", {0, 7}))->totals.slowdown == 4.5);
  CHECK(!(*store.step("other", {1, 7})).has_value());
  CHECK(!*store.has_step("nobody", {0, 7}));
  const auto job = store.job("job");
  REQUIRE(job);
  CHECK((*job)->analysed == 2);
  CHECK((*job)->runs == 2);
}

TEST_CASE("monitor store: a job says how many steps of which kind it had, and its latest") {
  const StoreFolder folder;
  MonitorStore store = open_store(folder.file());
  const auto with_status = [](StepId id, StepStatus status) {
    StepRecord record = plain_step(id, 100);
    record.result.totals.status = status;
    return record;
  };
  REQUIRE(store.commit(commit_of(
      "b", {with_status({0, 1}, StepStatus::kAnalysed), with_status({0, 2}, StepStatus::kIncomplete),
            with_status({1, 0}, StepStatus::kAnalysed), with_status({1, 1}, StepStatus::kSkipped),
            with_status({1, 2}, StepStatus::kSkipped), with_status({1, 3}, StepStatus::kRefused)})));
  REQUIRE(store.commit(commit_of("a", {})));
  const auto jobs = store.jobs();
  REQUIRE_MESSAGE(jobs, message_in(jobs));
  REQUIRE(jobs->size() == 2);
  CHECK((*jobs)[0].name == "a");
  CHECK(!(*jobs)[0].latest);
  CHECK((*jobs)[0].runs == 1);
  const JobInfo& b = (*jobs)[1];
  CHECK(b.runs == 2);
  CHECK(b.analysed == 2);
  CHECK(b.incomplete == 1);
  CHECK(b.refused == 1);
  CHECK(b.skipped == 2);
  CHECK(b.latest->id == StepId{1, 3});
  CHECK(b.latest_analysed->id == StepId{1, 0});
  CHECK(!(*store.job("nobody")).has_value());
  CHECK(!(*store.job("")).has_value());
}

TEST_CASE("monitor store: positions and states are those of the latest commit, a job each") {
  const StoreFolder folder;
  MonitorStore store = open_store(folder.file());
  const std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
  const FilePosition first{.path = "/logs/a.log",
                           .device = all,
                           .inode = 2,
                           .head_hash = all - 1,
                           .head_bytes = 64,
                           .offset = 1000,
                           .seen = 1200,
                           .is_done = false};
  FilePosition second{.path = "/logs/b\xff.gz",
                      .device = 1,
                      .inode = 3,
                      .head_hash = 5,
                      .head_bytes = 64,
                      .offset = 10,
                      .seen = 10,
                      .is_done = true};
  StepCommit commit = commit_of("job", {});
  commit.positions = {second, first};
  commit.intake_state = std::string("in\0take", 7);
  commit.incident_state = "incidents";
  REQUIRE(store.commit(commit));
  CHECK(*store.positions("job") == std::vector{first, second});
  CHECK(*store.intake_state("job") == std::string("in\0take", 7));
  CHECK(*store.incident_state("job") == "incidents");
  CHECK(store.positions("other")->empty());
  CHECK(store.intake_state("other")->empty());

  second.offset = 99;
  commit.positions = {second};
  commit.gone_files = {first.path, "/logs/never"};
  commit.intake_state = "next";
  commit.incident_state.clear();
  REQUIRE(store.commit(commit));
  CHECK(*store.positions("job") == std::vector{second});
  CHECK(*store.intake_state("job") == "next");
  CHECK(*store.incident_state("job") == "incidents");
}

}  // namespace
}  // namespace goodput
