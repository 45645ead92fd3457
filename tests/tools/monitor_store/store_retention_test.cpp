// What is let go of when, and that nothing else is.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/tools/monitor_store/random_steps.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput {
namespace {

using std::chrono::seconds;
using testing::commit_of;
using testing::message_in;
using testing::plain_step;
using testing::step_with_rows;
using testing::StoreFolder;

MonitorStore open_store(const StoreFolder& folder, const StoreOptions& options) {
  auto store = MonitorStore::open(folder.file(), options);
  REQUIRE_MESSAGE(store, message_in(store));
  return *std::move(store);
}

void thin_out(MonitorStore& store, double now_s) {
  for (int i = 0; i < 1000; ++i) {
    const auto more = store.thin_out(now_s);
    REQUIRE_MESSAGE(more, message_in(more));
    if (!*more) return;
  }
  FAIL("thinning out does not end");
}

bool has_map(MonitorStore& store, StepId id) {
  return !(*store.step("job", id))->worker_slowdown.empty();
}

TEST_CASE("monitor store: rows are those of the last steps and of steps at which incidents opened") {
  const StoreFolder folder;
  MonitorStore store = open_store(folder, {.rows_of_last = 3});
  for (std::int64_t i = 0; i < 10; ++i) {
    StepRecord record = step_with_rows({0, i}, 100);
    record.keeps_rows = i == 2;
    StepCommit commit = commit_of("job", {record});
    // Opened a step later, about the one before.
    if (i == 5) commit.steps_to_keep = {{0, 4}};
    REQUIRE(store.commit(commit));
  }
  CHECK(*store.steps_with_rows("job") == std::vector<StepId>{{0, 2}, {0, 4}, {0, 7}, {0, 8}, {0, 9}});
  CHECK(testing::is_same(**store.rows("job", {0, 4}), *step_with_rows({0, 4}, 100).rows));
  CHECK(!(*store.rows("job", {0, 6})).has_value());
  // Exact as long as there are rows, then as the map has it: 1.25 is exp(2231.4e-4).
  CHECK((*store.step("job", {0, 9}))->worker_slowdown[1] == 1.25);
  CHECK((*store.step("job", {0, 9}))->worker_pace[1] == 1.1);
  CHECK((*store.step("job", {0, 6}))->worker_slowdown[1] == std::exp(0.2231));
  CHECK((*store.step("job", {0, 6}))->worker_pace.empty());
}

TEST_CASE("monitor store: of rows kept for incidents there are so many, the newest, and so many bytes") {
  const StoreFolder folder;
  const auto fill = [&](const StoreOptions& options) {
    MonitorStore store = open_store(folder, options);
    for (std::int64_t i = 0; i < 6; ++i) {
      StepRecord record = step_with_rows({0, i}, 100, 1000);
      record.keeps_rows = true;
      REQUIRE(store.commit(commit_of("job", {record})));
    }
    return *store.steps_with_rows("job");
  };
  SUBCASE("number") {
    CHECK(fill({.rows_of_last = 0, .rows_of_incidents = 2}) == std::vector<StepId>{{0, 4}, {0, 5}});
  }
  SUBCASE("bytes: the newest one stays, however large") {
    CHECK(fill({.rows_of_last = 0, .rows_of_incidents_bytes = 1}) == std::vector<StepId>{{0, 5}});
  }
  SUBCASE("bytes: a step of 1000 random ops has between 6000 and 9000") {
    CHECK(fill({.rows_of_last = 0, .rows_of_incidents_bytes = 18'500}) ==
          std::vector<StepId>{{0, 4}, {0, 5}});
  }
}

TEST_CASE(
    "monitor store: of old maps the one with the largest slowdown of a minute stays, of equals the first") {
  const StoreFolder folder;
  MonitorStore store =
      open_store(folder, {.keep = seconds{10'000}, .maps_in_full = seconds{600}, .rows_of_last = 0});
  // Minute 0: steps 0 to 5, minute 1: 6 to 11, ...
  for (std::int64_t i = 0; i < 30; ++i) {
    const double slowdown = i % 6 == 3 || i % 6 == 4 ? 2 : 1.5;
    StepRecord record = plain_step({0, i}, static_cast<double>(10 * i), slowdown);
    record.keeps_rows = i == 1;
    REQUIRE(store.commit(commit_of("job", {record})));
  }
  // Minutes that ended 600 s before 785 are 0, 1 and 2.
  thin_out(store, 785);
  for (std::int64_t i = 0; i < 30; ++i) {
    INFO("step " << i);
    CHECK(has_map(store, {0, i}) == (i >= 18 || i % 6 == 3 || i == 1));
    CHECK((*store.step("job", {0, i}))->by_stage.empty() != has_map(store, {0, i}));
  }
  CHECK(store.steps("job", {})->size() == 30);
  // The map at a step is that of the latest one before that has one.
  CHECK((*store.map("job", {0, 5}))->id == StepId{0, 3});
  CHECK((*store.map("job", {0, 2}))->id == StepId{0, 1});
  CHECK(!(*store.map("job", {0, 0})).has_value());
  CHECK((*store.map("job", {5, 0}))->id == StepId{0, 29});
  // Again, and with a straggler of a minute that was thinned out: it replaces the one that stayed, or goes.
  REQUIRE(store.commit(commit_of("job", {plain_step({0, 40}, 65, 1.9), plain_step({0, 41}, 125, 2.5)})));
  thin_out(store, 785);
  CHECK(has_map(store, {0, 9}));
  CHECK(!has_map(store, {0, 40}));
  CHECK(!has_map(store, {0, 15}));
  CHECK(has_map(store, {0, 41}));
}

TEST_CASE(
    "monitor store: steps, their layouts and closed incidents go when they are older than they are kept") {
  const StoreFolder folder;
  MonitorStore store = open_store(folder, {.keep = seconds{1000}, .rows_of_last = 2});
  RandomStream random(1, "old");
  std::vector<std::string> keys;
  for (std::int64_t i = 0; i < 1500; ++i) {
    StepCommit commit = commit_of("job", {step_with_rows({0, i}, static_cast<double>(i), 1)});
    commit.steps.front().result.layout.vpp_size = i < 100 ? 1 : 2;
    if (i == 10 || i == 1400) {
      commit.incidents = {testing::random_incident(random, {0, i})};
      keys.push_back(commit.incidents.front().key);
    }
    if (i == 20) {
      commit.incidents = {*std::move(*store.incident(keys[0]))};
      commit.incidents.front().closed_s = 20;
      commit.incidents.front().closed_at = StepId{0, 20};
    }
    REQUIRE(store.commit(commit));
  }
  CHECK(*store.thin_out(1900));  // more than one piece
  thin_out(store, 1900);
  const auto steps = store.steps("job", {});
  REQUIRE(steps->size() == 600);
  CHECK(steps->front().id.step == 900);
  CHECK(!*store.has_step("job", {0, 899}));
  // Blocks too: each of these groups begins where there are steps.
  const auto groups = store.steps("job", {.from = {}, .to = {}, .most = 3});
  REQUIRE(groups->size() == 3);
  for (const StepTotals& totals : *groups) CHECK(totals.id.step >= 900);
  CHECK(!(*store.incident(keys[0])).has_value());
  CHECK((*store.incident(keys[1])).has_value());
  CHECK((*store.job("job"))->analysed == 1500);  // of all its life
  CHECK((*store.step("job", {0, 900}))->layout.vpp_size == 2);
  thin_out(store, 1e6);
  CHECK(store.steps("job", {})->empty());
  CHECK(store.steps_with_rows("job")->empty());
  CHECK((*store.incident(keys[1]))->is_open());
}

TEST_CASE("monitor store: the file is as large after many steps as after some" *
          doctest::test_suite("slow")) {
  const StoreFolder folder;
  MonitorStore store =
      open_store(folder, {.keep = seconds{400}, .maps_in_full = seconds{100}, .rows_of_last = 4});
  std::vector<std::uint64_t> bytes;
  for (std::int64_t i = 0; i < 3000; ++i) {
    const double now_s = static_cast<double>(i);
    REQUIRE(store.commit(commit_of("job", {step_with_rows({0, i}, now_s, 500)})));
    if (i % 10 == 0) thin_out(store, now_s);
    if (i % 500 == 499) bytes.push_back(*store.file_bytes());
  }
  INFO("bytes " << bytes.front() << " to " << bytes.back());
  CHECK(static_cast<double>(bytes.back()) <= 1.05 * static_cast<double>(bytes[1]));
}

}  // namespace
}  // namespace goodput
