// A restart in the middle changes no alert.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sim/live/alert_book.h"
#include "tests/support/stepped_job.h"

namespace goodput {
namespace {

AlertRules rules_of_all_kinds() {
  return {
      {"slow", SlowdownRule{{.above = 1.2, .close_below = {}}, {.steps = 3, .close_steps = 3}}},
      {"cause", CauseRule{{}, {.above = 1.05, .close_below = {}}, {.steps = 3, .of = 4, .close_steps = 3}}},
      {"worker", WorkerRule{{.above = 1.05, .close_below = {}}, {.steps = 3, .of = 5, .close_steps = 3}}},
      {"silence", SilenceRule{30}},
      {"rows", IncompleteRule{{.steps = 2, .of = 4, .close_steps = 3}}},
      {"trend", WorseningRule{.by = 0.1, .steps = 24, .close_steps = 3}}};
}

const AlertContext kContext{.job = "llama", .gpu_hour_usd = 2.0, .page = "http://here"};

// Faults that come and go, missing rows, pauses, a new run.
std::vector<StepResult> eventful_steps() {
  SteppedJob job(0.02, 7);
  std::vector<StepResult> steps;
  const auto add = [&steps](StepResult step) { steps.push_back(std::move(step)); };
  for (int i = 0; i < 4; ++i) add(job.healthy());
  for (int i = 0; i < 6; ++i) add(job.faulty({{6, 1.3}, {12, 1.2}}));
  for (int i = 0; i < 3; ++i) add(job.other(StepStatus::kIncomplete, {{2, 1, -1, "n<4>"}}));
  add(job.other(StepStatus::kSkipped));
  for (int i = 0; i < 5; ++i) add(job.healthy());
  for (int i = 0; i < 26; ++i) add(job.slow(1.05 + 0.01 * i));
  job.begin_run(3);
  for (int i = 0; i < 5; ++i) add(job.healthy());
  for (int i = 0; i < 5; ++i) add(job.faulty({{3, 1.4}}, "slow-host"));
  return steps;
}

std::string line_of(const Alert& alert, char sign) {
  return fmt::format("{}{} {} {}/{} {} {} {}\n", sign, alert.id, alert.rule, alert.opened_at.run,
                     alert.opened_at.step, alert.summary, alert.usd_per_day.value_or(-1),
                     alert.closed_s.value_or(0));
}

// Hands out ids as a store does.
class AlertRun {
 public:
  AlertRun() : book_(rules_of_all_kinds(), kContext) {}

