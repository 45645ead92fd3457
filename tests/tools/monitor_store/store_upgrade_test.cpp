// Databases of an older goodput: alerts become incidents, and nothing is lost.
#include "tools/monitor_store/store_upgrade.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/tools/monitor_store/random_steps.h"
#include "tools/monitor_store/blob_archive.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput {
namespace {

using testing::commit_of;
using testing::message_in;
using testing::plain_step;
using testing::StoreFolder;

// As schema 2 had them.
constexpr const char* kAlertTables = R"(
DROP TABLE incidents;
DROP TABLE deliveries;
CREATE TABLE alerts (
  id INTEGER PRIMARY KEY AUTOINCREMENT, job INTEGER NOT NULL, rule TEXT NOT NULL,
  opened_run INTEGER NOT NULL, opened_step INTEGER NOT NULL, opened_s REAL,
  closed_run INTEGER, closed_step INTEGER, closed_s REAL,
  slowdown REAL, cause TEXT NOT NULL,
  worker_dp_rank INTEGER, worker_stage INTEGER, worker_rank INTEGER, worker_host TEXT, worker_slowdown REAL,
  cost_s_per_step REAL, usd_per_day REAL, summary TEXT NOT NULL, next_check TEXT NOT NULL,
  fix BLOB NOT NULL, verdict TEXT NOT NULL, page TEXT NOT NULL, severity INTEGER NOT NULL
);
CREATE INDEX alerts_by_job ON alerts (job, closed_s);
CREATE TABLE deliveries (
  id INTEGER PRIMARY KEY AUTOINCREMENT, alert INTEGER NOT NULL, sink TEXT NOT NULL, closes INTEGER NOT NULL,
  attempts INTEGER NOT NULL, next_try_s REAL, refused INTEGER NOT NULL
);
UPDATE jobs SET alert_state = '{"version": 1}';
PRAGMA user_version = 2;
)";

std::string alert_row(std::int64_t id, const std::string& rule, std::int64_t step, const std::string& closed,
                      const std::string& worker, double lost_s, const std::string& summary) {
  return fmt::format(
      "INSERT INTO alerts VALUES ({}, 1, '{}', 0, {}, {}, {}, {}, '{}', {}, 1.3, {}, 240, '{}', 'check it', "
      "(SELECT content FROM fixes), '', 'http://here/jobs/llama', 1);",
      id, rule, step, 1000 + step, closed, lost_s > 0 ? "1.25" : "1", worker.empty() ? "" : "worker-fault",
      worker.empty() ? "NULL, NULL, NULL, NULL" : worker, lost_s, summary);
}

// One slow worker that three rules noticed, a closed alert, and messages on their way.
void make_old_database(const std::string& file) {
  {
    auto store = MonitorStore::open(file, {});
    REQUIRE_MESSAGE(store, message_in(store));
    REQUIRE(store->commit(commit_of("llama", {plain_step({0, 7}, 100, 1.5)})));
  }
  auto connection = StoreConnection::open(file, StoreConnection::Access::kWrite);
  REQUIRE(connection);
  REQUIRE((*connection)->run(kAlertTables));
  REQUIRE((*connection)->run("CREATE TEMP TABLE fixes (content BLOB)"));
  {
    auto insert = (*connection)->prepare("INSERT INTO fixes VALUES (?)");
    REQUIRE(insert);
    BlobWriter fix;
    fix(std::vector<std::string>{"worker=1:2"});
    insert->bind(SqlBlob{fix.bytes()});
    REQUIRE(insert->run());
  }
  const std::string open = "NULL, NULL, NULL";
  const std::string worker = "1, 2, 40, 'n3'";
  REQUIRE((*connection)->run(alert_row(1, "silence", 3, "0, 4, 1004", "", 0, "no step for 601 s")));
  REQUIRE((*connection)->run(alert_row(2, "cause", 16, open, worker, 2.5, "a slow worker")));
  REQUIRE((*connection)->run(alert_row(3, "straggling", 16, open, worker, 2.5, "S is 1.25")));
  REQUIRE((*connection)->run(alert_row(4, "worst-worker", 19, open, worker, 2.5, "the same worker")));
  REQUIRE((*connection)
              ->run("INSERT INTO deliveries VALUES (1, 1, 'hook', 1, 3, 50, 0), (2, 2, 'hook', 0, 0, 0, 0), "
                    "(3, 4, 'hook', 0, 0, 0, 1), (4, 3, 'hook', 1, 0, 0, 0)"));
}

