#include "models/planner/layer_split.h"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "sim/config/config.h"

namespace goodput {
namespace {

ModelShape shipped_model(const std::string& name) {
  auto model = config::read<ModelShape>(std::string(GOODPUT_CONFIGS) + "/models/" + name + ".json");
  REQUIRE_MESSAGE(model, (model ? "" : model.error().message()));
  return *std::move(model);
}

std::vector<std::int32_t> repeated(std::int32_t value, std::size_t times) {
  return std::vector<std::int32_t>(times, value);
}

// The stages of positions that go over them in turn.
std::vector<std::int32_t> in_turn(std::int32_t positions, std::int32_t stages) {
  std::vector<std::int32_t> of_positions;
  for (std::int32_t position = 0; position < positions; ++position) of_positions.push_back(position % stages);
  return of_positions;
}

// A head of `head` layers' work: 12 hidden^2 parameters a layer, vocab x hidden of the head.
ModelShape model_with_head(std::int32_t layers, double head) {
  ModelShape model;
  model.layers = layers;
  model.hidden = 64;
  model.heads = model.kv_heads = 1;
  model.head_dim = 64;
  model.ffn = 4 * 64;
  model.vocab = static_cast<std::int32_t>(head * 12 * 64);
  return model;
}

}  // namespace

TEST_CASE("layer split: Llama 3 405B has one layer fewer on its first and last stage, as published") {
  const ModelShape model = shipped_model("llama3-405b");
  std::vector<std::int32_t> expected = repeated(8, 16);
  expected.front() = expected.back() = 7;
  CHECK(spread_layers(model, 8192, in_turn(16, 16)) == expected);
  // Interleaved with eight chunks: the first and the last of them have no layer at all.
  expected = repeated(1, 128);
  expected.front() = expected.back() = 0;
  CHECK(spread_layers(model, 8192, in_turn(128, 16)) == expected);
}

TEST_CASE("layer split: DeepSeek-V3's last stage gives layers away for multi-token prediction") {
  const std::vector<std::int32_t> split = spread_layers(shipped_model("deepseek-v3"), 4096, in_turn(16, 16));
  REQUIRE(split.size() == 16);
  CHECK(std::accumulate(split.begin(), split.end(), 0) == 61);
  CHECK(split.back() <= 1);  // the report has 4 on each and 1 on the last
  CHECK(split.front() == 4);
}

TEST_CASE("layer split: what the head takes the last position has less of the layers") {
  CHECK(spread_layers(model_with_head(11, 0.9), 1, in_turn(3, 3)) == std::vector{4, 4, 3});
  CHECK(spread_layers(model_with_head(11, 2.1), 1, in_turn(3, 3)) == std::vector{4, 5, 2});
  // Among equals the ones further back have more.
  CHECK(spread_layers(model_with_head(10, 0.9), 1, in_turn(4, 4)) == std::vector{2, 3, 3, 2});
}

TEST_CASE("layer split: chunks of a stage have fewer layers where others of it have more") {
  // Positions 0 to 5 of three stages in turn: the two longer ones are not of one stage.
  const std::vector<std::int32_t> split = spread_layers(model_with_head(8, 0), 1, in_turn(6, 3));
  CHECK(split == std::vector{1, 1, 1, 1, 2, 2});
  CHECK(split[0] + split[3] == 2);
  CHECK(split[1] + split[4] == 3);
  CHECK(split[2] + split[5] == 3);
}

TEST_CASE("layer split: in a V the chunks of a stage are the first and the last that are left") {
  // The head is worth one layer, so that every position takes one and a half of 6 + 1. Of the two that get
  // one more, position 2 is furthest back of the three without the head; its stage 1 then has 3, so stage 0
  // is next.
  CHECK(spread_layers(model_with_head(6, 1), 1, std::vector{0, 1, 1, 0}) == std::vector{2, 1, 2, 1});
  CHECK(spread_layers(model_with_head(6, 1), 1, in_turn(4, 2)) == std::vector{1, 2, 2, 1});
}

TEST_CASE("layer split: only the ends of the pipeline may be without layers") {
  CHECK(spread_layers(model_with_head(4, 1.5), 1, in_turn(6, 6)) == std::vector{0, 1, 1, 1, 1, 0});
  CHECK(spread_layers(model_with_head(4, 1.5), 1, in_turn(7, 7)).empty());
  CHECK(spread_layers(model_with_head(2, 9), 1, in_turn(2, 2)) == std::vector{2, 0});
}

}  // namespace goodput
