// One fault is one incident: it opens once, says whose fault it is, and closes when the fault is gone.
#include "sim/live/incident_book.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/stepped_job.h"

namespace goodput {
namespace {

using Workers = std::vector<std::pair<std::size_t, double>>;

AlertRule slowdown_rule(std::int32_t steps = 3, std::int32_t close_steps = 2) {
  return {"straggling",
          SlowdownRule{{.above = 1.2, .close_below = 1.1}, {.steps = steps, .close_steps = close_steps}}};
}
AlertRule cause_rule(std::int32_t steps = 3, std::int32_t of = 4) {
  return {"cause",
          CauseRule{{}, {.above = 1.05, .close_below = {}}, {.steps = steps, .of = of, .close_steps = 2}}};
}
AlertRule worker_rule() {
  return {"worst-worker",
          WorkerRule{{.above = 1.05, .close_below = {}}, {.steps = 3, .of = 5, .close_steps = 2}}};
}
AlertRule silence_rule(double seconds, AlertSeverity severity = AlertSeverity::kError) {
  return {"silence", SilenceRule{seconds}, severity};
}
AlertRule incomplete_rule() {
  return {"incomplete", IncompleteRule{{.steps = 2, .of = 4, .close_steps = 3}}};
}
AlertRules slowness_rules() {
  return {slowdown_rule(), cause_rule(), worker_rule()};
}

IncidentBook book_of(AlertRules rules) {
  return {std::move(rules), {.job = "llama", .gpu_hour_usd = 2.0, .pages = "http://here"}};
}

// What happened, in order: "+worker:1:2;" opens, "*host:n3;" changes, "-host:n3;" closes.
std::string text_of(const IncidentChanges& changes) {
  std::string text;
  for (const IncidentChange& change : changes) {
    text += "+*-"[static_cast<std::size_t>(change.event)];
    text += change.incident.verdict.subject.key + ";";
  }
  return text;
}

// The same faults in so many steps.
std::string take(IncidentBook& book, SteppedJob& job, int steps, const Workers& workers,
                 const std::string& cause = "worker-fault") {
  std::string text;
  for (int step = 0; step < steps; ++step)
    text += text_of(book.take(workers.empty() ? job.healthy() : job.faulty(workers, cause)));
  return text;
}

std::string key_of(const IncidentBook& book) {
  REQUIRE(book.open().size() == 1);
  return book.open().front().key;
}

// ---- One fault, one incident.

TEST_CASE("incidents: a slow worker opens one incident, although three rules notice it") {
  SteppedJob job;
  IncidentBook book = book_of(slowness_rules());
  CHECK(take(book, job, 3, {{6, 1.25}}) == "+worker:1:2;");
  CHECK(take(book, job, 20, {{6, 1.25}}).empty());
  REQUIRE(book.open().size() == 1);
  const Incident& incident = book.open().front();
  CHECK(incident.job == "llama");
  CHECK(incident.opened_at == StepId{0, 2});
  CHECK(incident.last_seen == StepId{0, 22});
  CHECK(incident.key == incident_key("llama", {"worker", "worker:1:2"}, {0, 2}));
  CHECK(incident.page == "http://here/incidents/" + incident.key);
  CHECK(incident.verdict.kind == "worker-fault");
  REQUIRE(incident.verdict.workers.size() == 1);
  CHECK(incident.verdict.workers[0] == Verdict::Worker{1, 2, 48, "n3"});
  CHECK(incident.slowdown == doctest::Approx(1.25));
  CHECK(incident.verdict.cost->s_per_step == doctest::Approx(2.5));     // 12.5 s instead of 10 s
  CHECK(*incident.usd_per_day == doctest::Approx(128 * 2 * 24 * 0.2));  // GPUs, price, hours, 1 - 1/1.25
  std::set<std::string> rules;
  for (const IncidentEvidence& evidence : incident.evidence) rules.insert(evidence.rule);
  CHECK(rules == std::set<std::string>{"cause", "worst-worker"});
  CHECK(take(book, job, 2, {}) == "-worker:1:2;");
  CHECK(book.open().empty());
}

TEST_CASE("incidents: the sentence says since when, if earlier steps do not show the fault") {
  SteppedJob job;
  IncidentBook book = book_of(slowness_rules());
  take(book, job, 5, {});
  CHECK(take(book, job, 3, {{6, 1.25}}) == "+worker:1:2;");
  CHECK(book.open().front().verdict.since_step == 5);
  SteppedJob always;
  IncidentBook other = book_of(slowness_rules());
  take(other, always, 3, {{6, 1.25}});
  CHECK_FALSE(other.open().front().verdict.since_step.has_value());
  CHECK(other.open().front().verdict.sentence ==
        "One slow worker costs this job 20.0 % of its time: rank 48 (dp 1, stage 2, host n3) takes 1.25x as "
        "long as its peers. Without it a step would take 10.0 s instead of 12.5 s.");
}

TEST_CASE("incidents: two faults are two incidents, also if the second one begins later") {
  SteppedJob job;
  IncidentBook book = book_of(slowness_rules());
  CHECK(take(book, job, 4, {{6, 1.3}, {12, 1.2}}) == "+worker:1:2;+worker:3:0;");
  CHECK(take(book, job, 4, {{1, 1.4}, {6, 1.3}, {12, 1.2}}) == "+worker:0:1;");
  CHECK(take(book, job, 2, {{1, 1.4}}) == "-worker:1:2;-worker:3:0;");
  CHECK(take(book, job, 2, {}) == "-worker:0:1;");
}

TEST_CASE("incidents: slow workers of one host are one incident about the host") {
  SteppedJob job;
  job.layout().hosts = std::vector<std::string>(16, "a");
  for (std::size_t worker = 8; worker < 16; ++worker) job.layout().hosts[worker] = "b";
  IncidentBook book = book_of(slowness_rules());
  CHECK(take(book, job, 4, {{1, 1.4}, {4, 1.3}, {6, 1.2}}) == "+host:a;");
  CHECK(book.open().front().verdict.workers.size() == 3);
  CHECK(take(book, job, 2, {}) == "-host:a;");
}

TEST_CASE("incidents: a slow replica, a slow host and an uneven stage are one incident each") {
  for (const auto& [cause, key] : std::vector<std::pair<std::string, std::string>>{
           {"slow-replica", "replica:1"}, {"slow-host", "host:n2"}}) {
    SteppedJob job;
    IncidentBook book = book_of(slowness_rules());
    CHECK(take(book, job, 6, {{4, 1.3}, {5, 1.4}}, cause) == "+" + key + ";");
  }
  SteppedJob job;
  IncidentBook book = book_of({slowdown_rule(), cause_rule()});
  RootCause cause = likely_cause("stage-partition", 1.25);
  cause.stage = 3;
  std::string text;
  for (int step = 0; step < 6; ++step) text += text_of(book.take(job.caused(1.3, {cause})));
  CHECK(text == "+stage:3;");
}

TEST_CASE("incidents: a cause of more than eight workers is one incident about the job") {
  SteppedJob job;
  for (std::size_t worker = 0; worker < 16; ++worker) job.layout().hosts[worker] = fmt::format("h{}", worker);
  Workers many;
  for (std::size_t worker = 0; worker < 12; ++worker) many.emplace_back(worker, 1.3);
  IncidentBook book = book_of(slowness_rules());
  CHECK(take(book, job, 6, many) == "+job;");
}

// ---- What merges, widens and never splits.

TEST_CASE("incidents: a worker's incident widens to its host when a second worker of it gets slow") {
  SteppedJob job;
  IncidentBook book = book_of(slowness_rules());
  CHECK(take(book, job, 3, {{6, 1.3}}) == "+worker:1:2;");
  const std::string key = key_of(book);
  CHECK(take(book, job, 4, {{6, 1.3}, {7, 1.3}}) == "*host:n3;");
  CHECK(key_of(book) == key);
  // It does not split when one of the two is well again.
  CHECK(take(book, job, 20, {{6, 1.3}}).empty());
  CHECK(key_of(book) == key);
  CHECK(take(book, job, 2, {}) == "-host:n3;");
}

TEST_CASE("incidents: incidents about workers merge into the oldest when their replica is slow as a whole") {
  SteppedJob job;
  IncidentBook book = book_of({cause_rule()});
  CHECK(take(book, job, 3, {{4, 1.3}}) == "+worker:1:0;");
  CHECK(take(book, job, 3, {{4, 1.3}, {6, 1.3}}) == "+worker:1:2;");
  const std::string oldest = book.open().front().key;
  std::string text;
  std::string into;
  for (int step = 0; step < 4; ++step) {
    const IncidentChanges changes =
        book.take(job.faulty({{4, 1.3}, {5, 1.3}, {6, 1.3}, {7, 1.3}}, "slow-replica"));
    text += text_of(changes);
    for (const IncidentChange& change : changes) {
      if (change.event == IncidentEvent::kCloses) into = change.incident.merged_into;
    }
  }
  CHECK(text == "*replica:1;-worker:1:2;");
  CHECK(into == oldest);
  CHECK(key_of(book) == oldest);
  CHECK(take(book, job, 2, {}) == "-replica:1;");
}

TEST_CASE("incidents: one that others merge into keeps their severity, evidence and acknowledgment") {
  SteppedJob job;
  AlertRule rows = incomplete_rule();
  rows.severity = AlertSeverity::kCritical;
  IncidentBook book = book_of({cause_rule(), rows});
  take(book, job, 3, {{4, 1.3}});
  take(book, job, 3, {{4, 1.3}, {6, 1.3}});
  REQUIRE(book.open().size() == 2);
  const std::string younger = book.open().back().key;
  for (int step = 0; step < 2; ++step) book.take(job.other(StepStatus::kIncomplete, {{1, 2, 48, "n3"}}));
  CHECK(book.acknowledge(younger, {"ann", 1e9}));
  std::string text;
  for (int step = 0; step < 3; ++step)
    text += text_of(book.take(job.faulty({{4, 1.3}, {5, 1.3}, {6, 1.3}, {7, 1.3}}, "slow-replica")));
  CHECK(text == "*replica:1;-worker:1:2;");
  const Incident kept = book.open().front();
  CHECK(kept.severity == AlertSeverity::kCritical);
  CHECK(kept.acknowledged->by == "ann");
  CHECK(std::ranges::any_of(kept.evidence, [](const auto& one) { return one.rule == "incomplete"; }));
  Result<IncidentBook> again = IncidentBook::restore(
      {cause_rule(), rows}, {.job = "llama", .gpu_hour_usd = 2.0, .pages = "http://here"}, book.save(),
      book.open());
  REQUIRE(again.has_value());
  CHECK(take(*again, job, 12, {}) == take(book, job, 12, {}));
}

TEST_CASE("incidents: missing rows of a worker explain no slowness of the job") {
  SteppedJob job;
  IncidentBook book = book_of({slowdown_rule(), cause_rule(), incomplete_rule()});
  std::string text;
  for (int step = 0; step < 3; ++step) text += text_of(book.take(job.slow(1.5)));
  for (int step = 0; step < 2; ++step)
    text += text_of(book.take(job.other(StepStatus::kIncomplete, {{1, 2, 48, "n3"}})));
  CHECK(text == "+job;+worker:1:2;");
  CHECK(take(book, job, 3, {{12, 1.5}}) == "*worker:3:0;-worker:1:2;");
}

TEST_CASE("incidents: faults that hide each other close when all is well") {
  SteppedJob job;
  IncidentBook book = book_of({cause_rule()});
  CHECK(take(book, job, 3, {{6, 1.3}}) == "+worker:1:2;");
  RootCause stage = likely_cause("stage-partition", 1.5);
  stage.stage = 3;
  const std::vector<StepFault> two = job.caused(1.6, {stage, likely_cause("gc-pauses", 1.6)}).faults;
  CHECK(text_of(book.take_hidden(two)) == "+stage:3;+job;");
  take(book, job, 10, {});
  CHECK(book.open().empty());
}

TEST_CASE("incidents: a second rule for S raises the severity of the open incident") {
  SteppedJob job;
  AlertRule severe{"very-slow", SlowdownRule{{.above = 1.5, .close_below = {}}, {.steps = 5}},
                   AlertSeverity::kCritical};
  IncidentBook book = book_of({slowdown_rule(), severe});
  std::string text;
  for (int step = 0; step < 10; ++step) text += text_of(book.take(job.slow(2)));
  CHECK(text == "+job;*job;");
  CHECK(book.open().front().severity == AlertSeverity::kCritical);
}

TEST_CASE("incidents: a fault called the worker's in some steps and the host's in others is one incident") {
  SteppedJob job;
  IncidentBook book = book_of(slowness_rules());
  std::string text;
  for (int step = 0; step < 12; ++step) {
    text += text_of(
        book.take(step % 2 == 0 ? job.faulty({{6, 1.3}}) : job.faulty({{6, 1.3}, {7, 1.3}}, "slow-host")));
  }
  // The worker is seen in each of the first three steps, the host in two of four.
  CHECK(text == "+worker:1:2;");
}

TEST_CASE("incidents: a cause that is found late explains the incident that S opened") {
  SteppedJob job;
  IncidentBook book = book_of({slowdown_rule(), cause_rule()});
  std::string text;
  for (int step = 0; step < 3; ++step) text += text_of(book.take(job.slow(1.4)));
  CHECK(text == "+job;");
  CHECK(book.open().front().verdict.sentence ==
        "Stragglers cost this job 28.6 % of its time (S = 1.40, mean of 3 steps), and no single cause was "
        "found.");
  const std::string key = key_of(book);
  CHECK(take(book, job, 3, {{6, 1.4}}) == "*worker:1:2;");
  CHECK(key_of(book) == key);
  CHECK(take(book, job, 2, {}) == "-worker:1:2;");
}

TEST_CASE("incidents: slowness without a cause waits while a cause is open, and opens once that is gone") {
  SteppedJob job;
  IncidentBook book = book_of({slowdown_rule(), cause_rule()});
  CHECK(take(book, job, 20, {{6, 1.3}}) == "+worker:1:2;");
  std::string text;
  for (int step = 0; step < 3; ++step) text += text_of(book.take(job.slow(1.3)));
  CHECK(text == "-worker:1:2;+job;");
}

TEST_CASE("incidents: slowness waits for a cause that is about to be noticed, but not for ever") {
  SteppedJob job;
  IncidentBook book = book_of({slowdown_rule(3), cause_rule(4, 5)});
  CHECK(take(book, job, 4, {{6, 1.3}}) == "+worker:1:2;");
  // A cause that shows in every second step is never noticed; S is, five steps after its third.
  SteppedJob flickering;
  IncidentBook other = book_of({slowdown_rule(3), cause_rule(4, 5)});
  std::string text;
  for (int step = 0; step < 10; ++step)
    text += text_of(other.take(step % 2 == 0 ? flickering.faulty({{6, 1.3}}) : flickering.slow(1.3)));
  CHECK(text == "+job;");
}

TEST_CASE("incidents: a cause whose place alternates opens, about what the places share") {
  const auto opened = [](std::size_t even, std::size_t odd) {
    SteppedJob job;
    IncidentBook book = book_of({cause_rule(5, 6)});
    std::string text;
    for (int step = 0; step < 30; ++step) text += take(book, job, 1, {{step % 2 == 0 ? even : odd, 1.3}});
    return text;
  };
  CHECK(opened(6, 9) == "+worker:1:2;");  // three of the first five steps show this one
  SteppedJob job;
  IncidentBook book = book_of({cause_rule(5, 6)});
  std::string text;
  for (std::size_t step = 0; step < 30; ++step) text += take(book, job, 1, {{4 * (step % 4) + 2, 1.3}});
  CHECK(text == "+stage:2;");
  IncidentBook scattered = book_of({cause_rule(5, 6)});
  text.clear();
  for (std::size_t step = 0; step < 30; ++step) text += take(scattered, job, 1, {{5 * (step % 4), 1.3}});
  CHECK(text == "+job;");
}

TEST_CASE("incidents: a cause that one step in n + 1 does not show is noticed in time all the same") {
  for (int flicker = 0; flicker < 4; ++flicker) {
    SteppedJob job;
    IncidentBook book = book_of({cause_rule(3, 4)});
    std::string text;
    for (int step = 0; step < 4; ++step)
      text += text_of(book.take(step == flicker ? job.slow(1.3) : job.faulty({{6, 1.3}})));
    CHECK(text == "+worker:1:2;");
  }
}

TEST_CASE("incidents: the worker that costs most joins the incident that covers it, or is its own") {
  SteppedJob job;
  IncidentBook book = book_of({worker_rule()});
  std::string text;
  for (const std::size_t worst : {3U, 7U, 3U, 9U, 3U}) {
    StepResult step = job.faulty({{worst, 1.1}});
    step.faults.clear();
    text += text_of(book.take(step));
  }
  CHECK(text == "+worker:0:3;");
  CHECK(book.open().front().verdict.sentence ==
        "One worker costs this job more time than any other in 3 of the last 5 steps: rank 24 (dp 0, stage "
        "3, host n1). No cause was found.");
  CHECK_FALSE(book.open().front().verdict.cost.has_value());  // nobody has measured it yet
  const std::string key = key_of(book);
  IncidentBook with_cause = book_of({worker_rule(), cause_rule()});
  RootCause cause = likely_cause("stage-partition", 1.25);
  cause.stage = 3;
  text.clear();
  for (int step = 0; step < 12; ++step) {
    StepResult uneven = job.caused(1.3, {cause});
    uneven.totals.worst_worker = 7;
    uneven.totals.worst_slowdown = 1.2;
    text += text_of(with_cause.take(uneven));
  }
  CHECK(text == "+stage:3;");
}

TEST_CASE("incidents: one that a larger one hides stays open, and says when it was last visible") {
  SteppedJob job;
  IncidentBook book = book_of({cause_rule()});
  RootCause small = likely_cause("gc-pauses", 1.1);
  RootCause large = likely_cause("stage-partition", 1.5);
  large.stage = 3;
  std::string text;
  for (int step = 0; step < 5; ++step) text += text_of(book.take(job.caused(1.1, {small})));
  for (int step = 0; step < 20; ++step) text += text_of(book.take(job.caused(1.6, {large})));
  CHECK(text == "+job;-job;+stage:3;");  // it was gone before the larger one opened
  IncidentBook patient = book_of(
      {{"cause",
        CauseRule{{}, {.above = 1.05, .close_below = {}}, {.steps = 3, .of = 4, .close_steps = 10}}}});
  SteppedJob again;
  text.clear();
  for (int step = 0; step < 5; ++step) text += text_of(patient.take(again.caused(1.1, {small})));
  for (int step = 0; step < 30; ++step) text += text_of(patient.take(again.caused(1.6, {large})));
  CHECK(text == "+job;+stage:3;");
  CHECK(patient.open().front().last_seen == StepId{0, 4});
  // Once the larger one has closed (after ten steps), ten more close it.
  text.clear();
  for (int step = 0; step < 19; ++step) text += text_of(patient.take(again.healthy()));
  CHECK(text == "-stage:3;");
  CHECK(text_of(patient.take(again.healthy())) == "-job;");
}

TEST_CASE("incidents: a hidden worker that keeps pace with its peers again is not hidden but well") {
  SteppedJob job;
  IncidentBook book =
      book_of({{"cause",
                CauseRule{{}, {.above = 1.05, .close_below = {}}, {.steps = 3, .of = 4, .close_steps = 5}}}});
  CHECK(take(book, job, 3, {{6, 1.1}}) == "+worker:1:2;");
  RootCause large = likely_cause("stage-partition", 1.5);
  large.stage = 3;
  const auto hidden = [&](double pace) {
    StepResult step = job.caused(1.6, {large});
    step.worker_pace.assign(16, 1);
    step.worker_pace[6] = pace;
    return text_of(book.take(step));
  };
  std::string text;
  for (int step = 0; step < 20; ++step) text += hidden(1.1);
  CHECK(text == "+stage:3;");
  text.clear();
  for (int step = 0; step < 5; ++step) text += hidden(1.0);
  CHECK(text == "-worker:1:2;");
}

TEST_CASE("incidents: a fault that a larger one hides opens with it, and stays as long as it may be hidden") {
  SteppedJob job;
  IncidentBook book = book_of({cause_rule()});
  CHECK(take(book, job, 3, {{6, 1.3}}) == "+worker:1:2;");
  RootCause behind = likely_cause("stage-partition", 1.5);
  behind.stage = 3;
  const std::vector<StepFault> hidden = job.caused(1.6, {behind}).faults;
  CHECK(text_of(book.take_hidden(hidden)) == "+stage:3;");
  CHECK(book.take_hidden(hidden).empty());  // it is open
  CHECK(take(book, job, 30, {{6, 1.3}}).empty());
  CHECK(book.open().back().last_seen == StepId{0, 2});
  // The worker is well: the stage shows now, and is an incident like any other.
  std::string text;
  for (int step = 0; step < 5; ++step) text += text_of(book.take(job.caused(1.5, {behind})));
  CHECK(text == "-worker:1:2;");
  CHECK(take(book, job, 2, {}) == "-stage:3;");
}

TEST_CASE("incidents: a hidden fault that gains too little, or lies within an open incident, opens nothing") {
  SteppedJob job;
  IncidentBook book = book_of({cause_rule()});
  CHECK(take(book, job, 3, {{6, 1.3}}) == "+worker:1:2;");
  CHECK(book.take_hidden(job.faulty({{6, 1.5}}).faults).empty());
  CHECK(book.take_hidden(job.faulty({{9, 1.1}}).faults).empty());  // the rule wants 1.05 of what steps show
  // One that was never hidden but wrongly seen closes with the fault it was seen behind.
  CHECK(text_of(book.take_hidden(job.faulty({{9, 1.2}}).faults)) == "+worker:2:1;");
  CHECK(take(book, job, 4, {}) == "-worker:1:2;-worker:2:1;");
}

// ---- Levels and patience.

TEST_CASE("incidents: S opens at the n-th slow step, and closes m steps below the lower level") {
  SteppedJob job;
  IncidentBook book = book_of({slowdown_rule()});
  CHECK(book.take(job.slow(1.3)).empty());
  CHECK(book.take(job.slow(1.2)).empty());  // not above 1.2: begins anew
  CHECK(book.take(job.slow(1.3)).empty());
  CHECK(book.take(job.slow(1.3)).empty());
  const IncidentChanges opened = book.take(job.slow(1.24));
  REQUIRE(opened.size() == 1);
  CHECK(*opened[0].incident.slowdown == doctest::Approx(1.28));  // (1.3 + 1.3 + 1.24) / 3
  CHECK(opened[0].incident.opened_at == StepId{0, 4});
  for (int step = 0; step < 5; ++step) CHECK(book.take(job.slow(1.5)).empty());
  CHECK(book.take(job.slow(1.05)).empty());
  CHECK(book.take(job.slow(1.15)).empty());  // between the levels: neither
  CHECK(book.take(job.slow(1.05)).empty());
  const IncidentChanges closed = book.take(job.slow(1.05));
  REQUIRE(closed.size() == 1);
  CHECK(closed[0].event == IncidentEvent::kCloses);
  CHECK(closed[0].incident.closed_at == StepId{0, 13});
  CHECK(closed[0].incident.closed_s == 1e9 + 20 * 13 + 13);
  CHECK(closed[0].incident.opened_at == StepId{0, 4});
}

TEST_CASE("incidents: the rule of a named cause lets others pass") {
  SteppedJob job;
  AlertRule rule = cause_rule(1, 1);
  std::get<CauseRule>(rule.condition).cause = "slow-host";
  IncidentBook book = book_of({rule});
  CHECK(take(book, job, 3, {{6, 1.3}}).empty());
  CHECK(take(book, job, 1, {{6, 1.3}}, "slow-host") == "+host:n3;");
}

TEST_CASE("incidents: a cause that is not likely, or whose fix gains too little, opens nothing") {
  SteppedJob job;
  IncidentBook book = book_of({cause_rule(1, 1)});
  RootCause cause = likely_cause("gc-pauses", 1.3);
  cause.likely = false;
  CHECK(book.take(job.caused(1.3, {cause})).empty());
  CHECK(book.take(job.caused(1.3, {likely_cause("gc-pauses", 1.05)})).empty());
}

TEST_CASE("incidents: a rule has at most 16 incidents open") {
  SteppedJob job;
  for (std::size_t worker = 0; worker < 16; ++worker) job.layout().hosts[worker] = fmt::format("h{}", worker);
  job.layout().dp_size = 8;
  job.layout().ranks.resize(32);
  job.layout().hosts.resize(32);
  AlertRule rule = cause_rule(1, 1);
  std::get<CauseRule>(rule.condition).patience.close_steps = 10;
  IncidentBook book = book_of({rule});
  std::size_t opened = 0;
  for (std::size_t first = 0; first < 24; first += 8) {
    RootCause cause = likely_cause("worker-fault", 1.3);
    for (std::size_t worker = first; worker < first + 8; ++worker) cause.workers.push_back({worker, 1.3, {}});
    opened += book.take(job.caused(1.5, {cause})).size();
  }
  CHECK(opened == 16);
}

// ---- Silence and missing rows.

TEST_CASE("incidents: a job without a new step for t seconds is silent, but not before its first step") {
  SteppedJob job;
  IncidentBook book = book_of({silence_rule(100)});
  for (int i = 0; i < 10; ++i) CHECK(book.wait(50, 1e9 + 50 * i).empty());
  const StepResult step = job.healthy();
  const double done_s = step.totals.finished_s;
  CHECK(book.take(step).empty());
  CHECK(book.wait(50, done_s + 50).empty());
  CHECK(book.wait(49, done_s + 99).empty());
  const IncidentChanges opened = book.wait(2, done_s + 101);
  REQUIRE(opened.size() == 1);
  const Incident& incident = opened[0].incident;
  CHECK(incident.verdict.sentence == "No step of this job has finished for 101 s; the last one was step 0.");
  CHECK(incident.opened_at == StepId{0, 0});
  CHECK(incident.opened_s == done_s + 101);
  CHECK(incident.severity == AlertSeverity::kError);
  CHECK_FALSE(incident.slowdown.has_value());
  CHECK_FALSE(incident.verdict.cost.has_value());
  CHECK(*incident.usd_per_day == doctest::Approx(128 * 2 * 24));  // all of it stands still
  CHECK(book.wait(49, done_s + 150).empty());
  // Even a step that is left out shows that the job runs.
  CHECK(text_of(book.take(job.other(StepStatus::kSkipped))) == "-job:silence;");
}

TEST_CASE("incidents: silence that somebody ended does not open again before the next step") {
  SteppedJob job;
  IncidentBook book = book_of({silence_rule(100)});
  const double now_s = job.healthy().totals.finished_s;
  CHECK(book.take(job.healthy()).empty());
  CHECK(text_of(book.wait(101, now_s + 101)) == "+job:silence;");
  CHECK(book.end(key_of(book), {"ann", now_s + 110}).has_value());
  CHECK(book.wait(500, now_s + 610).empty());
  CHECK(book.take(job.healthy()).empty());
  CHECK(text_of(book.wait(101, now_s + 900)) == "+job:silence;");
}

TEST_CASE("incidents: silence stays evidence of its incident when somebody ends another one") {
  SteppedJob job;
  const AlertRules rules = {cause_rule(), silence_rule(100)};
  IncidentBook book = book_of(rules);
  take(book, job, 3, {{6, 1.3}});
  const std::string slow = key_of(book);
  CHECK(text_of(book.wait(101, 2e9)) == "+job:silence;");
  CHECK(book.end(slow, {"ann", 2e9}).has_value());
  auto again = IncidentBook::restore(rules, {.job = "llama", .gpu_hour_usd = {}, .pages = {}}, book.save(),
                                     book.open());
  REQUIRE(again.has_value());
  CHECK(text_of(again->take(job.healthy())) == "-job:silence;");
}

TEST_CASE("incidents: a step of an earlier run ends silence, too") {
  SteppedJob job;
  IncidentBook book = book_of({silence_rule(100)});
  StepResult late = job.healthy();
  job.begin_run(0);
  CHECK(book.take(job.healthy()).empty());
  CHECK(text_of(book.wait(101, 2e9)) == "+job:silence;");
  CHECK(text_of(book.take(late)) == "-job:silence;");
}

TEST_CASE("incidents: steps whose rows do not come name the worker that is missing, and claim no cost") {
  SteppedJob job;
  IncidentBook book = book_of({incomplete_rule()});
  const WorkerPlace lost{2, 1, 72, "n4"};
  CHECK(book.take(job.other(StepStatus::kIncomplete, {lost})).empty());
  CHECK(book.take(job.healthy()).empty());
  const IncidentChanges opened = book.take(job.other(StepStatus::kIncomplete, {lost}));
  REQUIRE(opened.size() == 1);
  const Incident& incident = opened[0].incident;
  CHECK(incident.verdict.subject.key == "worker:2:1");
  CHECK(
      incident.verdict.sentence ==
      "Rows of rank 72 (dp 2, stage 1, host n4) were missing in 2 of the last 3 steps, so these steps could "
      "not be analyzed.");
  CHECK_FALSE(incident.slowdown.has_value());
  CHECK_FALSE(incident.verdict.cost.has_value());
  CHECK_FALSE(incident.usd_per_day.has_value());
  CHECK(book.take(job.other(StepStatus::kRefused)).empty());  // all rows were there
  CHECK(book.take(job.healthy()).empty());
  CHECK(text_of(book.take(job.healthy())) == "-worker:2:1;");
}

TEST_CASE("incidents: missing rows are about what the workers share: their host, their replica, or the job") {
  const auto subject = [](const std::vector<WorkerPlace>& missing) {
    SteppedJob job;
    IncidentBook book = book_of({incomplete_rule()});
    IncidentChanges changes;
    for (int step = 0; step < 2; ++step) changes = book.take(job.other(StepStatus::kIncomplete, missing));
    return text_of(changes) + " " + changes.at(0).incident.verdict.sentence.substr(0, 34);
  };
  CHECK(subject({{2, 1, 72, "n4"}, {2, 0, 64, "n4"}}) == "+host:n4; Rows of 2 workers on host n4 were ");
  CHECK(subject({{2, 1, 72, "n4"}, {2, 2, 80, "n5"}}) == "+replica:2; Rows of 2 workers of replica 2 wer");
  CHECK(subject({{2, 1, 72, ""}, {3, 2, 112, ""}}) == "+job; Rows of 2 workers were missing in ");
  CHECK(subject({{2, 1, -1, ""}}) == "+worker:2:1; Rows of the worker at dp 2, stage ");
}

TEST_CASE("incidents: steps that were skipped, refused or incomplete say nothing about slowness") {
  SteppedJob job;
  IncidentBook book = book_of(slowness_rules());
  std::string text;
  for (int i = 0; i < 2; ++i) {
    text += take(book, job, 1, {{6, 1.3}});
    for (const StepStatus status : {StepStatus::kSkipped, StepStatus::kRefused, StepStatus::kIncomplete})
      text += text_of(book.take(job.other(status)));
  }
  CHECK(text.empty());
  CHECK(take(book, job, 1, {{6, 1.3}}) == "+worker:1:2;");
}

// ---- Runs, moves, people.

TEST_CASE("incidents: a new run begins its counts anew; what is open stays until its steps close it") {
  SteppedJob job;
  IncidentBook book = book_of({slowdown_rule(3, 2), cause_rule(2, 2)});
  CHECK(take(book, job, 2, {{6, 1.3}}) == "+worker:1:2;");
  job.begin_run(0);
  CHECK(take(book, job, 1, {{6, 1.3}}).empty());
  CHECK(book.open().size() == 1);
  CHECK(take(book, job, 2, {}) == "-worker:1:2;");
  // A step of a run that is over changes nothing.
  StepResult late = job.slow(2);
  late.totals.id.run = 0;
  for (int i = 0; i < 5; ++i) CHECK(book.take(late).empty());
}

TEST_CASE("incidents: one about a worker closes when that worker is on another host or no longer there") {
  SteppedJob job;
  IncidentBook book = book_of({cause_rule(2, 2)});
  take(book, job, 2, {{6, 1.3}, {12, 1.3}});
  CHECK(book.open().size() == 2);
  job.begin_run(0);
  job.layout().hosts[6] = "spare";
  CHECK(text_of(book.take(job.healthy())) == "-worker:1:2;");
  job.begin_run(0);
  job.layout().dp_size = 2;
  job.layout().ranks.resize(8);
  job.layout().hosts.resize(8);
  CHECK(text_of(book.take(job.healthy())) == "-worker:3:0;");
}

TEST_CASE("incidents: a person acknowledges, mutes and ends an incident, with a name and a time") {
  SteppedJob job;
  IncidentBook book = book_of({cause_rule()});
  take(book, job, 3, {{6, 1.3}});
  const std::string key = key_of(book);
  const double now_s = book.open().front().opened_s;
  CHECK(book.open().front().state(now_s) == IncidentState::kOpen);
  CHECK_FALSE(book.acknowledge("goodput-0", {"ann", now_s}));
  CHECK(book.acknowledge(key, {"ann", now_s + 1}));
  CHECK(book.open().front().state(now_s) == IncidentState::kAcknowledged);
  CHECK(book.mute(key, {"bob", now_s + 2, now_s + 100}));
  CHECK(book.open().front().state(now_s + 2) == IncidentState::kMuted);
  CHECK(book.open().front().state(now_s + 100) == IncidentState::kAcknowledged);
  const std::optional<IncidentChange> ended = book.end(key, {"cleo", now_s + 3});
  REQUIRE(ended.has_value());
  CHECK(ended->event == IncidentEvent::kCloses);
  CHECK(ended->incident.closed_by == "cleo");
  CHECK(ended->incident.closed_s == now_s + 3);
  CHECK(ended->incident.state(now_s + 3) == IncidentState::kClosed);
  CHECK_FALSE(book.end(key, {"cleo", now_s}).has_value());
  // The fault is still there: it opens anew after as many steps as for any fault, and is muted still.
  CHECK(take(book, job, 2, {{6, 1.3}}).empty());
  CHECK(take(book, job, 1, {{6, 1.3}}) == "+worker:1:2;");
  CHECK(key_of(book) != key);
  CHECK(book.open().front().is_muted(now_s + 99));
}

TEST_CASE("incidents: a mute of a warning does not silence something more severe that opens later") {
  SteppedJob job;
  AlertRule severe = cause_rule();
  severe.severity = AlertSeverity::kCritical;
  IncidentBook book = book_of({cause_rule()});
  take(book, job, 3, {{6, 1.3}});
  CHECK(book.mute(key_of(book), {"bob", 1e9, 3e9}));
  const auto continued = [&book](const AlertRule& rule) {
    auto again =
        IncidentBook::restore({rule}, {.job = "llama", .gpu_hour_usd = {}, .pages = {}}, book.save(), {});
    REQUIRE(again.has_value());
    return *std::move(again);
  };
  IncidentBook same = continued(cause_rule());
  take(same, job, 4, {{6, 1.3}});
  CHECK(same.open().front().muted.has_value());
  IncidentBook worse = continued(severe);
  take(worse, job, 4, {{6, 1.3}});
  CHECK_FALSE(worse.open().front().muted.has_value());
}

TEST_CASE("incidents: evidence of a higher severity lifts a mute") {
  SteppedJob job;
  AlertRule error = incomplete_rule();
  error.severity = AlertSeverity::kError;
  IncidentBook book = book_of({cause_rule(), error});
  take(book, job, 3, {{6, 1.3}});
  const std::string key = key_of(book);
  CHECK(book.mute(key, {"bob", 1e9, 3e9}));
  std::string text;
  for (int step = 0; step < 2; ++step)
    text += text_of(book.take(job.other(StepStatus::kIncomplete, {{1, 2, 48, "n3"}})));
  CHECK(text == "*worker:1:2;");
  CHECK(key_of(book) == key);
  CHECK_FALSE(book.open().front().muted.has_value());
  CHECK(book.open().front().verdict.kind == "worker-fault");  // what it costs is still the headline
}

TEST_CASE("incidents: slowness whose cause a closer look finds at once is an incident about that cause") {
  SteppedJob job;
  IncidentBook book = book_of({slowdown_rule()});
  for (int step = 0; step < 3; ++step) book.take(job.slow(1.4));
  Verdict closer;
  closer.kind = "communication-flap";
  closer.subject = {"worker", "worker:1:2"};
  const Incident found = book.explain(key_of(book), closer);
  CHECK(found.key == incident_key("llama", {"worker", "worker:1:2"}, {0, 2}));
  CHECK(found.page == "http://here/incidents/" + found.key);
  CHECK(found.verdict.subject.key == "worker:1:2");
  CHECK(key_of(book) == found.key);
  CHECK(text_of(book.take(job.slow(1.4))).empty());  // it is still the evidence
  book.take(job.healthy());
  CHECK(text_of(book.take(job.healthy())) == "-worker:1:2;");
  // Later it is known by its key.
  SteppedJob other;
  IncidentBook late = book_of({slowdown_rule()});
  for (int step = 0; step < 4; ++step) late.take(other.slow(1.4));
  CHECK(late.explain(key_of(late), closer).verdict.subject.key == "job");
}

TEST_CASE("incidents: a closer look replaces the verdict, not the subject") {
  SteppedJob job;
  IncidentBook book = book_of({cause_rule()});
  take(book, job, 3, {{6, 1.3}});
  Verdict closer = book.open().front().verdict;
  closer.sentence = "closer";
  closer.subject = {"job", "job"};
  closer.cost = Verdict::Cost{20, 10, 0.5, 2};
  book.explain(key_of(book), closer);
  CHECK(book.open().front().verdict.sentence == "closer");
  CHECK(book.open().front().verdict.subject.key == "worker:1:2");
  CHECK(*book.open().front().usd_per_day == doctest::Approx(128 * 2 * 24 * 0.5));
}

}  // namespace
}  // namespace goodput
