// Spans of steps, workers over time, incidents and messages about them; readers beside a writer.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
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
using testing::random_incident;
using testing::StoreFolder;

MonitorStore open_store(const StoreFolder& folder) {
  auto store = MonitorStore::open(folder.file(), {});
  REQUIRE_MESSAGE(store, message_in(store));
  return *std::move(store);
}

std::vector<StepId> ids_of(const Result<std::vector<StepTotals>>& steps) {
  REQUIRE_MESSAGE(steps, message_in(steps));
  std::vector<StepId> ids;
  for (const StepTotals& totals : *steps) ids.push_back(totals.id);
  return ids;
}

TEST_CASE("monitor store: spans of steps go over runs and have their ends in them") {
  const StoreFolder folder;
  MonitorStore store = open_store(folder);
  std::vector<StepRecord> records;
  for (const StepId id : {StepId{0, 5}, {0, 6}, {0, 9}, {1, 2}, {1, 3}, {2, 0}})
    records.push_back(plain_step(id, 1));
  REQUIRE(store.commit(commit_of("job", records)));
  REQUIRE(store.commit(commit_of("other", {plain_step({0, 7}, 1)})));
  CHECK(ids_of(store.steps("job", {})) ==
        std::vector<StepId>{{0, 5}, {0, 6}, {0, 9}, {1, 2}, {1, 3}, {2, 0}});
  CHECK(ids_of(store.steps("job", {.from = StepId{0, 6}, .to = StepId{1, 2}})) ==
        std::vector<StepId>{{0, 6}, {0, 9}, {1, 2}});
  CHECK(ids_of(store.steps("job", {.from = StepId{0, 7}})) ==
        std::vector<StepId>{{0, 9}, {1, 2}, {1, 3}, {2, 0}});
  CHECK(ids_of(store.steps("job", {.to = StepId{0, 8}})) == std::vector<StepId>{{0, 5}, {0, 6}});
  CHECK(ids_of(store.steps("job", {.most = 2, .newest_first = true})) == std::vector<StepId>{{2, 0}, {1, 3}});
  CHECK(ids_of(store.steps("job", {.from = StepId{3, 0}})).empty());
  CHECK(ids_of(store.steps("job", {.most = 0})).empty());
  CHECK(ids_of(store.steps("nobody", {})).empty());
}

TEST_CASE("monitor store: the newest steps of a status are as many as wanted, whatever is between them") {
  const StoreFolder folder;
  MonitorStore store = open_store(folder);
  std::vector<StepRecord> records;
  for (std::int64_t step = 0; step < 30; ++step) {
    records.push_back(plain_step({0, step}, 1));
    if (step % 10 != 0) records.back().result.totals.status = StepStatus::kSkipped;
  }
  REQUIRE(store.commit(commit_of("job", records)));
  StepQuery query;
  query.most = 2;
  query.newest_first = true;
  query.status = StepStatus::kAnalysed;
  CHECK(ids_of(store.steps("job", query)) == std::vector<StepId>{{0, 20}, {0, 10}});
  query.to = StepId{0, 19};
  CHECK(ids_of(store.steps("job", query)) == std::vector<StepId>{{0, 10}, {0, 0}});
  query.status = StepStatus::kRefused;
  CHECK(ids_of(store.steps("job", query)).empty());
}

TEST_CASE("monitor store: more steps than wanted are told by the worst of groups of equal size") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    INFO("seed " << seed);
    const StoreFolder folder;
    MonitorStore store = open_store(folder);
    RandomStream random(seed, "groups");
    const std::size_t count = 1 + random.below(60);
    const std::size_t most = std::max<std::size_t>(count / 16 + 1, random.below(20));
    std::vector<StepRecord> records;
    for (std::size_t i = 0; i < count; ++i) {
      const StepId id{static_cast<std::int32_t>(i / 20), static_cast<std::int64_t>(i * i)};
      records.push_back(plain_step(id, 1, 1 + static_cast<double>(random.below(5))));
    }
    REQUIRE(store.commit(commit_of("job", records)));
    std::vector<StepId> expected;
    const std::size_t groups = std::min(count, most);
    for (std::size_t group = 0; group < groups; ++group) {
      // Group g has the steps i with g * count <= i * groups < (g + 1) * count.
      const std::size_t first = (group * count + groups - 1) / groups;
      const std::size_t end = ((group + 1) * count + groups - 1) / groups;
      const auto worst = std::max_element(records.begin() + static_cast<std::ptrdiff_t>(first),
                                          records.begin() + static_cast<std::ptrdiff_t>(end),
                                          [](const StepRecord& a, const StepRecord& b) {
                                            return a.result.totals.slowdown < b.result.totals.slowdown;
                                          });
      expected.push_back(worst->result.totals.id);
    }
    CHECK(ids_of(store.steps("job", {.most = most})) == expected);
  }
}

