// Plans: the shipped ones, and what check_training_plan() refuses.
#include "models/plan/training_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "models/shape/model_file.h"
#include "sim/base/json.h"
#include "tests/support/read_json.h"
#include "tests/support/step_case.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

using testing::shipped_plan;

namespace fs = std::filesystem;

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(GOODPUT_CONFIGS "/" + folder))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

// 12 layers of 8 heads over 2 nodes of 8 GPUs.
TrainingPlan small_plan() {
  TrainingPlan plan;
  plan.model = {.name = "small",
                .layers = 12,
                .hidden = 64,
                .heads = 8,
                .kv_heads = 8,
                .head_dim = 8,
                .ffn = 256,
                .vocab = 100};
  plan.cluster.nodes = 2;
  plan.cluster.gpus_per_node = 8;
  plan.cluster.gpu.name = "G";
  plan.parallel.dp = 2;
  plan.parallel.pp = 2;
  plan.parallel.tp = 2;
  plan.parallel.global_batch = 8;
  return plan;
}

// The message about small_plan() after `change`; "" where it is fine.
std::string problem(const std::function<void(TrainingPlan&)>& change) {
  TrainingPlan plan = small_plan();
  change(plan);
  const Status status = check_training_plan(plan);
  return status ? "" : status.error().message();
}

void collect_numbers_without_source(const Json& value, bool is_sourced, const std::string& pointer,
                                    std::vector<std::string>& found) {
  if (value.is_object()) {
    is_sourced = is_sourced || value.contains("source");
    for (const auto& [key, member] : value.items())
      collect_numbers_without_source(member, is_sourced, std::string(pointer).append("/").append(key), found);
  } else if (value.is_array()) {
    for (const auto& member : value) collect_numbers_without_source(member, is_sourced, pointer, found);
  } else if (value.is_number() && !is_sourced) {
    found.push_back(pointer);
  }
}

}  // namespace

TEST_CASE("configs: all that is shipped can be read") {
  for (const std::string& file : files_in("models")) {
    const auto model = read_any_model(file);
    CHECK_MESSAGE(model, model.error().message());
  }
  for (const std::string& file : files_in("clusters")) {
    const auto cluster = read_cluster(file);
    CHECK_MESSAGE(cluster, cluster.error().message());
  }
  for (const std::string& file : files_in("plans")) {
    const auto plan = read_training_plan(file);
    CHECK_MESSAGE(plan, plan.error().message());
  }
}

TEST_CASE("configs: every number that is shipped has a source") {
  for (const std::string folder : {"models", "clusters", "plans"}) {
    for (const std::string& file : files_in(folder)) {
      std::vector<std::string> found;
      collect_numbers_without_source(testing::read_json(file), false, file, found);
      CHECK_MESSAGE(found.empty(), found.front());
    }
  }
}

TEST_CASE("configs: rates are SI, NICs in bits") {
  const ClusterSpec cluster = read_cluster(GOODPUT_CONFIGS "/clusters/dgx-h100.json")->cluster;
  CHECK(cluster.gpus() == 16384);
  CHECK(cluster.gpu.bf16 == FlopsPerSecond{989.4e12});
  CHECK(cluster.gpu.fp8.value() == FlopsPerSecond{1978.9e12});
  CHECK(cluster.intra_node.bandwidth == BytesPerSecond{450e9});
  CHECK(cluster.inter_node.bandwidth == BytesPerSecond{50e9});
  CHECK(cluster.inter_node.latency == SimDuration{6600});
  CHECK(cluster.gpus_per_nic() == 1);
  CHECK(cluster.tier == Tier::kAssumed);  // the efficiency of its links
  CHECK(read_cluster(GOODPUT_CONFIGS "/clusters/rtx3090-10.json")->cluster.gpus_per_nic() == 2);
  CHECK(read_cluster(GOODPUT_CONFIGS "/clusters/h800-2048.json")->cluster.tier == Tier::kDatasheet);
}

