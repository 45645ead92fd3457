// The answer of `goodput plan` against brute force: every contender of the question with so many trials.
//   planner_bench [QUESTION [TRIALS]]   (default: llama3-70b-1024, 1000)
// Prints what both come to, by how much the answer misses, and the time of each.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "models/planner/plan_question.h"
#include "tools/plan/contenders.h"
#include "tools/plan/plan_answer.h"
#include "tools/plan/plan_values.h"

namespace goodput {
namespace {

constexpr unsigned kThreads = 2;

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Everything that the answer chose from.
Result<Contenders> whole_grid(const PlanQuestion& question, const PlanAnswer& answer) {
  GOODPUT_TRY(const std::vector<ScenarioPolicy> policies, competing_policies(question));
  std::vector<Entry> entries;
  for (const ParallelPlan& parallel : answer.simulated) {
    for (const std::int32_t spares : question.spares)
      entries.push_back({{parallel, spares, 0}, policies, question.intervals});
  }
  return Contenders::make(question, entries, {0, kThreads, answer.most});
}

bool is_answer(const Contenders& contenders, std::size_t i, const PlanOption& best) {
  const PlannedNodes& choice = contenders.setting(i).choice;
  return contenders[i].base == best.policy && contenders[i].interval_steps == best.interval_steps &&
         choice.spares == best.choice.spares && choice.parallel.tp == best.choice.parallel.tp &&
         choice.parallel.pp == best.choice.parallel.pp && choice.parallel.cp == best.choice.parallel.cp;
}

Status run(const std::string& name, std::int64_t trials) {
  const config::Library library{{GOODPUT_CONFIGS}};
  GOODPUT_TRY(const config::Source source, config::find(library, kPlanQuestionFiles, name));
  GOODPUT_TRY(const PlanQuestion question, read_plan_question(source.file, {}, library));
  auto began = std::chrono::steady_clock::now();
  GOODPUT_TRY(const PlanAnswer answer, answer_question(question, {0, kThreads, true, {}}));
  if (!answer.best) return Error{"the question has no answer"};
  fmt::print("plan: {:.1f} s, {} contenders, {} runs\n", seconds_since(began), answer.contenders,
             answer.runs);
  began = std::chrono::steady_clock::now();
  GOODPUT_TRY(Contenders contenders, whole_grid(question, answer));
  std::vector<std::size_t> all(contenders.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  GOODPUT_TRY_STATUS(contenders.run(all, trials));
  double best = std::numeric_limits<double>::infinity();
  double of_answer = best;
  for (const std::size_t i : all) {
    const auto values = objective_values(question.objective, contenders.trials(i));
    if (!values) continue;
    const double mean = std::accumulate(values->begin(), values->end(), 0.0) / static_cast<double>(trials);
    best = std::min(best, mean);
    if (is_answer(contenders, i, *answer.best)) of_answer = mean;
  }
  fmt::print("brute force: {:.1f} s, {} trials each; best {:.0f}, the answer {:.0f}: {:+.3f} %\n",
             seconds_since(began), trials, best, of_answer, 100 * (of_answer / best - 1));
  return Ok{};
}

}  // namespace
}  // namespace goodput

int main(int count, char** arguments) {
  const std::string name = count > 1 ? arguments[1] : "llama3-70b-1024";
  const std::int64_t trials = count > 2 ? std::atoll(arguments[2]) : 1000;
  const goodput::Status done = goodput::run(name, trials);
  if (!done) fmt::print(stderr, "{}\n", done.error().message());
  return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
