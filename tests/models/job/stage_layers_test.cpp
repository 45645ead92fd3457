#include "models/job/stage_layers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/schedule/schedule.h"
#include "models/shape/model_shape.h"
#include "tests/support/random_plan.h"

namespace goodput::testing {
namespace {

using Layers = std::vector<std::vector<std::size_t>>;

// Eight layers with experts.
TrainingPlan staged_plan(const std::string& schedule, std::int32_t stages, std::int32_t chunks = 1) {
  TrainingPlan plan = small_plan();
  plan.model.moe = MoeShape{.experts = 8, .top_k = 2, .expert_ffn = 512};
  plan.parallel.schedule = schedule;
  plan.parallel.pp = stages;
  plan.parallel.vpp = chunks;
  return plan;
}

Layers by_stage(const TrainingPlan& plan) {
  Layers layers;
  for (const StageLayers& stage : layers_by_stage(plan)) layers.push_back(stage.expert_layers);
  return layers;
}
std::vector<double> dense_shares(const TrainingPlan& plan) {
  std::vector<double> shares;
  for (const StageLayers& stage : layers_by_stage(plan)) shares.push_back(stage.dense_share);
  return shares;
}

}  // namespace

TEST_CASE("stage layers: one chunk per stage holds consecutive layers") {
  const TrainingPlan plan = staged_plan("1f1b", 4);
  CHECK(expert_layers_by_position(plan) == Layers{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(by_stage(plan) == expert_layers_by_position(plan));
  CHECK(by_stage(staged_plan("1f1b", 1)) == Layers{{0, 1, 2, 3, 4, 5, 6, 7}});
}

TEST_CASE("stage layers: interleaved stages hold every second position of two stages") {
  const TrainingPlan plan = staged_plan("interleaved", 2, 2);
  CHECK(expert_layers_by_position(plan) == Layers{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(by_stage(plan) == Layers{{0, 1, 4, 5}, {2, 3, 6, 7}});
}

TEST_CASE("stage layers: in a V the first stage holds both ends of the pipeline") {
  for (const char* schedule : {"zb-v", "v-half", "dualpipev"}) {
    CAPTURE(schedule);
    const TrainingPlan plan = staged_plan(schedule, 2);
    CHECK(expert_layers_by_position(plan) == Layers{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
    CHECK(by_stage(plan) == Layers{{0, 1, 6, 7}, {2, 3, 4, 5}});
  }
}

TEST_CASE("stage layers: only schedules that run in both directions keep two copies") {
  for (const ScheduleInfo& info : schedules()) {
    const std::string name(info.name);
    CAPTURE(name);
    const TrainingPlan plan = staged_plan(name, 2, name == "interleaved" ? 2 : 1);
    CHECK(keeps_one_copy(plan.parallel) == (name != "dualpipe"));
  }
  // Both stages hold a chunk of each position; positions are those of one direction.
  CHECK(expert_layers_by_position(staged_plan("dualpipe", 2)) == Layers{{0, 1, 2, 3}, {4, 5, 6, 7}});
}

TEST_CASE("stage layers: an explicit split may be uneven") {
  TrainingPlan plan = staged_plan("1f1b", 4);
  plan.parallel.layers_per_stage = {3, 1, 2, 2};
  CHECK(by_stage(plan) == Layers{{0, 1, 2}, {3}, {4, 5}, {6, 7}});
}

TEST_CASE("stage layers: layers without experts have no number, and a stage may have no experts") {
  TrainingPlan plan = staged_plan("1f1b", 4);
  plan.model.moe->first_layer = 3;
  CHECK(expert_layers_by_position(plan) == Layers{{}, {0}, {1, 2}, {3, 4}});
  CHECK(by_stage(plan) == expert_layers_by_position(plan));
  plan.model.moe->layers = {2, 7};
  CHECK(by_stage(plan) == Layers{{}, {0}, {}, {1}});
}

TEST_CASE("stage layers: multi-token prediction is at the last position and does as the last layer does") {
  TrainingPlan plan = staged_plan("1f1b", 4);
  plan.model.mtp_layers = 2;
  CHECK(expert_layers_by_position(plan) == Layers{{0, 1}, {2, 3}, {4, 5}, {6, 7, 7, 7}});
  CHECK(by_stage(plan) == Layers{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  plan.model.moe->layer_step = 2;  // the last layer has no experts
  CHECK(expert_layers_by_position(plan) == Layers{{0}, {1}, {2}, {3}});
}

TEST_CASE("stage layers: a stage's dense share counts its layers, the embedding and the output head") {
  TrainingPlan plan = staged_plan("1f1b", 4);
  plan.parallel.pad_vocab_to = 0;
  const LayerParameters layer = layer_parameters(plan.model, 0);
  const auto of_layer = static_cast<double>(layer.attention + layer.ffn + layer.router);
  const double table = 50257.0 * 512;  // the embedding, and as many for the head
  const double all = 8 * of_layer + 2 * table;
  const auto is = [](double share) { return doctest::Approx(share).epsilon(1e-12); };
  const std::vector<double> four = dense_shares(plan);
  CHECK(four[0] == is((2 * of_layer + table) / all));
  CHECK(four[1] == is(2 * of_layer / all));
  CHECK(four[3] == is((2 * of_layer + table) / all));
  plan.parallel.schedule = "zb-v";
  plan.parallel.pp = 2;
  CHECK(dense_shares(plan)[0] == is((4 * of_layer + 2 * table) / all));
  // A weight that both use is one parameter on the stage that has both.
  plan.model.tied_head = true;
  CHECK(dense_shares(plan)[0] == is((4 * of_layer + table) / (all - table)));
}

TEST_CASE("stage layers: every layer is on one stage, and dense shares add up to 1, in plans at random") {
  int checked = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const TrainingPlan plan = random_plan(seed);
    if (!plan.model.moe || !keeps_one_copy(plan.parallel)) continue;
    CAPTURE(to_string(plan));
    std::vector<std::size_t> numbers;
    double shares = 0;
    for (const StageLayers& stage : layers_by_stage(plan)) {
      numbers.insert(numbers.end(), stage.expert_layers.begin(), stage.expert_layers.end());
      CHECK(stage.dense_share > 0);
      shares += stage.dense_share;
    }
    std::sort(numbers.begin(), numbers.end());
    std::size_t next = 0;
    for (std::int32_t layer = 0; layer < plan.model.layers; ++layer) {
      if (!plan.model.is_moe_layer(layer)) continue;
      REQUIRE(next < numbers.size());
      CHECK(numbers[next] == next);
      ++next;
    }
    CHECK(next == numbers.size());
    CHECK(shares == doctest::Approx(1).epsilon(1e-12));
    ++checked;
  }
  CHECK(checked > 50);
}

}  // namespace goodput::testing