TEST_CASE("configs: plans use the GPUs their papers used") {
  CHECK(shipped_plan("gpt3-175b-1024-a100").parallel.gpus() == 1024);
  CHECK(shipped_plan("llama3-405b-16k-h100").parallel.gpus() == 16384);
  CHECK(shipped_plan("llama3-405b-16k-h100-131k").parallel.gpus() == 16384);
  CHECK(shipped_plan("llama3-405b-8k-h100").parallel.gpus() == 8192);
  CHECK(shipped_plan("deepseek-v3-2048-h800").parallel.gpus() == 2048);
  CHECK(shipped_plan("deepseek-v3-1024").parallel.gpus() == 1024);
}

TEST_CASE("plan: 61 layers over 16 stages work with an explicit split") {
  TrainingPlan plan = shipped_plan("deepseek-v3-2048-h800");
  CHECK(plan.parallel.layers_per_stage.size() == 16);
  CHECK(plan.parallel.micro_batches() == 120);
  CHECK(check_training_plan(plan));
  plan.parallel.layers_per_stage.clear();
  CHECK(check_training_plan(plan).error().what ==
        "61 layers do not divide evenly over 16 pipeline positions (pp 16 x vpp 1); set layers_per_stage");
}

TEST_CASE("plan: model and cluster may be inline, efficiencies are the cluster's unless the plan says") {
  const auto read = [](std::string_view efficiency) {
    const TemporaryFile file("plan.json", std::string(R"({
      "model": {"name": "m", "layers": 2, "hidden": 8, "heads": 2, "ffn": 8, "vocab": 9},
      "cluster": {"name": "c", "tier": "model", "nodes": 1, "gpus_per_node": 2, "nics_per_node": 1,
        "gpu": {"name": "g", "bf16_tflops": 1, "fp32_tflops": 1, "memory_gib": 1, "memory_gb_per_s": 1,
                "multiprocessors": 1},
        "intra_node": {"bandwidth_gb_per_s": 1}, "inter_node": {"bandwidth_gbps": 8},
        "efficiency": {"gemm_efficiency": 0.5, "launch_us": 3, "tier": "literature"}},
      "parallel": {"global_batch": 2, "sequence_length": 16},
      "cost": {"model": "calibrated", "calibration": "x.json"}, "expert_load": {"skew": 1.5})")
                                                  .append(efficiency) +
                                              "}");
    TrainingPlan plan = read_training_plan(file.path()).value();
    CHECK(plan.calibration == fs::path(file.path()).replace_filename("x.json").string());
    CHECK(plan.file == file.path());
    return plan;
  };
  TrainingPlan plan = read("");
  CHECK(plan.model.kv_heads == 2);
  CHECK(plan.cluster.inter_node.bandwidth == BytesPerSecond{1e9});
  CHECK(plan.cluster.tier == Tier::kModel);  // "efficiency" keeps its own
  CHECK(plan.roofline.gemm_efficiency == 0.5);
  CHECK(plan.roofline.tier == Tier::kLiterature);
  CHECK(plan.cost_model == "calibrated");
  CHECK(plan.expert_load.skew == 1.5);
  plan = read(R"(, "efficiency": {"gemm_efficiency": 0.7, "tier": "assumed"})");
  CHECK(plan.roofline.gemm_efficiency == 0.7);
  CHECK(plan.roofline.launch_us == 3);
  CHECK(plan.roofline.tier == Tier::kAssumed);
}

TEST_CASE("plan: a plan written resolved is read as the same plan") {
  for (const std::string& path : files_in("plans")) {
    TrainingPlan plan = read_training_plan(path).value();
    const OrderedJson written = config::write(config_fields(plan));
    const TemporaryFile file("plan.json", written.dump(2));
    auto again = read_training_plan(file.path());
    REQUIRE_MESSAGE(again, again.error().message());
    CHECK(config::write(config_fields(*again)) == written);
  }
}

TEST_CASE("plan: errors in a plan and in the files it names have the file and the pointer") {
  const TemporaryFile file("plan.json", R"({"model": "gpt-x", "cluster": "c", "parallel": {}})");
  const std::string models = (fs::path(file.path()).parent_path().parent_path() / "models").string();
  CHECK(without_path(read_training_plan(file.path()).error().message(), file) ==
        " /model: no model \"gpt-x\"; looked in " + models + " (no such folder)");
  TrainingPlan plan = small_plan();
  plan.file = "p.json";
  plan.parallel.dp = 16;
  CHECK(check_training_plan(plan).error().message() ==
        "p.json /parallel: dp 16 x pp 2 x tp 2 x cp 1 needs 64 GPUs, but the cluster has 16");
}

