// What a stack makes of a cluster's efficiencies, and how stack files are read.
#include "models/stack/software_stack.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "models/cost/cost_models.h"
#include "models/plan/training_plan.h"
#include "sim/base/json.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

using doctest::Approx;

RooflineParameters lone_kernels() {
  RooflineParameters lone;
  lone.gemm_efficiency = 0.8;
  lone.attention_efficiency = 0.5;
  lone.memory_efficiency = 0.7;
  lone.tier = Tier::kMeasured;
  return lone;
}

SoftwareStack stack_with(KernelFactors factors) {
  SoftwareStack stack;
  stack.factors = factors;
  stack.tier = Tier::kModel;
  return stack;
}

std::string shipped(std::string_view name) {
  return fmt::format("{}/stacks/{}.json", GOODPUT_CONFIGS, name);
}

// A plan on the cluster, of 8 GPUs. `more`: further keys, with a leading comma.
std::string plan_on(std::string_view cluster, std::string_view more, std::string_view parallel = "") {
  return fmt::format(R"({{"model": "{0}/models/gpt-s.json", "cluster": "{0}/clusters/{1}.json",
      "parallel": {{"dp": 8, "global_batch": 8, "sequence_length": 1024{3}}}{2}}})",
                     GOODPUT_CONFIGS, cluster, more, parallel);
}

const config::Library& shipped_library() {
  static const config::Library library{.folders = {GOODPUT_CONFIGS}};
  return library;
}

TrainingPlan read_plan(const std::string& json) {
  const TemporaryFile file("plan.json", json);
  auto plan = read_training_plan(file.path(), shipped_library());
  REQUIRE_MESSAGE(plan, plan.error().message());
  return *plan;
}

}  // namespace

TEST_CASE("stack: factors multiply what a lone kernel reaches, up to the rating") {
  const RooflineParameters stacked =
      in_stack(lone_kernels(), stack_with({.gemm = 0.5, .attention = 2.5, .memory = 0.9}), "H100");
  CHECK(stacked.gemm_efficiency == Approx(0.4));
  CHECK(stacked.attention_efficiency == 1);  // 0.5 x 2.5 = 1.25
  CHECK(stacked.memory_efficiency == Approx(0.63));
  CHECK(stacked.measured_gemm_factor == 0.5);
  CHECK(stacked.launch_us == lone_kernels().launch_us);
  CHECK(stacked.tier == Tier::kModel);
}

TEST_CASE("stack: the fp8 factor is that of 16 bits unless it is given") {
  RooflineParameters lone = lone_kernels();
  CHECK(in_stack(lone, stack_with({.gemm = 0.5}), "H100").fp8_gemm_efficiency == 0);  // as 16 bits
  // A cluster that does not say what fp8 reaches: 0.8 x 0.25.
  CHECK(in_stack(lone, stack_with({.gemm = 0.5, .fp8_gemm = 0.25}), "H100").fp8_gemm_efficiency ==
        Approx(0.2));
  lone.fp8_gemm_efficiency = 0.6;
  CHECK(in_stack(lone, stack_with({.gemm = 0.5}), "H100").fp8_gemm_efficiency == Approx(0.3));
  CHECK(in_stack(lone, stack_with({.gemm = 0.5, .fp8_gemm = 0.25}), "H100").fp8_gemm_efficiency ==
        Approx(0.15));
}

TEST_CASE("stack: factors for some GPUs replace those for all, the last match first") {
  SoftwareStack stack = stack_with({.gemm = 0.9, .memory = 0.8});
  stack.gpu_factors = {{{"H100", "H200"}, {.gemm = 0.7}}, {{"H100 500W"}, {.gemm = 0.6, .attention = 0.5}}};
  const auto gemm = [&](const char* gpu) { return *factors_for(stack, gpu).gemm; };
  CHECK(gemm("A100 SXM 80GB") == 0.9);
  CHECK(gemm("NVIDIA H200") == 0.7);
  CHECK(gemm("H100 SXM5 80GB") == 0.7);
  CHECK(gemm("H100 96GB 500W") == 0.6);
  CHECK(factors_for(stack, "H100 96GB 500W").memory == 0.8);
  CHECK(factors_for(stack, "A100").attention == 1);
}

TEST_CASE("stack: factors apply to the stack's own kernels if it has any for the GPU") {
  SoftwareStack stack = stack_with({.attention = 0.5});
  StatedEfficiency flash;
  flash.values[4] = 0.34;  // attention_efficiency
  stack.kernels = {{{"H100", "H200"}, flash}};
  REQUIRE(kEfficiencyKeys[4].name == "attention_efficiency");
  CHECK(in_stack(lone_kernels(), stack, "H100 SXM5 80GB").attention_efficiency == Approx(0.17));
  CHECK(in_stack(lone_kernels(), stack, "A100").attention_efficiency == Approx(0.25));
  CHECK(in_stack(lone_kernels(), stack, "H100 SXM5 80GB").gemm_efficiency == 0.8);
}