TEST_CASE("monitor store: alerts of an older schema become incidents, one per job and subject that is open") {
  const StoreFolder folder;
  make_old_database(folder.file());
  auto store = MonitorStore::open(folder.file(), {});
  REQUIRE_MESSAGE(store, message_in(store));
  const auto incidents = store->incidents("llama", false, 10);
  REQUIRE_MESSAGE(incidents, message_in(incidents));
  REQUIRE(incidents->size() == 2);
  const Incident& silence = (*incidents)[1];
  CHECK(silence.closed_s == 1004);
  CHECK(silence.closed_at == StepId{0, 4});
  CHECK(silence.verdict.sentence == "no step for 601 s");
  CHECK(silence.verdict.subject.key == "job:silence");
  CHECK(silence.verdict.kind == kSilenceKind);
  CHECK_FALSE(silence.verdict.cost.has_value());  // no zero that nobody has measured
  CHECK_FALSE(silence.slowdown.has_value());
  const Incident& slow = (*incidents)[0];
  CHECK(slow.is_open());
  CHECK(slow.key.starts_with("goodput-2-"));  // by which receivers know it
  CHECK(slow.is_told);
  CHECK(slow.verdict.kind == "worker-fault");
  CHECK(slow.verdict.sentence == "a slow worker");
  CHECK(slow.verdict.workers == std::vector<Verdict::Worker>{{1, 2, 40, "n3"}});
  CHECK(slow.verdict.fix == std::vector<std::string>{"worker=1:2"});
  CHECK(slow.verdict.cost->s_per_step == 2.5);
  CHECK(slow.verdict.cost->step_s == doctest::Approx(12.5));  // 2.5 s of which 1 - 1/1.25 is lost
  CHECK(slow.usd_per_day == 240);
  std::vector<std::string> rules;
  for (const IncidentEvidence& evidence : slow.evidence) rules.push_back(evidence.rule);
  CHECK(rules == std::vector<std::string>{"cause", "straggling", "worst-worker"});
  // Messages keep their order, tries and sinks; that one of several alerts of an open incident has closed is
  // no news.
  const auto due = store->deliveries();
  REQUIRE_MESSAGE(due, message_in(due));
  REQUIRE(due->size() == 3);
  CHECK(due->at(0).incident == silence.key);
  CHECK(due->at(0).event == IncidentEvent::kCloses);
  CHECK(due->at(0).attempts == 3);
  CHECK(due->at(1).incident == slow.key);
  CHECK(due->at(2).incident == slow.key);
  CHECK(due->at(2).is_refused);
  // Everything else is as it was.
  CHECK((*store->job("llama"))->analysed == 1);
  CHECK((*store->job("llama"))->open_incidents == 1);
  CHECK((*store->step("llama", {0, 7}))->totals.slowdown == 1.5);
}

TEST_CASE("monitor store: a reader upgrades an older database first, and needs to write it for that") {
  const StoreFolder folder;
  make_old_database(folder.file());
  {
    const auto writer = StoreConnection::open(folder.file(), StoreConnection::Access::kWrite);
    REQUIRE(writer);
    CHECK(message_in(MonitorStore::open_for_reading(folder.file())) ==
          folder.file() +
              ": another process is writing to this file; stop that process, or use another file");
  }
  auto reader = MonitorStore::open_for_reading(folder.file());
  REQUIRE_MESSAGE(reader, message_in(reader));
  CHECK(reader->incidents("", false, 10)->size() == 2);
  CHECK(MonitorStore::open_for_reading(folder.file()));
}

TEST_CASE("monitor store: an older database with a damaged alert is refused, and stays as it is") {
  const StoreFolder folder;
  make_old_database(folder.file());
  const auto damage = [&folder](const std::string& sql) {
    auto connection = StoreConnection::open(folder.file(), StoreConnection::Access::kWrite);
    REQUIRE((*connection)->run(sql));
  };
  damage("UPDATE alerts SET verdict = 'x' WHERE id = 3");
  CHECK(message_in(MonitorStore::open(folder.file(), {})) == folder.file() + ": contains a damaged verdict");
  damage("UPDATE alerts SET verdict = '', fix = x'ff' WHERE id = 3");
  CHECK(message_in(MonitorStore::open(folder.file(), {})) == folder.file() + ": contains damaged text");
  auto connection = StoreConnection::open(folder.file(), StoreConnection::Access::kRead);
  REQUIRE(connection);
  CHECK((*connection)->integer_of("PRAGMA user_version").value() == 2);
  CHECK((*connection)->integer_of("SELECT count(*) FROM alerts").value() == 4);
}

}  // namespace
}  // namespace goodput
