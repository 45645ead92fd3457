// Alerts open once, say who is to blame, and close when the trouble is over.
#include "sim/live/alert_book.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/stepped_job.h"

namespace goodput {
namespace {

AlertRule slowdown_rule(std::int32_t steps = 3, std::int32_t close_steps = 2) {
  return {"slow",
          SlowdownRule{{.above = 1.2, .close_below = 1.1}, {.steps = steps, .close_steps = close_steps}}};
}
AlertRule cause_rule(std::int32_t steps = 3, std::int32_t of = 4) {
  return {"cause",
          CauseRule{{}, {.above = 1.05, .close_below = {}}, {.steps = steps, .of = of, .close_steps = 2}}};
}
AlertRule worker_rule() {
  return {"worker", WorkerRule{{.above = 1.05, .close_below = {}}, {.steps = 3, .of = 5, .close_steps = 2}}};
}
AlertRule silence_rule(double seconds) {
  return {"silence", SilenceRule{seconds}};
}
AlertRule incomplete_rule() {
  return {"rows", IncompleteRule{{.steps = 2, .of = 4, .close_steps = 3}}};
}

AlertBook book_of(AlertRules rules) {
  return {std::move(rules), {.job = "llama", .gpu_hour_usd = 2.0, .page = "http://here/jobs/llama"}};
}

// What opened and closed, by rule and worker, in the order of steps.
std::string text_of(const AlertChanges& changes) {
  std::string text;
  for (const Alert& alert : changes.opened)
    text += "+" + alert.rule + (alert.worker ? " " + describe(*alert.worker) : "") + ";";
  for (const Alert& alert : changes.closed)
    text += "-" + alert.rule + (alert.worker ? " " + describe(*alert.worker) : "") + ";";
  return text;
}

TEST_CASE(
    "alerts: a slow job opens one alert at the n-th slow step, and closes it m steps below the lower level") {
  SteppedJob job;
  AlertBook book = book_of({slowdown_rule()});
  CHECK(book.take(job.slow(1.3)).empty());
  CHECK(book.take(job.slow(1.2)).empty());  // not above 1.2: begins anew
  CHECK(book.take(job.slow(1.3)).empty());
  CHECK(book.take(job.slow(1.3)).empty());
  const AlertChanges opened = book.take(job.slow(1.24));
  REQUIRE(opened.opened.size() == 1);
  CHECK(opened.opened[0].slowdown == doctest::Approx(1.28));  // (1.3 + 1.3 + 1.24) / 3
  CHECK(opened.opened[0].opened_at == StepId{0, 4});
  for (int step = 0; step < 5; ++step) CHECK(book.take(job.slow(1.5)).empty());
  CHECK(book.take(job.slow(1.05)).empty());
  CHECK(book.take(job.slow(1.15)).empty());  // between the levels: neither
  CHECK(book.take(job.slow(1.05)).empty());
  const AlertChanges closed = book.take(job.slow(1.05));
  REQUIRE(closed.closed.size() == 1);
  CHECK(closed.closed[0].closed_at == StepId{0, 13});
  CHECK(closed.closed[0].closed_s == 1e9 + 20 * 13 + 13);
  CHECK(closed.closed[0].opened_at == StepId{0, 4});
  CHECK(book.open().empty());
}

TEST_CASE("alerts: an alert blames the steps that opened it, not those between them") {
  SteppedJob job;
  const AlertPatience patience{.steps = 3, .of = 10, .close_steps = 20};
  AlertBook book = book_of({{"slow", SlowdownRule{{.above = 1.2, .close_below = {}}, patience}},
                            {"worker", WorkerRule{{.above = 1.2, .close_below = {}}, patience}}});
  AlertChanges changes;
  for (int step = 1; step <= 12; ++step) {
    const bool is_slow = step == 3 || step == 4 || step == 12;
    changes = book.take(is_slow ? job.faulty({{6, 1.4}}) : job.healthy());
    CHECK(changes.opened.size() == (step == 12 ? 2 : 0));
  }
  REQUIRE(changes.opened.size() == 2);
  for (const Alert& alert : changes.opened) {
    CHECK(alert.cause == "worker-fault");
    CHECK(alert.worker == WorkerPlace{1, 2, 48, "n3"});
    CHECK(alert.worker_slowdown == doctest::Approx(1.4));
  }
  CHECK(changes.opened[0].summary.find("mean of 3 of 10 steps: worker-fault") != std::string::npos);
}

TEST_CASE("alerts: a rule that looks further back than is remembered says so") {
  SteppedJob job;
  AlertBook book = book_of({slowdown_rule(120)});
  AlertChanges changes;
  for (int step = 0; step < 120; ++step) changes = book.take(job.slow(step < 20 ? 9 : 1.3));
  REQUIRE(changes.opened.size() == 1);
  CHECK(changes.opened[0].slowdown == doctest::Approx(1.3));
  CHECK(changes.opened[0].summary.find("S is 1.30, mean of the last 100 of 120 steps: ") == 0);
}

TEST_CASE("alerts: an alert names cause, worker, rank, host, cost, next check and fix") {
  SteppedJob job;
  AlertBook book = book_of({slowdown_rule(), cause_rule(), worker_rule()});
  AlertChanges changes;
  for (int step = 0; step < 3; ++step) changes = book.take(job.faulty({{6, 1.25}}));
  REQUIRE(changes.opened.size() == 3);
  for (const Alert& alert : changes.opened) {
    CHECK(alert.job == "llama");
    CHECK(alert.cause == "worker-fault");
    CHECK(alert.worker == WorkerPlace{1, 2, 48, "n3"});
    CHECK(alert.worker_slowdown == doctest::Approx(1.25));
    CHECK(alert.slowdown == doctest::Approx(1.25));
    CHECK(alert.cost_s_per_step == doctest::Approx(2.5));             // 12.5 s for what takes 10
    CHECK(alert.usd_per_day == doctest::Approx(128 * 2 * 24 * 0.2));  // GPUs, price, hours, 1 - 1/1.25
    CHECK(alert.next_check == "the clocks of these GPUs");
    CHECK(alert.fix == std::vector<std::string>{"worker=1:2"});
    CHECK(alert.page == "http://here/jobs/llama");
  }
  CHECK(changes.opened[0].summary ==
        "S is 1.25, mean of 3 steps: worker-fault: dp 1 stage 2 (rank 48, host n3), 1.25x alone");
  CHECK(changes.opened[1].summary ==
        "worker-fault: dp 1 stage 2 (rank 48, host n3), 1.25x alone in 3 steps: its fix makes steps 1.25x "
        "faster");
  CHECK(changes.opened[2].summary ==
        "the same worker costs most in 3 steps: worker-fault: dp 1 stage 2 (rank 48, host n3), 1.25x alone");
}

TEST_CASE(
    "alerts: without a price an alert has no dollars, and without a likely cause it names who costs most") {
  SteppedJob job;
  AlertBook book({slowdown_rule()}, {.job = "llama", .gpu_hour_usd = {}, .page = ""});
  AlertChanges changes;
  for (int i = 0; i < 3; ++i) {
    StepResult step = job.slow(1.4);
    step.worker_slowdown[9] = 1.1;
    changes = book.take(step);
  }
  REQUIRE(changes.opened.size() == 1);
  CHECK_FALSE(changes.opened[0].usd_per_day.has_value());
  CHECK(
      changes.opened[0].summary ==
      "S is 1.40, mean of 3 steps: no likely cause; dp 2 stage 1 (rank 72, host n4) costs most, 1.10x alone");
  CHECK(changes.opened[0].next_check ==
        "look at the worker map of these steps: a column is a stage, a row a replica, a cell a worker");
  CHECK_FALSE(
      AlertBook({slowdown_rule(1)}, {}).take(job.slow(1.4)).opened[0].worker.has_value());  // all alike
}

TEST_CASE("alerts: a cause about a stage names the stage and no worker") {
  SteppedJob job;
  AlertBook book = book_of({cause_rule(1, 1)});
  StepResult step = job.slow(1.3);
  step.causes = {likely_cause("stage-partition", 1.2)};
  step.causes[0].stage = 3;
  const AlertChanges changes = book.take(step);
  REQUIRE(changes.opened.size() == 1);
  CHECK_FALSE(changes.opened[0].worker.has_value());
  CHECK(changes.opened[0].summary == "stage-partition: stage 3 in 1 step: its fix makes steps 1.20x faster");
}

TEST_CASE(
    "alerts: several faults at once get an alert of the cause rule each, and one that joins later too") {
  SteppedJob job;
  AlertBook book = book_of({cause_rule()});
  std::string text;
  for (int step = 0; step < 4; ++step) text += text_of(book.take(job.faulty({{6, 1.3}, {12, 1.2}})));
  CHECK(text == "+cause dp 1 stage 2 (rank 48, host n3);+cause dp 3 stage 0 (rank 96, host n6);");
  text.clear();
  for (int step = 0; step < 4; ++step)
    text += text_of(book.take(job.faulty({{1, 1.4}, {6, 1.3}, {12, 1.2}})));
  CHECK(text == "+cause dp 0 stage 1 (rank 8, host n0);");
  text.clear();
  for (int step = 0; step < 2; ++step) text += text_of(book.take(job.faulty({{1, 1.4}})));
  CHECK(text == "-cause dp 1 stage 2 (rank 48, host n3);-cause dp 3 stage 0 (rank 96, host n6);");
}

TEST_CASE("alerts: all of a replica and all of a host are one fault, and a cause of very many workers too") {
  SteppedJob job;
  const auto opened_by = [&job](const std::vector<std::pair<std::size_t, double>>& workers,
                                const std::string& cause) {
    return book_of({cause_rule(1, 1)}).take(job.faulty(workers, cause)).opened;
  };
  const auto replica = opened_by({{4, 1.3}, {5, 1.3}, {6, 1.4}, {7, 1.3}}, "slow-replica");
  REQUIRE(replica.size() == 1);
  CHECK(replica[0].worker == WorkerPlace{1, 2, 48, "n3"});
  CHECK(replica[0].fix == std::vector<std::string>{"dp=1"});
  const auto hosts = opened_by({{4, 1.3}, {5, 1.4}, {8, 1.2}, {9, 1.2}}, "slow-host");
  REQUIRE(hosts.size() == 2);
  CHECK(hosts[0].worker->host == "n2");
  CHECK(hosts[0].fix == std::vector<std::string>{"worker=1:0", "worker=1:1"});
  CHECK(hosts[1].worker->host == "n4");
  std::vector<std::pair<std::size_t, double>> many;
  for (std::size_t worker = 0; worker < 12; ++worker) many.emplace_back(worker, 1.3);
  const auto whole = opened_by(many, "worker-fault");
  REQUIRE(whole.size() == 1);
  CHECK(whole[0].fix.size() == 12);
}

TEST_CASE("alerts: the rule of a named cause lets others pass") {
  SteppedJob job;
  AlertRule rule = cause_rule(1, 1);
  std::get<CauseRule>(rule.condition).cause = "slow-host";
  AlertBook book = book_of({rule});
  CHECK(book.take(job.faulty({{6, 1.3}})).empty());
  CHECK(book.take(job.faulty({{6, 1.3}}, "slow-host")).opened.size() == 1);
}

TEST_CASE("alerts: a cause that one step in n + 1 does not see is told in time all the same") {
  for (int flicker = 0; flicker < 4; ++flicker) {
    SteppedJob job;
    AlertBook book = book_of({cause_rule(3, 4)});
    int opened = 0;
    for (int step = 0; step < 4; ++step)
      opened +=
          static_cast<int>(book.take(step == flicker ? job.slow(1.3) : job.faulty({{6, 1.3}})).opened.size());
    CHECK(opened == 1);
  }
}

TEST_CASE("alerts: a cause that is not likely, or that nothing mends, opens nothing") {
  SteppedJob job;
  AlertBook book = book_of({cause_rule(1, 1)});
  StepResult step = job.faulty({{6, 1.3}});
  step.causes[0].is_likely = false;
  CHECK(book.take(step).empty());
  step = job.faulty({{6, 1.3}});
  step.causes[0].gain.reset();
  CHECK(book.take(step).empty());
}

TEST_CASE("alerts: the worst worker of most steps is told, others that are worst now and then are not") {
  SteppedJob job;
  AlertBook book = book_of({worker_rule()});
  std::string text;
  for (const std::size_t worst : {3U, 7U, 3U, 9U, 3U}) text += text_of(book.take(job.faulty({{worst, 1.1}})));
  CHECK(text == "+worker dp 0 stage 3 (rank 24, host n1);");
  // Another one is worse, but this one costs as much as before.
  text.clear();
  for (int step = 0; step < 2; ++step) text += text_of(book.take(job.faulty({{3, 1.1}, {9, 1.2}})));
  CHECK(text == "+worker dp 2 stage 1 (rank 72, host n4);");
  text.clear();
  for (int step = 0; step < 2; ++step) text += text_of(book.take(job.faulty({{9, 1.2}})));
  CHECK(text == "-worker dp 0 stage 3 (rank 24, host n1);");
}

TEST_CASE("alerts: a job without a new step for t seconds is told, not before its first step") {
  SteppedJob job;
  AlertBook book = book_of({silence_rule(100)});
  for (int i = 0; i < 10; ++i) CHECK(book.at(1e9 + 50 * i).empty());
  const StepResult step = job.healthy();
  const double done_s = step.totals.finished_s;
  CHECK(book.take(step).empty());
  CHECK(book.at(done_s + 50).empty());
  CHECK(book.at(done_s + 99).empty());
  const AlertChanges opened = book.at(done_s + 101);
  REQUIRE(opened.opened.size() == 1);
  CHECK(opened.opened[0].summary == "no step for 101 s; the last one was 0");
  CHECK(opened.opened[0].opened_at == StepId{0, 0});
  CHECK(opened.opened[0].opened_s == done_s + 101);
  CHECK(opened.opened[0].usd_per_day == doctest::Approx(128 * 2 * 24));  // all of it stands still
  CHECK(book.at(done_s + 150).empty());
  // Even a step that is left out is a sign of life.
  CHECK(text_of(book.take(job.other(StepStatus::kSkipped))) == "-silence;");
}

TEST_CASE("alerts: a clock that jumps and a monitor that stood still are no silence of the job") {
  SteppedJob job;
  AlertBook book = book_of({silence_rule(200)});
  const StepResult step = job.healthy();
  double now_s = step.totals.finished_s;
  CHECK(book.take(step).empty());
  CHECK(book.at(now_s += 7200).empty());  // counts as 60
  CHECK(book.at(now_s -= 7200).empty());  // as nothing
  CHECK(book.at(now_s += 59).empty());
  CHECK(book.at(now_s += 59).empty());
  CHECK(book.at(now_s += 59).opened.size() == 1);  // 60 + 3 * 59 >= 200
}

TEST_CASE("alerts: steps whose rows do not come are told with the worker that misses most") {
  SteppedJob job;
  AlertBook book = book_of({incomplete_rule()});
  const WorkerPlace lost{2, 1, 72, "n4"};
  const WorkerPlace other{0, 0, 0, "n0"};
  CHECK(book.take(job.other(StepStatus::kIncomplete, {lost})).empty());
  CHECK(book.take(job.healthy()).empty());
  const AlertChanges opened = book.take(job.other(StepStatus::kIncomplete, {other, lost}));
  REQUIRE(opened.opened.size() == 1);
  CHECK(opened.opened[0].worker == lost);
  CHECK(opened.opened[0].summary ==
        "2 of 3 steps incomplete: rows of dp 2 stage 1 (rank 72, host n4) do not come; 2 workers miss");
  CHECK(book.take(job.other(StepStatus::kRefused)).empty());  // all rows were there
  CHECK(book.take(job.healthy()).empty());
  CHECK(text_of(book.take(job.healthy())) == "-rows dp 2 stage 1 (rank 72, host n4);");
}

TEST_CASE("alerts: steps that were skipped, refused or incomplete say nothing about slowness") {
  SteppedJob job;
  AlertBook book = book_of({slowdown_rule(), cause_rule(), worker_rule()});
  std::string text;
  for (int i = 0; i < 2; ++i) {
    text += text_of(book.take(job.faulty({{6, 1.3}})));
    for (const StepStatus status : {StepStatus::kSkipped, StepStatus::kRefused, StepStatus::kIncomplete})
      text += text_of(book.take(job.other(status)));
  }
  CHECK(text.empty());
  CHECK(book.take(job.faulty({{6, 1.3}})).opened.size() == 3);
}

TEST_CASE("alerts: a new run begins its counts anew; what is open stays until its steps close it") {
  SteppedJob job;
  AlertBook book = book_of({slowdown_rule(3, 2), cause_rule(2, 2)});
  CHECK(book.take(job.faulty({{6, 1.3}})).empty());
  CHECK(text_of(book.take(job.faulty({{6, 1.3}}))) == "+cause dp 1 stage 2 (rank 48, host n3);");
  job.begin_run(0);
  CHECK(book.take(job.faulty({{6, 1.3}})).empty());  // the third slow step, but the first of its run
  CHECK(book.open().size() == 1);
  CHECK(book.take(job.healthy()).empty());
  CHECK(text_of(book.take(job.healthy())) == "-cause dp 1 stage 2 (rank 48, host n3);");
  // A step of a run that is over changes nothing.
  StepResult late = job.slow(2);
  late.totals.id.run = 0;
  for (int i = 0; i < 5; ++i) CHECK(book.take(late).empty());
}

TEST_CASE("alerts: an alert about a worker closes when that worker is on another host or no more") {
  SteppedJob job;
  AlertBook book = book_of({cause_rule(2, 2)});
  for (int i = 0; i < 2; ++i) book.take(job.faulty({{6, 1.3}, {12, 1.3}}));
  CHECK(book.open().size() == 2);
  job.begin_run(0);
  job.layout().hosts[6] = "spare";
  CHECK(text_of(book.take(job.healthy())) == "-cause dp 1 stage 2 (rank 48, host n3);");
  job.begin_run(0);
  job.layout().dp_size = 2;
  job.layout().ranks.resize(8);
  job.layout().hosts.resize(8);
  CHECK(text_of(book.take(job.healthy())) == "-cause dp 3 stage 0 (rank 96, host n6);");
}

TEST_CASE("alerts: a rule has at most 16 alerts open") {
  SteppedJob job;
  AlertBook book = book_of({cause_rule(1, 1)});
  std::size_t opened = 0;
  for (std::size_t i = 0; i < 30; ++i) {
    StepResult step = job.slow(1.5);
    // Of each another cause: names are the analysis' own.
    for (std::size_t cause = 0; cause <= i; ++cause)
      step.causes.push_back(likely_cause(fmt::format("cause {}", cause), 1.3));
    opened += book.take(step).opened.size();
  }
  CHECK(opened == 16);
}

}  // namespace
}  // namespace goodput