TEST_CASE("stack: defaults of every type apply to keys that the plan does not give") {
  const TemporaryFile file("own.json", R"({"name": "own", "defaults": {"loss": "chunked", "compiled": false,
      "reshard_after_forward": "never", "optimizer_bytes": 6, "tp_overlap": "sliced"}})");
  const TrainingPlan plan = read_plan(plan_on("dgx-h100", fmt::format(R"(, "stack": "{}")", file.path()),
                                              R"(, "zero": 3, "compiled": true)"));
  CHECK(plan.parallel.loss == LossKernels::kChunked);
  CHECK(plan.parallel.compiled);
  CHECK(plan.parallel.reshard_after_forward == Reshard::kNever);
  CHECK(plan.parallel.optimizer_bytes == 6);
  CHECK(plan.parallel.tp_overlap == TpOverlap::kSliced);
}

TEST_CASE("stack: a stack without factors leaves the numbers and their tier as they are") {
  const RooflineParameters same = in_stack(lone_kernels(), stack_with({}), "H100");
  CHECK(same.gemm_efficiency == 0.8);
  CHECK(same.tier == Tier::kMeasured);
}

TEST_CASE("stack: a stack inherits from its parent what it does not have, except the release") {
  const TemporaryFile parent("parent.json", R"({"name": "parent", "release": "1", "tier": "literature",
      "factors": {"gemm": 0.9, "memory": 0.8}, "efficiency": {"launch_us": 7},
      "defaults": {"overlap_p2p": true, "gradient_bytes": 2}})");
  const TemporaryFile child("child.json", fmt::format(R"({{"name": "child", "parent": "{}",
      "factors": {{"gemm": 0.7}}, "defaults": {{"overlap_p2p": false}}}})",
                                                      parent.path()));
  const auto stack = read_stack(child.path());
  REQUIRE_MESSAGE(stack, stack.error().message());
  CHECK(stack->name == "child");
  CHECK(stack->release.empty());
  CHECK(stack->factors == KernelFactors{.gemm = 0.7, .memory = 0.8});
  CHECK(replaced({}, stack->efficiency).launch_us == 7);
  CHECK(stack->defaults.overlap_p2p == false);
  CHECK(stack->defaults.gradient_bytes == 2);
  CHECK(stack->tier == Tier::kLiterature);
}

TEST_CASE("stack: a stack that is its own ancestor is refused") {
  const TemporaryFile file("loop.json", R"({"name": "loop", "parent": "loop.json"})");
  const auto stack = read_stack(file.path());
  REQUIRE_FALSE(stack);
  CHECK(stack.error().message() ==
        file.path() +
            " /parent: has more than 8 levels of parents; does the software stack inherit from itself?");
}

TEST_CASE("stack: bad values are refused with their place") {
  const auto message_of = [](const char* json) {
    const TemporaryFile file("s.json", json);
    const auto stack = read_stack(file.path());
    REQUIRE_FALSE(stack);
    return stack.error().message().substr(file.path().size());
  };
  CHECK(message_of(R"({})") == " /name: is missing; it must be a string");
  CHECK(message_of(R"({"name": "x", "factors": {"gemm": 0}})") ==
        " /factors/gemm: must be a number above 0 and at most 10, not 0");
  CHECK(message_of(R"({"name": "x", "gpu_factors": 3})") ==
        " /gpu_factors: must be an array of objects with gpus and factors, not 3");
  CHECK(message_of(R"({"name": "x", "left_out": [{"parallelism": "DDP", "gpu": "H100", "precision": "fp8",
      "measured_over_predicted": [1]}]})") ==
        " /left_out/0/parallelism: must be one of \"FSDP\", \"TP/PP\", \"MoE\", not \"DDP\"");
  CHECK(message_of(R"({"name": "x", "defaults": {"overlap_p2p": 1}})") ==
        " /defaults/overlap_p2p: must be true or false, not 1");
  CHECK(message_of(R"({"name": "x", "defaults": {"gradient_bytes": 0}})") ==
        " /defaults/gradient_bytes: must be an integer from 1 to 8, not 0");
}

// Without a stack, plans keep the numbers that they had before clusters said what lone kernels reach.
TEST_CASE("stack: the default stack keeps the efficiencies that goodput has always had, to the last bit") {
  struct Expected {
    const char* cluster;
    double gemm, attention, memory;
  };
  const Expected all[] = {{"dgx-h100", 0.59, 0.41, 0.75},
                          {"dgx-h200", 0.59, 0.41, 0.75},
                          {"h800-2048", 0.59, 0.41, 0.75},
                          {"h100-96gb-500w", 0.59, 0.41, 0.75},
                          {"dgx-b200", 0.59, 0.41, 0.75},
                          {"dgx-b300", 0.59, 0.41, 0.75},
                          {"gb200-nvl72", 0.59, 0.41, 0.75},
                          {"gb300-nvl72", 0.59, 0.41, 0.75},
                          {"mi300x-8", 0.59, 0.41, 0.75},
                          {"dgx-a100", 0.81, 0.6, 0.59},
                          {"a100-40gb", 0.81, 0.6, 0.59},
                          {"a100-8gpu", 0.81, 0.6, 0.59},
                          {"a10g-16", 0.8, 0.6, 0.8},
                          {"rtx3090-10", 0.8, 0.6, 0.8},
                          {"rtx3090-10-lazarus", 0.394, 0.6, 0.8}};
  for (const Expected& expected : all) {
    CAPTURE(expected.cluster);
    const TrainingPlan plan = read_plan(plan_on(expected.cluster, ""));
    CHECK(plan.stack.name == "default");
    CHECK(plan.roofline.gemm_efficiency == expected.gemm);
    const double fp8 = plan.roofline.fp8_gemm_efficiency;
    CHECK((fp8 == 0 || fp8 == expected.gemm));
    CHECK(plan.roofline.attention_efficiency == expected.attention);
    CHECK(plan.roofline.memory_efficiency == expected.memory);
    CHECK(plan.roofline.measured_gemm_factor == 1);
  }
}