TEST_CASE(
    "monitor store: very many steps are told by the worst of blocks of 16, the worst of all among them") {
  const StoreFolder folder;
  MonitorStore store = open_store(folder);
  std::vector<StepRecord> records;
  for (std::int64_t i = 0; i < 1000; ++i)
    records.push_back(plain_step({static_cast<std::int32_t>(i / 400), i}, 1, i % 16 == 5 ? 2 : 1.5));
  records[777].result.totals.slowdown = 3;
  REQUIRE(store.commit(commit_of("job", records)));
  const std::vector<StepId> ids = ids_of(store.steps("job", {.from = {}, .to = {}, .most = 20}));
  CHECK(ids.size() == 20);
  CHECK(std::is_sorted(ids.begin(), ids.end()));
  for (const StepId id : ids) CHECK((id.step % 16 == 5 || id.step == 777));
  CHECK(std::count(ids.begin(), ids.end(), StepId{1, 777}) == 1);
  for (const StepId id : ids_of(store.steps("job", {.from = StepId{0, 7}, .to = StepId{2, 900}, .most = 20})))
    CHECK((id >= StepId{0, 7} && id <= StepId{2, 900}));
}

TEST_CASE("monitor store: a worker over time, evenly spread over steps with maps") {
  const StoreFolder folder;
  MonitorStore store = open_store(folder);
  std::vector<StepRecord> records;
  for (std::int64_t i = 0; i < 10; ++i)
    records.push_back(plain_step({0, i}, static_cast<double>(100 + i), 1.5));
  records[4].result.worker_slowdown.clear();  // it was not analysed
  REQUIRE(store.commit(commit_of("job", records)));
  const auto steps_of = [](const Result<std::vector<WorkerPoint>>& history) {
    REQUIRE_MESSAGE(history, message_in(history));
    std::vector<std::int64_t> steps;
    for (const WorkerPoint& point : *history) steps.push_back(point.id.step);
    return steps;
  };
  CHECK(steps_of(store.worker_history("job", 1, {})) == std::vector<std::int64_t>{0, 1, 2, 3, 5, 6, 7, 8, 9});
  // Of 9 maps number 0, 4 and 8.
  CHECK(steps_of(store.worker_history("job", 1, {.most = 3})) == std::vector<std::int64_t>{0, 5, 9});
  CHECK(steps_of(store.worker_history("job", 1, {.most = 1})) == std::vector<std::int64_t>{9});
  CHECK(steps_of(store.worker_history("job", 1, {.most = 2, .newest_first = true})) ==
        std::vector<std::int64_t>{8, 9});
  CHECK(steps_of(store.worker_history("job", 4, {})).empty());  // there are four
  const auto history = store.worker_history("job", 1, {.from = StepId{0, 3}, .to = StepId{0, 3}});
  REQUIRE(history->size() == 1);
  CHECK(history->front().began_s == 101);
  CHECK(history->front().slowdown == std::exp(0.2231));  // 1.25
}

TEST_CASE("monitor store: incidents come back whole, and each commit says how they are now") {
  const StoreFolder folder;
  MonitorStore store = open_store(folder);
  std::vector<Incident> stored;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random(seed, "incidents");
    StepCommit commit = commit_of(seed % 2 == 0 ? "even" : "odd", {});
    Incident incident = random_incident(random, {0, static_cast<std::int64_t>(seed)});
    incident.job = commit.job;
    commit.incidents = {incident};
    const auto done = store.commit(commit);
    REQUIRE_MESSAGE(done, message_in(done));
    stored.push_back(std::move(incident));
  }
  StepCommit closing = commit_of("even", {});
  stored[2].closed_s = 77.5;
  stored[2].closed_at = StepId{1, 5};
  stored[2].closed_by = "ann";
  stored[2].verdict.subject = {"host", "host:n3"};
  stored[2].last_seen = {1, 4};
  closing.incidents = {stored[2]};
  REQUIRE(store.commit(closing));
  const auto all = store.incidents("", false, 100);
  REQUIRE_MESSAGE(all, message_in(all));
  REQUIRE(all->size() == 20);
  for (std::size_t i = 0; i < 20; ++i) {
    INFO("incident " << i);
    CHECK((*all)[i] == stored[19 - i]);
    CHECK(*store.incident(stored[i].key) == stored[i]);
  }
  CHECK(store.incidents("even", false, 100)->size() == 10);
  CHECK(store.incidents("even", true, 100)->size() == 9);
  CHECK(store.incidents("", true, 3)->size() == 3);
  CHECK((*store.job("even"))->open_incidents == 9);
  CHECK(!(*store.incident("goodput-0")).has_value());
}

