// release-too: the rules of the cleaning pass.
#include "sim/cleaning/step_shapes.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "sim/cleaning/step_choice.h"
#include "sim/cleaning/step_list.h"

namespace goodput {
namespace {

constexpr OpType kForward = OpType::kForwardCompute;
constexpr OpType kBackward = OpType::kBackwardCompute;

// Two stages with a send a forward pass but the last, and an optimizer each.
std::vector<OpKey> job(std::int32_t micro_batches) {
  std::vector<OpKey> ops;
  for (std::int16_t stage = 0; stage < 2; ++stage) {
    for (std::int32_t i = 0; i < micro_batches; ++i) ops.push_back(op_key(kBackward, stage, i));
    for (std::int32_t i = 0; i < micro_batches; ++i) ops.push_back(op_key(kForward, stage, i));
    for (std::int32_t i = 0; i + 1 < micro_batches; ++i)
      ops.push_back(op_key(OpType::kForwardSend, stage, i));
    ops.push_back(op_key(OpType::kOptimizer, stage, 0));
  }
  return ops;
}

std::vector<OpKey> without(std::vector<OpKey> ops, OpKey op) {
  ops.erase(std::find(ops.begin(), ops.end(), op));
  return ops;
}

std::vector<InstanceRow> lanes(const std::vector<OpKey>& ops, std::int32_t replicas) {
  std::vector<InstanceRow> rows;
  for (std::int32_t dp = 0; dp < replicas; ++dp) {
    for (const OpKey op : ops) rows.push_back({op, dp, static_cast<std::uint32_t>(rows.size())});
  }
  return rows;
}

// Steps of (ops, replicas).
struct Case {
  OpSets sets;
  std::vector<StepFacts> steps;