TEST_CASE("plan: sizes that must divide are named") {
  CHECK(problem([](TrainingPlan&) {}).empty());
  CHECK(problem([](TrainingPlan& p) { p.parallel.dp = 5; }) ==
        "/parallel: dp 5 x pp 2 x tp 2 x cp 1 needs 20 GPUs, but the cluster has 16");
  CHECK(problem([](TrainingPlan& p) { p.model.heads = 9; }) ==
        "/parallel/tp: is 2, which does not divide the model's heads (9)");
  CHECK(problem([](TrainingPlan& p) { p.model.hidden = 63; }) ==
        "/parallel/tp: is 2, which does not divide the model's hidden (63)");
  CHECK(problem([](TrainingPlan& p) { p.model.ffn = 255; }) ==
        "/parallel/tp: is 2, which does not divide the model's ffn (255)");
  CHECK(problem([](TrainingPlan& p) { p.model.moe = MoeShape{.experts = 2, .expert_ffn = 3}; }) ==
        "/parallel/tp: is 2, which does not divide the model's expert_ffn (3)");
  CHECK(problem([](TrainingPlan& p) { p.model.kv_heads = 3; }) ==
        "/parallel/tp: must be a divisor or a multiple of the model's kv_heads (3), not 2");
  CHECK(problem([](TrainingPlan& p) { p.model.kv_heads = 1; }).empty());
  CHECK(problem([](TrainingPlan& p) { p.parallel.global_batch = 7; }) ==
        "/parallel/global_batch: must be a multiple of dp 2 x micro_batch 1 = 2, not 7");
  CHECK(problem([](TrainingPlan& p) { p.parallel.cp = 2, p.parallel.sequence_length = 1023; }) ==
        "/parallel/cp: is 2, which does not divide sequence_length (1023)");
}

TEST_CASE("plan: sequence parallelism cuts what context parallelism leaves of a sequence into whole tokens") {
  const auto with = [](std::int32_t cp, std::int64_t sequence_length, bool is_on) {
    return problem([=](TrainingPlan& p) {
      p.parallel.cp = cp;
      p.parallel.sequence_length = sequence_length;
      p.parallel.sequence_parallel = is_on;
    });
  };
  CHECK(with(1, 1001, true) ==
        "/parallel/sequence_length: must be a multiple of cp 1 x tp 2 = 2, not 1001, because "
        "sequence_parallel is true");
  CHECK(with(2, 1002, true) ==
        "/parallel/sequence_length: must be a multiple of cp 2 x tp 2 = 4, not 1002, because "
        "sequence_parallel is true");
  CHECK(with(2, 1004, true).empty());
  CHECK(with(1, 1001, false).empty());
}

