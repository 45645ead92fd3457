#include "models/step/layer_work.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "models/step/step_report.h"
#include "tests/support/random_plan.h"

namespace goodput {
namespace {

using testing::small_plan;

double products(const std::vector<PartWork>& parts) {
  double flops = 0;
  for (const PartWork& part : parts) {
    for (const Kernel& kernel : part.kernels) {
      flops += 2.0 * static_cast<double>(kernel.batch) * static_cast<double>(kernel.m) *
               static_cast<double>(kernel.n) * static_cast<double>(kernel.k);
    }
  }
  return flops;
}

std::vector<LayerPart> order(const std::vector<PartWork>& parts) {
  std::vector<LayerPart> list;
  for (const PartWork& part : parts) list.push_back(part.part);
  return list;
}

// GPT: biases, FFN of four times the width, scores that reach memory.
TrainingPlan gpt() {
  TrainingPlan plan = small_plan();
  plan.model.biases = true;
  plan.parallel.fused_attention = false;
  return plan;
}

}  // namespace

TEST_CASE("layer work: a GPT layer multiplies 24 h^2 + 4 s h FLOPs a token forwards, twice that backwards") {
  // Narayanan et al. 2021, appendix: projections 8 h^2, FFN 16 h^2, scores and their use 4 s h.
  for (const int tp : {1, 2, 4, 8}) {
    TrainingPlan plan = gpt();
    plan.parallel.tp = tp;
    const LayerWork work(plan.model, plan.parallel, 8);
    const double tokens = 1024;
    const double h = 512;
    const double expected = tokens * (24 * h * h + 4 * 1024 * h) / tp;
    const double forward = products(work.forward(0, {}));
    MESSAGE(fmt::format("tp {}: {} FLOPs, closed form {}", tp, forward, expected));
    CHECK(forward == expected);
    CHECK(products(work.backward(0, {}, Gradients::kAll)) == 2 * expected);
    plan.parallel.recompute = Recompute::kFull;
    CHECK(products(work.backward(0, {}, Gradients::kAll)) == 3 * expected);
  }
}

TEST_CASE("layer work: gradients of activations and of weights are together all gradients") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    TrainingPlan plan = testing::random_plan(seed);
    const LayerWork work(plan.model, plan.parallel, plan.cluster.gpus_per_node);
    const ExpertShare share = work.balanced_share();
    CHECK_MESSAGE(products(work.backward(0, share, Gradients::kAll)) ==
                      products(work.backward(0, share, Gradients::kActivations)) +
                          products(work.backward(0, share, Gradients::kWeights)),
                  fmt::format("seed {} {}", seed, testing::to_string(plan)));
    for (const PartWork& part : work.backward(0, share, Gradients::kWeights)) CHECK(part.collectives.empty());
  }
}

TEST_CASE("layer work: with full recomputation a step runs Megatron's 96 l h^2 (1 + s/6h + V/16lh) a token") {
  TrainingPlan plan = gpt();
  plan.parallel.recompute = Recompute::kFull;
  const double h = 512, l = 8, s = 1024, v = 50304;  // 50257 padded to a multiple of 128
  const double expected = 96 * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
  CHECK(hardware_flops_per_token(plan) == doctest::Approx(expected).epsilon(1e-12));
}

TEST_CASE("layer work: the scores' share of the FLOPs is that of 12 l s h in 72 l h^2 + 12 l s h + 6 V h") {
  const double h = 512, l = 8, s = 1024, v = 50304;
  const double scores = 12 * l * s * h;
  CHECK(attention_share_of_flops(gpt()) ==
        doctest::Approx(scores / (72 * l * h * h + scores + 6 * v * h)).epsilon(1e-9));
  // A fused kernel leaves out the masked half and computes the scores again backwards: 2 s h + 2.5 * 2 s h.
  TrainingPlan fused = gpt();
  fused.parallel.fused_attention = true;
  CHECK(attention_share_of_flops(fused) ==
        doctest::Approx(7 * l * s * h / (72 * l * h * h + 7 * l * s * h + 6 * v * h)).epsilon(1e-9));
}