  void take(const StepResult& step) {
    note(book_.take(step));
    note(book_.at(step.totals.finished_s + 25));
    if (step.totals.id.step % 7 == 6) note(book_.at(step.totals.finished_s + 45));
  }
  void restart() {
    Result<AlertBook> again = AlertBook::restore(rules_of_all_kinds(), kContext, book_.save(), open_);
    REQUIRE(again.has_value());
    CHECK((again->save() == book_.save()));
    book_ = *std::move(again);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void note(AlertChanges changes) {
    for (Alert& alert : changes.opened) {
      alert.id = ++ids_;
      text_ += line_of(alert, '+');
      open_.push_back(alert);
    }
    book_.stored(changes.opened);
    for (const Alert& alert : changes.closed) {
      text_ += line_of(alert, '-');
      std::erase_if(open_, [&alert](const Alert& one) { return one.id == alert.id; });
    }
  }

  AlertBook book_;
  std::int64_t ids_ = 0;
  std::vector<Alert> open_;
  std::string text_;
};

TEST_CASE("alerts: a restart after any step gives the same alerts, ids and texts") {
  const std::vector<StepResult> steps = eventful_steps();
  AlertRun undisturbed;
  for (const StepResult& step : steps) undisturbed.take(step);
  for (const char* rule : {"slow", "cause", "worker", "silence", "rows", "trend"})
    CHECK_MESSAGE(undisturbed.text().find(rule) != std::string::npos, rule);
  for (std::size_t split = 0; split <= steps.size(); ++split) {
    AlertRun run;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (i == split) run.restart();
      run.take(steps[i]);
    }
    CHECK_MESSAGE((run.text() == undisturbed.text()), split);
  }
  AlertRun often;
  for (const StepResult& step : steps) {
    often.take(step);
    often.restart();
  }
  CHECK((often.text() == undisturbed.text()));
}

TEST_CASE("alerts: a state that was saved before the store gave ids gets them from the open alerts") {
  SteppedJob job;
  AlertBook book(rules_of_all_kinds(), kContext);
  std::vector<Alert> opened;
  for (int i = 0; i < 3; ++i) {
    AlertChanges changes = book.take(job.faulty({{6, 1.3}}));
    opened.insert(opened.end(), changes.opened.begin(), changes.opened.end());
  }
  REQUIRE(opened.size() == 3);
  const std::string state = book.save();  // of the same commit
  for (std::size_t i = 0; i < 3; ++i) opened[i].id = 40 + static_cast<std::int64_t>(i);
  Result<AlertBook> again = AlertBook::restore(rules_of_all_kinds(), kContext, state, opened);
  REQUIRE(again.has_value());
  std::vector<std::int64_t> ids;
  for (const Alert& alert : again->open()) ids.push_back(alert.id);
  CHECK(ids == std::vector<std::int64_t>{40, 41, 42});
}

TEST_CASE(
    "alerts: an alert of a rule that is no more, or that the state does not know, closes with the next "
    "step") {
  SteppedJob job;
  AlertBook book({{"old", SlowdownRule{{}, {.steps = 1}}}}, kContext);
  std::vector<Alert> open = book.take(job.slow(1.5)).opened;
  REQUIRE(open.size() == 1);
  open[0].id = 7;
  const std::string state = book.save();
  // Gone, of another kind, and in a state that was lost.
  const AlertRules others[] = {{}, {{"old", SilenceRule{}}}, {{"old", SlowdownRule{}}}};
  for (std::size_t i = 0; i < 3; ++i) {
    Result<AlertBook> again = AlertBook::restore(others[i], kContext, i == 2 ? "" : state, open);
    REQUIRE(again.has_value());
    CHECK(again->open().size() == 1);
    const AlertChanges changes = again->take(job.slow(1.5));
    REQUIRE(changes.closed.size() == 1);
    CHECK(changes.closed[0].id == 7);
    CHECK(changes.opened.empty());
  }
  // The same rule with other numbers goes on.
  Result<AlertBook> same = AlertBook::restore(
      {{"old", SlowdownRule{{.above = 1.2, .close_below = {}}, {.steps = 9}}}}, kContext, state, open);
  REQUIRE(same.has_value());
  CHECK(same->take(job.slow(1.5)).empty());
  CHECK(same->open().size() == 1);
}

TEST_CASE("alerts: a state that is none, or of a later version, is refused") {
  const auto message = [](std::string_view state) {
    const Result<AlertBook> book = AlertBook::restore({}, kContext, state, {});
    REQUIRE_FALSE(book.has_value());
    return book.error().message();
  };
  CHECK(message("{}") == "the state of alerts is none that this program wrote");
  CHECK(message("[1") == "the state of alerts is none that this program wrote");
  CHECK(message(R"({"version": 2})") == "the state of alerts is of version 2, this program knows version 1");
}

TEST_CASE("alerts: what is no number and names that are no text leave a state that can be read") {
  SteppedJob job;
  AlertBook book(rules_of_all_kinds(), kContext);
  StepResult step = job.slow(1.1);
  step.totals.slowdown = std::nan("");
  CHECK(book.take(step).empty());
  job.layout().hosts[6] = "\xff\xfe";
  for (int i = 0; i < 3; ++i) book.take(job.faulty({{6, 1.3}}));
  Result<AlertBook> again = AlertBook::restore(rules_of_all_kinds(), kContext, book.save(), book.open());
  REQUIRE(again.has_value());
  CHECK(again->open().size() == 3);
}

}  // namespace
}  // namespace goodput
