#include "tools/whatif/whatif_workers.h"

#include <doctest/doctest.h>

#include "sim/base/json.h"
#include "sim/causes/pace.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/trace_generator.h"

namespace goodput {
namespace {

// DP 2 x PP 1 over 5 steps, of which the first worker alone causes 1.00004, 2, 3, 4, 5, the second half of
// that.
Analysis workers_case() {
  testing::TraceSpec spec;
  spec.dp = 2;
  spec.pp = 1;
  spec.micro_batches = 2;
  spec.steps = 5;
  const Recording recording = testing::analysed(testing::generate_trace(spec)).recording;
  Analysis made;
  made.grid = recording;
  made.worker_pace = measure_pace(recording, {}).worker;
  made.whatif.steps = {1, 2, 3, 4, 7};
  made.whatif.worker_step_slowdown = {{1.00004, 0.5}, {2, 1}, {3, 1.5}, {4, 2}, {5, 2.5}};
  return made;
}

OrderedJson workers_json(const Analysis& given, std::size_t most_cells) {
  OrderedJson json;
  add_workers_json(given, json, most_cells);
  return json;
}

}  // namespace

TEST_CASE("whatif workers: every step of every worker where there is room, with four digits") {
  const auto steps = workers_json(workers_case(), 10)["worker_steps"];
  CHECK(steps["steps_averaged"] == 1);
  CHECK(steps["from_step"] == OrderedJson({1, 2, 3, 4, 7}));
  CHECK(steps["to_step"] == steps["from_step"]);
  CHECK(steps["slowdown"][0] == OrderedJson({1.0, 0.5}));
  CHECK(steps["slowdown"][4] == OrderedJson({5.0, 2.5}));
}

TEST_CASE("whatif workers: with too many cells steps in a row are averaged, the rest in a row of its own") {
  // 9 cells of 2 workers are 4 rows: 2 steps each, which makes 3.
  const auto steps = workers_json(workers_case(), 9)["worker_steps"];
  CHECK(steps["steps_averaged"] == 2);
  CHECK(steps["from_step"] == OrderedJson({1, 3, 7}));
  CHECK(steps["to_step"] == OrderedJson({2, 4, 7}));
  CHECK(steps["slowdown"] == OrderedJson({{1.5, 0.75}, {3.5, 1.75}, {5.0, 2.5}}));
}

TEST_CASE("whatif workers: of more workers than cells one row is left") {
  const auto steps = workers_json(workers_case(), 1)["worker_steps"];
  CHECK(steps["steps_averaged"] == 5);
  CHECK(steps["slowdown"] == OrderedJson({{3.0, 1.5}}));
}

TEST_CASE("whatif workers: ranks and pace are there for all, hosts where they are known") {
  Analysis given = workers_case();
  CHECK(workers_json(given, 10)["workers"].size() == 2);
  CHECK(workers_json(given, 10)["workers"]["rank"] == OrderedJson({0, 1}));
  CHECK(workers_json(given, 10)["workers"]["pace"].size() == 2);
  given.grid.places = {{"host", {"node7", ""}}};
  CHECK(workers_json(given, 10)["workers"]["host"] == OrderedJson({"node7", ""}));
}

}  // namespace goodput