TEST_CASE("layer work: a layer with experts sends tokens out and gets them back, twice with gradients") {
  TrainingPlan plan = small_plan();
  plan.model.moe = MoeShape{.experts = 16, .top_k = 2, .expert_ffn = 1024, .shared_experts = 1};
  plan.parallel.dp = plan.parallel.ep = 8;
  const LayerWork work(plan.model, plan.parallel, 8);
  const ExpertShare share = work.balanced_share();
  CHECK(share.tokens == 2 * 1024);  // top-2 of 1024 tokens a GPU, spread evenly
  using P = LayerPart;
  CHECK(order(work.forward(0, share)) == std::vector{P::kAttention, P::kRouter, P::kCountExchange,
                                                     P::kDispatch, P::kFfn, P::kExperts, P::kCombine});
  CHECK(order(work.backward(0, share, Gradients::kAll)) ==
        std::vector{P::kCombine, P::kExperts, P::kFfn, P::kDispatch, P::kRouter, P::kAttention});
  for (const PartWork& part : work.forward(0, share)) {
    if (part.part != P::kDispatch) continue;
    CHECK(part.collectives.at(0).bytes == 2.0 * 2 * 1024 * 512);  // 16 bits, top-2, tokens, width
    CHECK(part.collectives.at(0).group.size == 8);
  }
  plan.parallel.dp = plan.parallel.ep = 1;  // every expert is at home
  CHECK(order(LayerWork(plan.model, plan.parallel, 8).forward(0, share)) ==
        std::vector{P::kAttention, P::kRouter, P::kFfn, P::kExperts});
}

TEST_CASE(
    "layer work: tensor parallelism reduces twice a layer, as scatter and gather where norms are sharded") {
  TrainingPlan plan = small_plan();
  plan.parallel.tp = 4;
  const auto reductions = [&] {
    std::vector<CollectiveCall> calls;
    for (const PartWork& part : LayerWork(plan.model, plan.parallel, 8).forward(0, {})) {
      calls.insert(calls.end(), part.collectives.begin(), part.collectives.end());
    }
    return calls;
  };
  const double bytes = 2.0 * 1024 * 512;
  CHECK(reductions() == std::vector<CollectiveCall>(2, {Collective::kAllReduce, bytes, {4, 4}}));
  plan.parallel.sequence_parallel = true;
  const CollectiveCall scatter{Collective::kReduceScatter, bytes, {4, 4}};
  const CollectiveCall gather{Collective::kAllGather, bytes, {4, 4}};
  CHECK(reductions() == std::vector{scatter, gather, scatter, gather});
}

TEST_CASE("layer work: experts cut up over ranks with different tokens get the rows of all of them") {
  TrainingPlan plan = small_plan();
  plan.model.moe = MoeShape{.experts = 16, .top_k = 2, .expert_ffn = 1024};
  plan.parallel.tp = 4;
  plan.parallel.dp = plan.parallel.ep = 2;
  plan.parallel.sequence_parallel = true;
  const LayerWork work(plan.model, plan.parallel, 8);
  using P = LayerPart;
  const std::vector<PartWork> parts = work.forward(0, work.balanced_share());
  CHECK(order(parts) == std::vector{P::kAttention, P::kAttentionTp, P::kRouter, P::kCountExchange,
                                    P::kDispatch, P::kExpertsTp, P::kExperts, P::kExpertsTp, P::kCombine});
  // 1024 tokens to 2 experts each, 512 wide, 16 bits; a GPU dispatches its quarter of them.
  const double rows = 2.0 * 2 * 1024 * 512;
  CHECK(parts[4].collectives.at(0).bytes == rows / 4);
  CHECK(parts[5].collectives.at(0) == CollectiveCall{Collective::kAllGather, rows, {4, 4}});
  CHECK(parts[7].collectives.at(0) == CollectiveCall{Collective::kReduceScatter, rows, {4, 4}});
}