TEST_CASE("plan: tokens of a step, each once an expert it goes to, are counted in 64 bits") {
  // 1e9 sequences x 1e9 tokens are 1e18; 9 times that is below 2^63 = 9.22e18, 10 times beyond.
  const auto with = [](std::int32_t top_k, std::int64_t sequence_length) {
    return problem([=](TrainingPlan& p) {
      p.model.moe = MoeShape{.experts = 16, .top_k = top_k, .expert_ffn = 64};
      p.parallel.micro_batch = 250'000'000;
      p.parallel.global_batch = 1'000'000'000;
      p.parallel.sequence_length = sequence_length;
    });
  };
  CHECK(with(9, 1'000'000'000).empty());
  CHECK(with(10, 1'000'000'000) ==
        "/parallel/sequence_length: is 1000000000, but sequence_length x global_batch (1000000000) x the "
        "model's top_k must be below 2^63; use at most 922337203");
  CHECK(with(10, 922'337'203).empty());
}

TEST_CASE("plan: tensor parallelism may span nodes") {
  CHECK(problem([](TrainingPlan& p) {
          p.parallel.dp = 1, p.parallel.pp = 1, p.parallel.tp = 16;
          p.model.heads = 16;
        }).empty());
}

TEST_CASE("plan: expert parallelism divides the experts and fits into data and context parallelism") {
  const auto with_experts = [](std::int32_t experts, std::int32_t ep) {
    return problem([=](TrainingPlan& p) {
      p.model.moe = MoeShape{.experts = experts, .expert_ffn = 64};
      p.parallel.ep = ep;
    });
  };
  CHECK(problem([](TrainingPlan& p) { p.parallel.ep = 2; }) ==
        "/parallel/ep: is 2, but the model has no experts");
  CHECK(with_experts(8, 2).empty());
  CHECK(with_experts(9, 2) == "/parallel/ep: is 2, which does not divide the model's experts (9)");
  CHECK(with_experts(9, 3) == "/parallel/ep: is 3, which does not divide dp x cp (2)");
  CHECK(with_experts(8, 4) ==
        "/parallel/ep: is 4, which does not divide dp x cp (2); to spread the experts over the tp GPUs too, "
        "set sequence_parallel to true and etp to 1");
}

TEST_CASE("plan: expert tensor parallelism divides what a stage has, and needs ranks with their own tokens") {
  const auto with = [](std::int32_t ep, std::int32_t etp, bool sequence_parallel = true) {
    return problem([=](TrainingPlan& p) {  // dp 2 x tp 2 per stage
      p.model.moe = MoeShape{.experts = 8, .expert_ffn = 48};
      p.parallel.ep = ep;
      p.parallel.etp = etp;
      p.parallel.sequence_parallel = sequence_parallel;
    });
  };
  CHECK(with(4, 1).empty());
  CHECK(with(1, 4).empty());  // an expert on two replicas
  CHECK(with(2, 2, false).empty());
  CHECK(with(2, 1, false) == "/parallel/etp: is 1, not tp (2); this needs sequence_parallel to be true");
  CHECK(with(1, 5) == "/parallel/etp: is 5, which does not divide the model's expert_ffn (48)");
  CHECK(with(1, 8) == "/parallel/etp: is 8, which does not divide dp x cp x tp (4)");
  CHECK(with(8, 1) == "/parallel/ep: is 8, which does not divide dp x cp x tp / etp (4)");
  CHECK(problem([](TrainingPlan& p) { p.parallel.etp = 2; }) ==
        "/parallel/etp: is 2, but the model has no experts");
  CHECK(problem([](TrainingPlan& p) { p.parallel.etp = 1; }).empty());  // as stacks say for all models
  TrainingPlan placed = small_plan();
  placed.model.moe = MoeShape{.experts = 8, .expert_ffn = 48};
  placed.parallel.sequence_parallel = true;
  placed.parallel.etp = 2;
  CHECK(check_training_plan(placed, ExpertSlots{4}).error().message() ==
        "/parallel/etp: must be 1, not 2, because experts in slots are whole");
}

TEST_CASE("plan: an ep that only whole experts allow makes etp 1") {
  const auto etp_of = [](const std::string& keys) {
    const TemporaryFile file("plan.json", R"({"model": "mixtral-8x7b", "cluster": "dgx-h100", "parallel":
        {"global_batch": 8, "sequence_length": 4096, )" +
                                              keys + "}}");
    const auto plan = read_training_plan(file.path(), {.folders = {GOODPUT_CONFIGS}});
    REQUIRE_MESSAGE(plan, plan.error().message());
    return plan->parallel.expert_tp();
  };
  CHECK(etp_of(R"("dp": 2, "tp": 4, "ep": 8, "sequence_parallel": true)") == 1);
  CHECK(etp_of(R"("dp": 2, "tp": 4, "ep": 2, "sequence_parallel": true)") == 4);
  CHECK(etp_of(R"("dp": 2, "tp": 4, "ep": 4, "etp": 2, "sequence_parallel": true)") == 2);
}

TEST_CASE("plan: a stack's etp does not apply to a plan that cannot have it") {
  const auto read = [](const std::string& model, const std::string& keys) {
    const TemporaryFile file(
        "plan.json", R"({"cluster": "dgx-h100", "stack": "megatron-bridge", "model": ")" + model +
                         R"(", "parallel": {"global_batch": 8, "sequence_length": )" + R"(4096, )" + keys +
                         "}}");
    const auto plan = read_training_plan(file.path(), {.folders = {GOODPUT_CONFIGS}});
    REQUIRE_MESSAGE(plan, plan.error().message());
    return plan->parallel;
  };
  CHECK(read("mixtral-8x7b", R"("tp": 2, "sequence_parallel": true)").etp == 1);
  CHECK(read("mixtral-8x7b", R"("tp": 2)").etp == 0);  // tensor-parallel GPUs have the same tokens
  CHECK(read("llama3-8b", R"("tp": 2, "sequence_parallel": true)").etp == 0);
  // What a plan states, a copy of it states too.
  const ParallelPlan stated =
      read("mixtral-8x7b", R"("dp": 8, "ep": 8, "dispatcher": "all_to_all", "expert_matmuls": "batched")");
  CHECK(text_key(stated).find(R"("dispatcher":"all_to_all")") != std::string::npos);
  CHECK(text_key(stated).find(R"("expert_matmuls":"batched")") != std::string::npos);
}

TEST_CASE("plan: layers spread evenly over the stages or as the plan says") {
  CHECK(problem([](TrainingPlan& p) { p.model.layers = 13; }) ==
        "/parallel/pp: 13 layers do not divide evenly over 2 pipeline positions (pp 2 x vpp 1); set "
        "layers_per_stage");
  CHECK(problem([](TrainingPlan& p) { p.model.layers = 13, p.parallel.layers_per_stage = {7, 6}; }).empty());
  CHECK(problem([](TrainingPlan& p) { p.parallel.layers_per_stage = {12, 0}; }).empty());
  CHECK(problem([](TrainingPlan& p) { p.parallel.layers_per_stage = {12}; }) ==
        "/parallel/layers_per_stage: must have one entry for each of the 2 pipeline positions (pp 2 x vpp "
        "1), not 1");
  CHECK(problem([](TrainingPlan& p) {
          p.parallel.layers_per_stage = {6, 5};
        }) == "/parallel/layers_per_stage: must add up to the model's 12 layers, not 11");
}

TEST_CASE("plan: the schedule has its say, and fewer micro-batches than stages are no error") {
  CHECK(problem([](TrainingPlan& p) { p.parallel.pp = 4, p.parallel.global_batch = 2; }).empty());
  CHECK(problem([](TrainingPlan& p) { p.parallel.schedule = "1f1c"; }).starts_with("/parallel/schedule: "));
  CHECK(problem([](TrainingPlan& p) { p.parallel.vpp = 2; }).starts_with("/parallel/vpp: "));
  CHECK(problem([](TrainingPlan& p) { p.parallel.vpp = 2, p.parallel.schedule = "interleaved"; }).empty());
  CHECK(problem([](TrainingPlan& p) {
          p.parallel.vpp = 2, p.parallel.schedule = "interleaved", p.parallel.pp = 1;
        }).starts_with("/parallel/vpp: "));
  CHECK(problem([](TrainingPlan& p) {
          p.parallel.vpp = 2, p.parallel.schedule = "interleaved", p.parallel.global_batch = 6;
        }).starts_with("/parallel/global_batch: "));
}

TEST_CASE("plan: schedules in a V have two positions per stage") {
  const auto in_v = [](TrainingPlan& p, std::vector<std::int32_t> split) {
    p.parallel.schedule = "zb-v";
    p.parallel.layers_per_stage = std::move(split);
  };
  CHECK(problem([&](TrainingPlan& p) { in_v(p, {}); }).empty());  // 12 layers on 2 stages
  CHECK(problem([&](TrainingPlan& p) { in_v(p, {4, 3, 3, 2}); }).empty());
  CHECK(problem([&](TrainingPlan& p) {
          in_v(p, {6, 6});
        }) ==
        "/parallel/layers_per_stage: must have one entry for each of the 4 pipeline positions (pp 2 x 2 of "
        "schedule \"zb-v\"), not 2");
  CHECK(problem([&](TrainingPlan& p) {
          in_v(p, {});
          p.model.layers = 14;
        }) ==
        "/parallel/pp: 14 layers do not divide evenly over 4 pipeline positions (pp 2 x 2 of schedule "
        "\"zb-v\"); set layers_per_stage");
}

TEST_CASE("plan: instances that ZeRO shards within are whole replicas, and whole expert-parallel groups") {
  const auto sharded = [](TrainingPlan& p, std::int32_t instances) {
    p.parallel.pp = 1;
    p.parallel.dp = 8;
    p.parallel.tp = 2;
    p.parallel.zero = 1;
    p.parallel.zero_instances = instances;
  };
  CHECK(problem([&](TrainingPlan& p) { sharded(p, 4); }).empty());
  CHECK(problem([&](TrainingPlan& p) { sharded(p, 3); }) ==
        "/parallel/zero_instances: is 3, which does not divide dp (8)");
  CHECK(problem([&](TrainingPlan& p) {
          sharded(p, 3);
          p.parallel.zero = 0;  // it means nothing
        }).empty());
  const auto with_experts = [&](std::int32_t instances) {
    return problem([&](TrainingPlan& p) {
      sharded(p, instances);
      p.model.moe = MoeShape{.experts = 8, .top_k = 2, .expert_ffn = 64};
      p.parallel.ep = 4;
    });
  };
  CHECK(with_experts(2).empty());
  CHECK(with_experts(4) ==
        "/parallel/zero_instances: is 4, so each instance has 2 of the dp 8 replicas, but their number of "
        "GPUs per stage (4) is not a multiple of ep 4 x etp 2; use fewer instances or a smaller ep");
}

TEST_CASE("plan: with other numbers of replicas instances stay as large, or grow") {
  ParallelPlan plan{.dp = 8, .zero = 1, .zero_instances = 4};
  CHECK(instances_for(plan, 8, 1) == 4);
  CHECK(instances_for(plan, 6, 1) == 3);
  CHECK(instances_for(plan, 9, 1) == 3);  // of three: two do not divide 9
  CHECK(instances_for(plan, 7, 1) == 1);
  CHECK(instances_for(plan, 1, 1) == 1);
  CHECK(instances_for(plan, 12, 4) == 3);  // four at a time
  plan.zero = 0;
  CHECK(instances_for(plan, 7, 1) == 4);  // means nothing
}

TEST_CASE("plan: fp8 and tf32 need a GPU that has them") {
  CHECK(problem([](TrainingPlan& p) { p.parallel.dtype = Dtype::kTf32; }) ==
        "/parallel/dtype: is \"tf32\", but GPU \"G\" does not support it (no tf32_tflops)");
  CHECK(problem([](TrainingPlan& p) { p.parallel.dtype = Dtype::kFp8; }) ==
        "/parallel/dtype: is \"fp8\", but GPU \"G\" does not support it (no fp8_tflops)");
  CHECK(problem([](TrainingPlan& p) {
          p.parallel.dtype = Dtype::kFp8;
          p.cluster.gpu.fp8 = FlopsPerSecond{1e12};
        }).empty());
}

TEST_CASE("plan: what is out of range is refused by the reader") {
  const auto parallel = [](std::string_view text) {
    const TemporaryFile file("plan.json",
                             std::string(R"({"model": {"name": "m", "layers": 2, "hidden": 8, "heads": 2,
      "ffn": 8, "vocab": 9}, "cluster": ")" GOODPUT_CONFIGS R"(/clusters/dgx-h100.json", "parallel": )")
                                     .append(text) +
                                 "}");
    const auto plan = read_training_plan(file.path());
    return plan ? std::string{} : without_path(plan.error().message(), file);
  };
  CHECK(parallel(R"({"global_batch": 1, "sequence_length": 8})").empty());
  CHECK(parallel(R"({"sequence_length": 8})") ==
        " /parallel/global_batch: is missing; it must be an integer from 1 to 1000000000");
  CHECK(parallel(R"({"global_batch": 1, "sequence_length": 8, "zero": 4})") ==
        " /parallel/zero: must be an integer from 0 to 3, not 4");
  CHECK(parallel(R"({"global_batch": 1, "sequence_length": 8, "dp": 0})") ==
        " /parallel/dp: must be an integer from 1 to 10000000, not 0");
  CHECK(parallel(R"({"global_batch": 1, "sequence_length": 8, "dtype": "fp9"})") ==
        " /parallel/dtype: must be one of \"fp16\", \"bf16\", \"fp8\", \"tf32\", \"fp32\", not \"fp9\"; did "
        "you mean \"fp8\"?");
}

}  // namespace goodput