TEST_CASE("monitor store: an incident may open and close in one commit, and each sink is told both") {
  const StoreFolder folder;
  MonitorStore store = open_store(folder);
  RandomStream random(1, "both");
  StepCommit commit = commit_of("job", {});
  commit.incidents = {random_incident(random, {0, 1}), random_incident(random, {0, 1})};
  commit.incidents[1].closed_s = 5;
  const std::string key = commit.incidents[1].key;
  commit.notices = {{commit.incidents[0].key, IncidentEvent::kOpens},
                    {key, IncidentEvent::kOpens},
                    {key, IncidentEvent::kCloses}};
  commit.sinks = {"hook", "stderr"};
  REQUIRE(store.commit(commit));
  CHECK((*store.incident(commit.incidents[0].key))->is_open());
  CHECK(!(*store.incident(key))->is_open());
  const auto due = store.deliveries();
  REQUIRE(due);
  REQUIRE(due->size() == 6);
  CHECK(due->at(4).incident == key);
  CHECK(due->at(4).event == IncidentEvent::kCloses);
  CHECK(due->at(4).sink == "hook");
  commit.notices = {{"goodput-0", IncidentEvent::kOpens}};
  CHECK_THROWS_AS(static_cast<void>(store.commit(commit)), InternalError);
}

TEST_CASE("monitor store: deliveries wait in the order in which they were queued") {
  const StoreFolder folder;
  MonitorStore store = open_store(folder);
  RandomStream random(1, "due");
  StepCommit commit = commit_of("job", {});
  commit.incidents = {random_incident(random, {0, 1})};
  commit.notices = {{commit.incidents.front().key, IncidentEvent::kOpens}};
  commit.sinks = {"a", "b", "c", "d"};
  REQUIRE(store.commit(commit));
  std::vector<Delivery> due = *store.deliveries();
  REQUIRE(due.size() == 4);
  CHECK(due[0].attempts == 0);
  REQUIRE(store.finish_delivery(due[1].id));
  due[0].attempts = 3;
  due[0].next_try_s = 50;
  due[0].is_refused = true;
  due[2].next_try_s = 40;
  REQUIRE(store.update_delivery(due[0]));
  REQUIRE(store.update_delivery(due[2]));
  const auto later = store.deliveries();
  REQUIRE(later);
  REQUIRE(later->size() == 3);
  CHECK((*later)[0].sink == "a");
  CHECK((*later)[0].attempts == 3);
  CHECK((*later)[0].next_try_s == 50);
  CHECK((*later)[0].is_refused);
  CHECK((*later)[1].sink == "c");
  CHECK_FALSE((*later)[1].is_refused);
  CHECK((*later)[2].sink == "d");
}

TEST_CASE("monitor store: readers see whole commits while a writer is at work") {
  const StoreFolder folder;
  MonitorStore writer = open_store(folder);
  REQUIRE(writer.commit(commit_of("job", {plain_step({0, 0}, 1)})));
  auto reader = MonitorStore::open_for_reading(folder.file());
  REQUIRE_MESSAGE(reader, message_in(reader));
  for (std::int64_t i = 1; i < 50; ++i) {
    StepCommit commit = commit_of("job", {testing::step_with_rows({0, 2 * i}, static_cast<double>(i), 100),
                                          plain_step({0, 2 * i + 1}, static_cast<double>(i))});
    commit.intake_state = std::to_string(i);
    REQUIRE(writer.commit(commit));
    if (i % 7 == 0) REQUIRE(writer.thin_out(1e9));
    const auto state = reader->intake_state("job");
    REQUIRE_MESSAGE(state, message_in(state));
    CHECK(*state == std::to_string(i));
    CHECK(ids_of(reader->steps("job", {.most = 1, .newest_first = true})).size() <= 1);
    CHECK(*reader->has_step("job", {0, 2 * i}) == *reader->has_step("job", {0, 2 * i + 1}));
  }
  CHECK(!reader->commit(commit_of("job", {plain_step({9, 9}, 1)})));  // a reader is none
}

}  // namespace
}  // namespace goodput
