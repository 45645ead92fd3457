// The thread that makes results: a fault of goodput stops nobody, and people can act on incidents.
#include "tools/monitor/step_worker.h"

#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/stepped_job.h"
#include "tests/tools/monitor_store/random_steps.h"

namespace goodput {
namespace {

using testing::message_in;
using testing::StoreFolder;

AlertRules cause_rules() {
  return {
      {"cause", CauseRule{{}, {.above = 1.05, .close_below = {}}, {.steps = 2, .of = 2, .close_steps = 2}}}};
}

// A worker whose steps are made up: step N is what `results[N]` says.
class WorkerRun {
 public:
  explicit WorkerRun(std::vector<StepResult> results) : results_(std::move(results)) {
    auto store = MonitorStore::open(folder_.file(), {});
    REQUIRE_MESSAGE(store, message_in(store));
    store_.emplace(*std::move(store));
    StepWorkerOptions options;
    options.rules = cause_rules();
    options.sinks = {"hook"};
    options.analyze = [this](const GatheredStep& step, const JobFacts&, unsigned) {
      const StepResult& result = results_.at(static_cast<std::size_t>(step.id.step));
      if (result.problem == "throw") throw std::runtime_error("a broken invariant");
      return AnalysedStep{result, {}};
    };
    worker_.emplace(*store_, queue_, status_, std::move(options), StepListener{});
    worker_->start();
  }
  ~WorkerRun() { end(); }
  WorkerRun(const WorkerRun&) = delete;
  WorkerRun& operator=(const WorkerRun&) = delete;

  void push(std::int64_t number, const std::string& job = "job") {
    QueuedStep queued;
    queued.job.name = job;
    queued.step.id.step = number;
    queued.step.received_s = 5;
    queued.step.ops = 7;
    REQUIRE(queue_.push(std::move(queued), WhenFull::kWait));
    while (!queue_.is_idle(job)) std::this_thread::yield();
  }
  Result<std::optional<Incident>> act(IncidentAction action) { return worker_->act(std::move(action)).get(); }
  void end() {
    queue_.close(StepQueue::Waiting::kKeep);
    worker_->join();
  }

  StepWorker& worker() { return *worker_; }
  // After end().
  MonitorStore& store() { return *store_; }

 private:
  StoreFolder folder_;
  std::vector<StepResult> results_;
  StepQueue queue_{1000};
  MonitorStatus status_;
  std::optional<MonitorStore> store_;
  std::optional<StepWorker> worker_;
};

std::vector<StepResult> faulty_steps(int count) {
  SteppedJob job;
  std::vector<StepResult> steps;
  for (int i = 0; i < count; ++i) steps.push_back(job.faulty({{6, 1.3}}));
  return steps;
}

std::vector<IncidentEvent> events_of(MonitorStore& store) {
  std::vector<IncidentEvent> events;
  const std::vector<Delivery> deliveries = store.deliveries().value();
  for (const Delivery& delivery : deliveries) events.push_back(delivery.event);
  return events;
}

TEST_CASE("step worker: an internal error in one step makes it a refused one, and the monitor goes on") {
  std::vector<StepResult> steps = faulty_steps(3);
  steps[1].problem = "throw";
  WorkerRun run(steps);
  for (std::int64_t step = 0; step < 3; ++step) run.push(step);
  run.push(1, "other job");
  run.end();
  const auto refused = run.store().step("job", {0, 1});
  REQUIRE_MESSAGE(refused, message_in(refused));
  REQUIRE(refused->has_value());
  CHECK((*refused)->totals.status == StepStatus::kRefused);
  CHECK((*refused)->totals.ops == 7);
  CHECK((*refused)->problem ==
        "internal error in goodput: a broken invariant; please report it with the rows of this step");
  CHECK((*run.store().job("job"))->analysed == 2);
  CHECK((*run.store().job("other job"))->refused == 1);
}

TEST_CASE("step worker: an incident is stored with what was told of it, and its last step moves on") {
  WorkerRun run(faulty_steps(5));
  for (std::int64_t step = 0; step < 5; ++step) run.push(step);
  run.end();
  const std::vector<Incident> open = run.store().incidents("job", true, 10).value();
  REQUIRE(open.size() == 1);
  CHECK(open[0].opened_at == StepId{0, 1});
  CHECK(open[0].last_seen == StepId{0, 4});
  CHECK(events_of(run.store()) == std::vector<IncidentEvent>{IncidentEvent::kOpens});
  CHECK(run.store().deliveries().value()[0].incident == open[0].key);
}

TEST_CASE("step worker: a person acknowledges, mutes and ends an incident") {
  WorkerRun run(faulty_steps(8));
  for (std::int64_t step = 0; step < 3; ++step) run.push(step);
  const std::string key = incident_key("job", {"worker", "worker:1:2"}, {0, 1});
  using Kind = IncidentAction::Kind;
  CHECK_FALSE(run.act({Kind::kAcknowledge, "goodput-0", "ann", 0}).value().has_value());
  const auto acknowledged = run.act({Kind::kAcknowledge, key, "ann", 0}).value();
  REQUIRE(acknowledged.has_value());
  CHECK(acknowledged->acknowledged->by == "ann");
  CHECK(acknowledged->acknowledged->at_s > 1e9);
  const auto muted = run.act({Kind::kMute, key, "bob", 3600}).value();
  REQUIRE(muted.has_value());
  CHECK(muted->muted->until_s == muted->muted->at_s + 3600);
  const auto ended = run.act({Kind::kEnd, key, "cleo", 0}).value();
  REQUIRE(ended.has_value());
  CHECK(ended->closed_by == "cleo");
  CHECK_FALSE(run.act({Kind::kEnd, key, "cleo", 0}).value().has_value());
  // The fault is still there: its next incident is muted, and so its beginning and end are told to nobody.
  for (std::int64_t step = 3; step < 6; ++step) run.push(step);
  run.end();
  const std::vector<Incident> open = run.store().incidents("job", true, 10).value();
  REQUIRE(open.size() == 1);
  CHECK(open[0].muted->by == "bob");
  CHECK(events_of(run.store()) == std::vector<IncidentEvent>{IncidentEvent::kOpens, IncidentEvent::kCloses});
}

TEST_CASE("step worker: a muted incident is told when the mute runs out, and its end only if it was told") {
  WorkerRun run(faulty_steps(9));
  for (std::int64_t step = 0; step < 2; ++step) run.push(step);
  const std::string key = incident_key("job", {"worker", "worker:1:2"}, {0, 1});
  using Kind = IncidentAction::Kind;
  CHECK(run.act({Kind::kMute, key, "bob", 0.2}).value().has_value());
  CHECK(run.act({Kind::kEnd, key, "bob", 0}).value().has_value());
  for (std::int64_t step = 2; step < 4; ++step) run.push(step);  // opens muted
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  run.push(4);
  run.end();
  CHECK(events_of(run.store()) ==
        std::vector<IncidentEvent>{IncidentEvent::kOpens, IncidentEvent::kCloses, IncidentEvent::kOpens});
}

TEST_CASE("step worker: an action that comes too late breaks its promise instead of waiting for ever") {
  WorkerRun run(faulty_steps(1));
  run.push(0);
  std::future<Result<std::optional<Incident>>> done =
      run.worker().act({IncidentAction::Kind::kEnd, "goodput-0", "ann", 0});
  run.end();
  bool is_answered = true;
  try {
    is_answered = done.get().has_value();
  } catch (const std::future_error&) {
    is_answered = false;
  }
  CAPTURE(is_answered);  // either, depending on what the thread saw first; it must not hang
}

}  // namespace
}  // namespace goodput