  void add(const std::vector<OpKey>& ops, std::int32_t replicas = 1, std::size_t times = 1) {
    for (; times > 0; --times) steps.push_back({true, false, shape_of(lanes(ops, replicas), sets)});
  }
  // One letter a step: kept, ignored, damaged, missing, other shape.
  [[nodiscard]] std::string choice() const {
    std::string letters;
    for (const StepState state : choose_steps(steps, sets).states) {
      letters += "kidmo"[static_cast<std::size_t>(state)];
    }
    return letters;
  }
};

}  // namespace

TEST_CASE("cleaning: jobs differ in batch when all stages have as many passes fewer, and no more messages") {
  CHECK(differ_in_batch(job(4), job(2)));
  CHECK(differ_in_batch(job(2), job(4)));
  CHECK_FALSE(differ_in_batch(job(4), job(4)));
  CHECK_FALSE(differ_in_batch(job(4), without(job(2), op_key(kForward, 1, 1))));
  CHECK_FALSE(differ_in_batch(job(4), without(job(2), op_key(OpType::kOptimizer, 1, 0))));
  CHECK_FALSE(differ_in_batch(job(4), without(job(3), op_key(OpType::kForwardSend, 0, 1))));
}

TEST_CASE("cleaning: a step is dense when its lanes, from 0 on, hold the same ops, each once") {
  OpSets sets;
  CHECK(shape_of(lanes(job(2), 3), sets) == StepShape{3, 0});
  CHECK(shape_of(lanes(job(3), 1), sets) == StepShape{1, 1});
  CHECK(shape_of(lanes(job(2), 1), sets) == StepShape{1, 0});
  std::vector<InstanceRow> rows = lanes(job(2), 2);
  rows.pop_back();
  CHECK_FALSE(shape_of(rows, sets));
  rows = lanes(job(2), 2);
  rows.insert(rows.begin(), rows.front());
  CHECK_FALSE(shape_of(rows, sets));
  rows = lanes(job(2), 2);
  for (InstanceRow& row : rows) row.dp_rank *= 2;
  CHECK_FALSE(shape_of(rows, sets));
  CHECK_FALSE(shape_of({}, sets));
}

TEST_CASE("cleaning: of two batch sizes the longer run is kept, of equal runs the later") {
  Case ramp;
  ramp.add(job(2), 1, 3);
  ramp.add(job(4), 1, 3);
  CHECK(ramp.choice() == "oookkk");
  ramp.add(job(8), 1, 2);
  CHECK(ramp.choice() == "oookkkoo");
}

TEST_CASE("cleaning: a step that is part of another is missing ops, wherever it stands") {
  Case cut;
  cut.add(without(job(4), op_key(OpType::kOptimizer, 1, 0)));
  cut.add(job(4), 1, 2);
  cut.add(without(job(4), op_key(kForward, 0, 3)));
  cut.add(job(4), 1, 1);
  CHECK(cut.choice() == "mkkmk");
}

TEST_CASE("cleaning: what is part of a cut step only may be a whole one of another batch") {
  Case ramp;  // job(3) is part of job(4) without a pass
  ramp.add(job(3), 1, 2);
  ramp.add(without(without(job(4), op_key(kForward, 0, 3)), op_key(kForward, 1, 3)));
  ramp.add(job(4), 1, 3);
  CHECK(ramp.choice() == "oomkkk");
}

TEST_CASE("cleaning: seq_ids that do not count from 0 are a damage where others do, and none where none do") {
  Case first_cut;
  first_cut.add(without(job(4), op_key(kForward, 0, 0)));
  first_cut.add(job(3), 1, 1);
  CHECK(first_cut.choice() == "mk");
  Case all;
  all.add(without(job(4), op_key(kForward, 0, 0)), 1, 2);
  CHECK(all.choice() == "kk");
}

TEST_CASE("cleaning: fewer replicas in between two runs are a hole, more steps of them another job") {
  Case hole;
  hole.add(job(2), 4, 3);
  hole.add(job(2), 3, 2);
  hole.add(job(2), 4, 2);
  CHECK(hole.choice() == "kkkmmkk");
  Case elastic;
  elastic.add(job(2), 4, 3);
  elastic.add(job(2), 3, 4);
  elastic.add(job(2), 4, 2);
  CHECK(elastic.choice() == "oookkkkoo");
  Case more;  // a replica more is no hole
  more.add(job(2), 3, 3);
  more.add(job(2), 4, 1);
  more.add(job(2), 3, 2);
  CHECK(more.choice() == "kkkooo");
}

TEST_CASE("cleaning: damaged steps do not end a run, nor do those nobody asked for") {
  Case run;
  run.add(job(2), 2, 5);
  run.steps[1].is_damaged = true;
  run.steps[3].is_asked_for = false;
  CHECK(run.choice() == "kdkik");
  const StepChoice choice = choose_steps(run.steps, run.sets);
  CHECK(choice.kept == 3);
  CHECK(choice.damaged == 1);
  CHECK(choice.template_step == 0);
}

TEST_CASE("cleaning: the template is the first whole step, asked for or not") {
  Case run;
  run.add(without(job(2), op_key(kForward, 0, 1)));
  run.add(job(2), 1, 4);
  run.steps[0].is_asked_for = run.steps[1].is_asked_for = run.steps[2].is_asked_for = false;
  CHECK(run.choice() == "iiikk");
  CHECK(choose_steps(run.steps, run.sets).template_step == 1);
}

TEST_CASE("cleaning: steps are listed as ranges, the first few of them") {
  const std::vector<std::int64_t> steps = {3, 4, 5, 9, 12, 13, 20, 22, 24, 26, 28};
  CHECK(step_list(steps) == "3-5, 9, 12-13, 20, 22, 24 and 2 more");
  CHECK(step_list(steps, 1) == "3-5 and 8 more");
  CHECK(named_steps(std::vector<std::int64_t>{-4}) == "step -4");
  CHECK(named_steps(std::vector<std::int64_t>{1, 2}) == "steps 1-2");
}

}  // namespace goodput
