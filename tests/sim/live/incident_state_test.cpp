// A restart in the middle changes no incident.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sim/live/incident_book.h"
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

const IncidentContext kContext{.job = "llama", .gpu_hour_usd = 2.0, .pages = "http://here"};

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

std::string line_of(const IncidentChange& change) {
  const Incident& incident = change.incident;
  return fmt::format("{} {} {} {}/{} {} {} {}\n", kIncidentEvents[static_cast<std::size_t>(change.event)],
                     incident.key, incident.evidence.front().rule, incident.opened_at.run,
                     incident.opened_at.step, incident.verdict.sentence, incident.usd_per_day.value_or(-1),
                     incident.closed_s.value_or(0));
}

class IncidentRun {
 public:
  IncidentRun() : book_(rules_of_all_kinds(), kContext) {}

  void take(const StepResult& step) {
    note(book_.take(step));
    note(book_.wait(25, step.totals.finished_s + 25));
    if (step.totals.id.step % 7 == 6) note(book_.wait(20, step.totals.finished_s + 45));
  }
  void restart() {
    Result<IncidentBook> again =
        IncidentBook::restore(rules_of_all_kinds(), kContext, book_.save(), book_.open());
    REQUIRE(again.has_value());
    CHECK((again->save() == book_.save()));
    book_ = *std::move(again);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void note(const IncidentChanges& changes) {
    for (const IncidentChange& change : changes) text_ += line_of(change);
  }

  IncidentBook book_;
  std::string text_;
};

TEST_CASE("incidents: a restart after any step gives the same incidents, keys and sentences") {
  const std::vector<StepResult> steps = eventful_steps();
  IncidentRun undisturbed;
  for (const StepResult& step : steps) undisturbed.take(step);
  for (const char* rule : {" slow ", " cause ", " silence ", " rows "})
    CHECK_MESSAGE(undisturbed.text().find(rule) != std::string::npos, rule, undisturbed.text());
  for (std::size_t split = 0; split <= steps.size(); ++split) {
    IncidentRun run;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (i == split) run.restart();
      run.take(steps[i]);
    }
    CHECK_MESSAGE((run.text() == undisturbed.text()), split);
  }
  IncidentRun often;
  for (const StepResult& step : steps) {
    often.take(step);
    often.restart();
  }
  CHECK((often.text() == undisturbed.text()));
}

TEST_CASE("incidents: acknowledgments and mutes survive a restart") {
  SteppedJob job;
  IncidentBook book(rules_of_all_kinds(), kContext);
  for (int i = 0; i < 3; ++i) book.take(job.faulty({{6, 1.3}}));
  REQUIRE(book.open().size() == 1);
  const std::string key = book.open().front().key;
  CHECK(book.acknowledge(key, {"ann", 1e9}));
  CHECK(book.mute(key, {"bob", 1e9, 2e9}));
  Result<IncidentBook> again =
      IncidentBook::restore(rules_of_all_kinds(), kContext, book.save(), book.open());
  REQUIRE(again.has_value());
  CHECK((again->open() == book.open()));
  CHECK(again->end(key, {"cleo", 1e9}).has_value());
  for (int i = 0; i < 3; ++i) again->take(job.faulty({{6, 1.3}}));
  REQUIRE(again->open().size() == 1);
  CHECK(again->open().front().muted == IncidentMute{"bob", 1e9, 2e9});
}

TEST_CASE("incidents: one whose rule or state is gone closes after ten steps, or is noticed again") {
  SteppedJob job;
  IncidentBook book({{"old", CauseRule{{}, {}, {.steps = 1}}}}, kContext);
  CHECK(book.take(job.faulty({{6, 1.5}})).size() == 1);
  const std::string state = book.save();
  const std::vector<Incident> open = book.open();
  // No rule, a rule of another kind, a state that was lost, and one of the alerts of an older goodput.
  const AlertRules other = {{"old", SilenceRule{}}};
  const std::pair<AlertRules, std::string> cases[] = {
      {{}, state}, {other, state}, {{}, ""}, {{}, R"({"version": 1})"}};
  for (const auto& [rules, text] : cases) {
    Result<IncidentBook> again = IncidentBook::restore(rules, kContext, text, open);
    REQUIRE(again.has_value());
    for (int step = 0; step < 9; ++step) CHECK(again->take(job.faulty({{6, 1.5}})).empty());
    const IncidentChanges changes = again->take(job.faulty({{6, 1.5}}));
    REQUIRE(changes.size() == 1);
    CHECK(changes[0].event == IncidentEvent::kCloses);
    CHECK(changes[0].incident.key == open[0].key);
  }
  // With the rule, the fault is noticed again in time: the incident, and its key, stay.
  Result<IncidentBook> lost =
      IncidentBook::restore({{"new", CauseRule{{}, {}, {.steps = 5}}}}, kContext, "", open);
  REQUIRE(lost.has_value());
  for (int step = 0; step < 30; ++step) CHECK(lost->take(job.faulty({{6, 1.5}})).empty());
  REQUIRE(lost->open().size() == 1);
  CHECK(lost->open()[0].key == open[0].key);
}

TEST_CASE("incidents: a damaged state, or one of a later version, is refused") {
  const auto message = [](std::string_view state) {
    const Result<IncidentBook> book = IncidentBook::restore({}, kContext, state, {});
    REQUIRE_FALSE(book.has_value());
    return book.error().message();
  };
  CHECK(message("{}") == "the stored state of incidents is damaged: goodput did not write it");
  CHECK(message("[1") == "the stored state of incidents is damaged: goodput did not write it");
  CHECK(message(R"({"version": 3})") ==
        "the stored incident state has format version 3, but this version of goodput reads only format "
        "version 2");
}

TEST_CASE("incidents: infinite figures and names that are not UTF-8 leave a state that can be read") {
  SteppedJob job;
  IncidentBook book(rules_of_all_kinds(), kContext);
  StepResult step = job.slow(1.1);
  step.totals.slowdown = std::nan("");
  CHECK(book.take(step).empty());
  job.layout().hosts[6] = "\xff\xfe";
  for (int i = 0; i < 3; ++i) book.take(job.faulty({{6, 1.3}}));
  Result<IncidentBook> again =
      IncidentBook::restore(rules_of_all_kinds(), kContext, book.save(), book.open());
  REQUIRE(again.has_value());
  CHECK(again->open().size() == 1);
}

}  // namespace
}  // namespace goodput