TEST_CASE("layer work: whole experts get the rows of a GPU's own tokens, and nothing is summed over tp") {
  TrainingPlan plan = small_plan();
  plan.model.moe = MoeShape{.experts = 16, .top_k = 2, .expert_ffn = 1024};
  plan.parallel.tp = 4;
  plan.parallel.dp = 2;
  plan.parallel.sequence_parallel = true;
  plan.parallel.ep = 2;
  const LayerWork cut(plan.model, plan.parallel, 4);
  ParallelPlan placed = plan.parallel;
  placed.ep = 8;
  const LayerWork whole(plan.model, placed, 4, ExpertSlots{2});
  using P = LayerPart;
  const std::vector<PartWork> parts = whole.forward(0, whole.balanced_share());
  CHECK(order(parts) == std::vector{P::kAttention, P::kAttentionTp, P::kRouter, P::kCountExchange,
                                    P::kDispatch, P::kExperts, P::kCombine});
  CHECK(whole.balanced_share().tokens == cut.balanced_share().tokens / 4);
  // As many tokens leave a GPU, now for any of 8 GPUs on 2 nodes; products of all GPUs together are the same.
  CHECK(parts[4].collectives.at(0).bytes == cut.forward(0, cut.balanced_share())[4].collectives.at(0).bytes);
  CHECK(parts[4].collectives.at(0).group == GpuGroup{8, 4});
  CHECK(products(parts) == products(cut.forward(0, cut.balanced_share())));
  CHECK(products(whole.backward(0, whole.balanced_share(), Gradients::kAll)) == 2 * products(parts));
  CHECK(whole.groups().expert_data == GpuGroup{1, 1});
}

TEST_CASE(
    "layer work: with etp below tp, the GPUs that share an expert exchange the rows of their own tokens") {
  TrainingPlan plan = small_plan();
  plan.model.moe = MoeShape{.experts = 16, .top_k = 2, .expert_ffn = 1024};
  plan.parallel.tp = 4;
  plan.parallel.dp = 2;
  plan.parallel.sequence_parallel = true;
  using P = LayerPart;
  const double rows = 2.0 * 2 * 1024 * 512;  // 1024 tokens to 2 experts each, 512 wide, 16 bits
  for (const std::int32_t etp : {1, 2, 4}) {
    CAPTURE(etp);
    plan.parallel.etp = etp;
    plan.parallel.ep = 8 / etp;
    const LayerWork work(plan.model, plan.parallel, 8);
    // A quarter of the tokens' copies arrives per GPU on average, and its etp peers' rows come with them.
    CHECK(work.balanced_share().tokens == 2.0 * 1024 / 4 * etp);
    CHECK(work.scope().held_experts() == 2.0 * etp);
    const std::vector<PartWork> parts = work.forward(0, work.balanced_share());
    for (const PartWork& part : parts) {
      if (part.part == P::kDispatch) {
        CHECK(part.collectives.at(0).bytes == rows / 4);
        CHECK(part.collectives.at(0).group == GpuGroup{8 / etp, 8 / etp});
      }
      if (part.part != P::kExpertsTp) continue;
      CHECK(part.collectives.at(0).bytes == rows / 4 * etp);
      CHECK(part.collectives.at(0).group == GpuGroup{etp, etp});
    }
    CHECK(std::ranges::count(order(parts), P::kExpertsTp) == (etp == 1 ? 0 : 2));
    // All GPUs together multiply the same.
    CHECK(products(work.backward(0, work.balanced_share(), Gradients::kAll)) == 2 * products(parts));
  }
}

TEST_CASE("layer work: a split backward hides no reduction behind gradients it leaves for later") {
  TrainingPlan plan = small_plan();
  plan.parallel.tp = 4;
  plan.parallel.overlap_tp_reduce = true;
  const LayerWork work(plan.model, plan.parallel, 8);
  for (const Gradients gradients : {Gradients::kAll, Gradients::kActivations}) {
    for (const PartWork& part : work.backward(0, {}, gradients)) {
      if (info(part.part).is_communication)
        CHECK(part.beside.empty() == (gradients == Gradients::kActivations));
    }
  }
}

TEST_CASE("layer work: groups follow Megatron's rank order, tensor-parallel ranks first") {
  TrainingPlan plan = small_plan();
  plan.parallel.tp = 4;
  plan.parallel.dp = 16;
  plan.parallel.ep = 4;
  const PlanGroups groups(plan.parallel, 8);
  CHECK(groups.tensor == GpuGroup{4, 4});
  CHECK(groups.data == GpuGroup{16, 2});  // a node of 8 has two of every four ranks' places
  CHECK(groups.expert == GpuGroup{4, 2});
  CHECK(groups.expert_data == GpuGroup{4, 1});
}

}  // namespace goodput
