// Parameters and FLOPs of models against what is published, and the rules of configs/models.
#include "models/shape/model_shape.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

ModelShape shipped(const std::string& name) {
  return config::read<ModelShape>(std::string(GOODPUT_CONFIGS "/models/") + name + ".json").value();
}

std::int64_t total(const std::string& name) {
  return model_parameters(shipped(name)).total;
}

std::string problem(std::string_view text) {
  const TemporaryFile file("model.json", text);
  const auto model = config::read<ModelShape>(file.path());
  return model ? "" : without_path(model.error().message(), file);
}

}  // namespace

TEST_CASE("model: Llama 3 has exactly the parameters of its checkpoints") {
  // Per layer h = 4096, 32 heads, 8 of keys and values: Q and O 2 h^2, K and V 2 h (h/4), SwiGLU 3 h 14336,
  // two norms 2 h; embedding and head 2 h 128256, last norm h.
  constexpr std::int64_t kH = 4096;
  static_assert(32 * (2 * kH * kH + 2 * kH * kH / 4 + 3 * kH * 14336 + 2 * kH) + 2 * kH * 128256 + kH ==
                8'030'261'248);
  CHECK(total("llama3-8b") == 8'030'261'248);
  CHECK(total("llama3-70b") == 70'553'706'496);
  CHECK(total("llama3-405b") == 405'853'388'800);
}

TEST_CASE("model: Mixtral 8x7B has 46.7 B parameters, 12.9 B of them for one token") {
  const ModelParameters parameters = model_parameters(shipped("mixtral-8x7b"));
  CHECK(parameters.total == 46'702'792'704);
  // 6 of 8 experts of 3 x 4096 x 14336 in 32 layers stay idle.
  CHECK(parameters.activated == 46'702'792'704 - std::int64_t{32} * 6 * 3 * 4096 * 14336);
  CHECK(parameters.activated == 12'879'925'248);
}

TEST_CASE("model: GPT-3 has 174.6 B parameters, embeddings included") {
  // Per layer 12 h^2 + 13 h; then positions and vocabulary, and the last norm.
  constexpr std::int64_t kH = 12288;
  static_assert(96 * (12 * kH * kH + 13 * kH) + (2048 + 50257) * kH + 2 * kH == 174'604'259'328);
  CHECK(total("gpt3-175b") == 174'604'259'328);
  CHECK(model_parameters(shipped("gpt3-175b")).head == 0);
}

TEST_CASE("model: DeepSeek-V3 has 671 B parameters, 37 B of them for one token, and 11.6 B for prediction") {
  const ModelShape model = shipped("deepseek-v3");
  const ModelParameters parameters = model_parameters(model);
  // Latent attention: queries 7168 -> 1536 -> 128 x 192, keys and values 7168 -> 512 + 64, 512 -> 128 x 256,
  // output; norms of the two ranks and of the input.
  constexpr std::int64_t kAttention = 7168 * 1536 + 1536 * 128 * 192 + 7168 * (512 + 64) + 512 * 128 * 256 +
                                      128 * 128 * 7168 + 1536 + 512 + 7168;
  CHECK(layer_parameters(model, 0).attention == kAttention);
  constexpr std::int64_t kExpert = std::int64_t{3} * 7168 * 2048;
  CHECK(layer_parameters(model, 0).ffn == 3 * 7168 * 18432 + 7168);
  CHECK(layer_parameters(model, 3).ffn == kExpert + 7168);
  CHECK(layer_parameters(model, 3).routed_experts == 256 * kExpert);
  CHECK(layer_parameters(model, 3).router == 7168 * 256);
  // The checkpoint has 14,848 = 58 x 256 more: the router's bias, which no gradient trains.
  CHECK(parameters.total == 671'026'404'352);
  CHECK(parameters.activated == parameters.total - std::int64_t{58} * 248 * kExpert);
  CHECK(parameters.activated > 36.5e9);  // "37B activated"
  CHECK(parameters.activated < 37.6e9);
  // One layer, its projection of 2 h and three norms. Published as 11.5 B (README_WEIGHTS.md) without the
  // embedding and head that it shares, 14 B with copies of these (0.93 B each).
  CHECK(parameters.mtp ==
        layer_parameters(model, 60).total() + std::int64_t{2} * 7168 * 7168 + std::int64_t{3} * 7168);
  CHECK(parameters.mtp > 11.4e9);
  CHECK(parameters.mtp < 11.7e9);
}

TEST_CASE("model: GPT-2 small has 124 M parameters") {
  ModelShape model{.name = "gpt2",
                   .layers = 12,
                   .hidden = 768,
                   .heads = 12,
                   .ffn = 3072,
                   .biases = true,
                   .vocab = 50257,
                   .learned_positions = 1024,
                   .tied_head = true};
  REQUIRE(config_finish(model));
  CHECK(model_parameters(model).total == 124'439'808);
  CHECK(model_parameters(model).activated == 124'439'808);
}

TEST_CASE("model: the papers' mixtures of experts have the papers' parameters") {
  // Lazarus: 14 B a parameter make 7.30, 18.37 and 24.01 GB; one expert is 63.05 or 112.07 MiB.
  CHECK(std::lround(static_cast<double>(total("gpt-s")) * 14 / 1e7) == 730);
  CHECK(std::lround(static_cast<double>(total("gpt-m")) * 14 / 1e7) == 1837);
  CHECK(std::lround(static_cast<double>(total("gpt-l")) * 14 / 1e7) == 2401);
  CHECK(layer_parameters(shipped("gpt-s"), 0).routed_experts / 8 * 14 == 66'114'048);  // 63.05 MiB
  // PEC: 134,739,456 without experts, 8 x 28,334,592 with six layers of one expert each.
  CHECK(total("gpt2-moe-small") == 134'739'456 + 8 * 28'334'592);
}

TEST_CASE("model: experts stand in the layers listed, or from the first on every n-th") {
  ModelShape model{.layers = 6, .moe = MoeShape{.experts = 2, .layers = {1, 4}}};
  CHECK(model.is_moe_layer(1));
  CHECK_FALSE(model.is_moe_layer(2));
  CHECK(model.is_moe_layer(4));
  model.moe = MoeShape{.experts = 2, .first_layer = 1, .layer_step = 2};
  CHECK_FALSE(model.is_moe_layer(0));
  CHECK(model.is_moe_layer(1));
  CHECK_FALSE(model.is_moe_layer(2));
  CHECK(model.is_moe_layer(5));
  model.moe.reset();
  CHECK_FALSE(model.is_moe_layer(1));
}

TEST_CASE("model: useful FLOPs are six a matrix parameter and token, and the causal half of attention") {
  // 2 layers, h 8, 2 heads, ffn 16, vocab 10: matrices 2 x (4 x 64 + 2 x 128) + 80 = 1104; attention,
  // forward: 2 layers x 2 products x 2 x (s/2) x h = 4 s h = 128 at s = 4; three times that with the backward
  // pass.
  ModelShape model{.name = "tiny",
                   .layers = 2,
                   .hidden = 8,
                   .heads = 2,
                   .ffn = 16,
                   .biases = true,
                   .vocab = 10,
                   .learned_positions = 4,
                   .tied_head = true};
  REQUIRE(config_finish(model));
  CHECK(useful_flops_per_token(model, 4) == 6.0 * 1104 + 3 * 128);
  // Narayanan et al. (2021): 96 B s l h^2 (1 + s/6h + V/16lh) with recomputation, 3/4 of it without;
  // attention is counted in full there, s/12h is the causal half.
  const ModelShape gpt3 = shipped("gpt3-175b");
  const double paper =
      72.0 * 96 * 12288.0 * 12288 * (1 + 2048.0 / (12 * 12288) + 50257.0 / (12.0 * 96 * 12288));
  CHECK(useful_flops_per_token(gpt3, 2048) == doctest::Approx(paper).epsilon(1e-12));
}

TEST_CASE("model: a token's FLOPs count the experts it visits and the latent attention's own widths") {
  const ModelShape model = shipped("deepseek-v3");
  const double matrices = static_cast<double>(model_parameters(model).activated) - 7168.0 * 129280 -
                          61.0 * (2 * 7168 + 1536 + 512) - 7168;  // no embedding, no norms
  const double attention = 3 * 61.0 * 4096 * 128 * (128 + 64 + 128);
  CHECK(useful_flops_per_token(model, 4096) == doctest::Approx(6 * matrices + attention).epsilon(1e-12));
}

TEST_CASE("model: rules between fields are checked, and defaults derived") {
  CHECK(problem(R"({"name": "x", "layers": 1, "hidden": 8, "heads": 3, "vocab": 9, "ffn": 4})") ==
        " /head_dim: is missing, and hidden (8) is not a multiple of heads (3)");
  CHECK(problem(
            R"({"name": "x", "layers": 1, "hidden": 8, "heads": 4, "kv_heads": 3, "vocab": 9, "ffn": 4})") ==
        " /kv_heads: must be a divisor of heads (4), not 3");
  CHECK(problem(R"({"name": "x", "layers": 1, "hidden": 8, "heads": 4, "vocab": 9})") ==
        " /ffn: is missing; layers without experts need it");
  constexpr std::string_view kLatent =
      R"("latent": {"kv_rank": 1, "nope_dim": 1, "rope_dim": 1, "value_dim": 1})";
  CHECK(
      problem(
          std::string(
              R"({"name": "x", "layers": 1, "hidden": 8, "heads": 4, "kv_heads": 4, "vocab": 9, "ffn": 4, )")
              .append(kLatent) +
          "}") == " /kv_heads: has no effect with \"latent\"; remove this key");
  CHECK(
      problem(
          std::string(
              R"({"name": "x", "layers": 1, "hidden": 8, "heads": 4, "head_dim": 2, "vocab": 9, "ffn": 4, )")
              .append(kLatent) +
          "}") == " /head_dim: has no effect with \"latent\"; remove this key");
  const auto moe = [](std::string_view text) {
    return problem(
        std::string(R"({"name": "x", "layers": 3, "hidden": 8, "heads": 4, "vocab": 9, "ffn": 4, "moe": )")
            .append(text) +
        "}");
  };
  CHECK(moe(R"({"experts": 4, "top_k": 5, "expert_ffn": 4})") ==
        " /moe/top_k: must be at most the number of experts (4), not 5");
  CHECK(moe(R"({"experts": 4, "top_k": 1, "expert_ffn": 4, "layers": [0, 3]})") ==
        " /moe/layers/1: is 3; layers must be in ascending order and below 3");
  CHECK(moe(R"({"experts": 4, "top_k": 1, "expert_ffn": 4, "layers": [1, 1]})") ==
        " /moe/layers/1: is 1; layers must be in ascending order and below 3");
  CHECK(moe(R"({"experts": 4, "top_k": 1, "expert_ffn": 4, "first_layer": 3})") ==
        " /moe/first_layer: must be below 3, the number of layers, not 3");
  CHECK(moe(R"({"experts": 4, "top_k": 1, "expert_ffn": 4, "top_groups": 1})") ==
        " /moe/top_groups: has no effect without expert_groups");
  CHECK(moe(R"({"experts": 4, "top_k": 1, "expert_ffn": 4, "expert_groups": 3, "top_groups": 1})") ==
        " /moe/expert_groups: must be a divisor of the number of experts (4), not 3");
  // Three experts of a token are in two groups of two, at least.
  CHECK(moe(R"({"experts": 8, "top_k": 3, "expert_ffn": 4, "expert_groups": 4, "top_groups": 1})") ==
        " /moe/top_groups: must be from 2 (top_k 3 / 2 experts per group) to 4, not 1");
  CHECK(moe(R"({"experts": 8, "top_k": 3, "expert_ffn": 4, "expert_groups": 4})") ==
        " /moe/top_groups: is missing; expert_groups needs it");
  CHECK(problem(
            R"({"name": "x", "layers": 10000, "hidden": 1000000, "heads": 4, "vocab": 9, "ffn": 1000000})") ==
        " /layers: the model would have more than 1e16 parameters; reduce its layers or widths");
}

}  // namespace goodput