TEST_CASE("stack: a plan that is read without a library, and has no stack, is priced as lone kernels") {
  const TemporaryFile file("plan.json", plan_on("dgx-h100", ""));
  const auto plan = read_training_plan(file.path());
  REQUIRE(plan);
  CHECK(plan->stack.name == "none");
  CHECK(plan->roofline.gemm_efficiency == 0.72);
}

TEST_CASE("stack: the plan's own efficiency has precedence, and its GEMMs in 16 bits stand for fp8 too") {
  const TrainingPlan plan =
      read_plan(plan_on("dgx-h100", R"(, "stack": "nemo", "efficiency": {"gemm_efficiency": 0.5})"));
  const SoftwareStack nemo = read_stack(shipped("nemo"), shipped_library()).value();
  CHECK(plan.roofline.gemm_efficiency == 0.5);
  CHECK(plan.roofline.fp8_gemm_efficiency == 0);
  CHECK(plan.roofline.memory_efficiency == Approx(0.75 * *nemo.factors.memory));
}

TEST_CASE("stack: its defaults hold for keys that the plan's parallel does not give") {
  const TrainingPlan silent = read_plan(plan_on("dgx-h100", R"(, "stack": "nemo")"));
  CHECK(silent.parallel.overlap_grad_reduce);
  CHECK(silent.parallel.gradient_bytes == 2);
  const TrainingPlan stated = read_plan(
      plan_on("dgx-h100", R"(, "stack": "nemo")", R"(, "overlap_grad_reduce": false, "gradient_bytes": 4)"));
  CHECK_FALSE(stated.parallel.overlap_grad_reduce);
  CHECK(stated.parallel.gradient_bytes == 4);
  CHECK(stated.parallel.overlap_param_gather);
}

TEST_CASE("stack: measured matrix multiplications take longer by the stack's factor") {
  const auto seconds = [](const char* stack) {
    const TrainingPlan plan = read_plan(
        plan_on("dgx-h200", fmt::format(R"(, "stack": {}, "cost": {{"model": "calibrated"}})", stack)));
    const auto cost = make_cost_model(cost_inputs(plan));
    REQUIRE(cost);
    Kernel kernel{.kind = Kernel::Kind::kGemm, .m = 8192, .n = 8192, .k = 8192};
    return (*cost)->kernels(std::array{kernel}).seconds;
  };
  const double lone = seconds(R"({"name": "x"})");
  // The 2 us of an idle kernel are not scaled.
  CHECK(seconds(R"({"name": "x", "factors": {"gemm": 0.5}})") == Approx(2 * lone).epsilon(0.01));
  CHECK(seconds(R"({"name": "x", "factors": {"gemm": 0.5}, "scales_measured": false})") == lone);
  CHECK(seconds("\"default\"") == lone);
}

TEST_CASE("stack: every shipped stack has measured steps that it was not fitted to") {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(GOODPUT_CONFIGS "/stacks"))
    names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{"automodel", "default", "hai-llm", "ideal", "llm-foundry",
                                          "megatron-2022", "megatron-bridge", "nemo", "torchtitan"});
  for (const std::string& name : names) {
    CAPTURE(name);
    const auto stack = read_stack(shipped(name), shipped_library());
    REQUIRE_MESSAGE(stack, stack.error().message());
    CHECK(stack->name == name);
    CHECK_FALSE(stack->left_out.empty());
  }
}

TEST_CASE("stack: a release of a shipped stack is an alias of it") {
  const auto found = config::find(shipped_library(), kStackFiles, "megatron-bridge@26.04");
  REQUIRE(found);
  CHECK(found->file == shipped("megatron-bridge"));
}

TEST_CASE("stack: the ideal stack has the ratings, with all communication overlapped") {
  const TrainingPlan plan = read_plan(plan_on("dgx-h100", R"(, "stack": "ideal")"));
  CHECK(plan.roofline.gemm_efficiency == 1);
  CHECK(plan.roofline.attention_efficiency == 1);
  CHECK(plan.roofline.memory_efficiency == 1);
  CHECK(plan.roofline.launch_us == 0);
  CHECK(plan.roofline.tier == Tier::kDatasheet);
  CHECK(plan.parallel.overlap_p2p);
}

}  // namespace goodput
