// Plans to launch files and back. What a launch file means is what `goodput import plan` reads from it.
#include "models/launch/export_launch.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "models/launch/effective_plan.h"
#include "models/launch/import_launch.h"
#include "models/stack/software_stack.h"
#include "sim/base/json.h"
#include "sim/base/random.h"
#include "tests/support/random_plan.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

config::Library export_library() {
  config::Library library;
  library.folders = {GOODPUT_CONFIGS};
  return library;
}

// Llama 3 8B on 8 GPUs of dgx-h100: ZeRO-1, nothing else is parallel.
TrainingPlan exported_plan() {
  auto plan = read_training_plan(GOODPUT_CONFIGS "/plans/llama3-8b-h100.json", export_library());
  REQUIRE_MESSAGE(plan, plan.error().message());
  plan->file.clear();
  plan->parallel_keys.clear();
  plan->parallel = ParallelPlan{};
  plan->parallel.dp = 8;
  plan->parallel.zero = 1;
  plan->parallel.global_batch = 64;
  plan->parallel.sequence_length = 8192;
  return *std::move(plan);
}

// All keys that have an effect, with their values.
std::string meaning_of(const TrainingPlan& plan) {
  TrainingPlan same = launch::effective(plan);
  same.model.name.clear();
  return config::write(config_fields(same.model)).dump() + "\n" +
         config::write(config_fields(same.parallel)).dump();
}

launch::ImportedLaunch import_export(const std::string& text) {
  const TemporaryFile file("launch", text);
  launch::ImportRequest request;
  request.files = {file.path()};
  request.cluster = "dgx-h100";
  auto imported = launch::import_launch(request, export_library());
  REQUIRE_MESSAGE(imported, fmt::format("{}\n{}", imported.error().message(), text));
  REQUIRE(imported->missing.empty());
  return *std::move(imported);
}

void check_round_trip(const TrainingPlan& plan, std::string_view format) {
  const auto text = launch::export_launch(plan, format);
  REQUIRE_MESSAGE(text, text.error().message());
  const launch::ImportedLaunch imported = import_export(*text);
  CHECK_MESSAGE(meaning_of(imported.plan) == meaning_of(plan), *text);
  for (const launch::LaunchWarning& warning : imported.draft.warnings)
    CHECK_MESSAGE(warning.text.find("not a setting that goodput knows") == std::string::npos, warning.text);
}

std::string export_problem(const TrainingPlan& plan, std::string_view format) {
  const auto text = launch::export_launch(plan, format);
  return text ? "no error" : text.error().message();
}

// Draws that read like choices.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed, "exports") {}

  bool coin() { return random_.below(2) == 1; }
  template <typename T>
  T one_of(std::initializer_list<T> choices) {
    return *(choices.begin() + random_.below(choices.size()));
  }

 private:
  RandomStream random_;
};

BiasedParts drawn_biases(Draw& draw) {
  BiasedParts biases = draw.coin();
  biases.qkv = biases.qkv || draw.coin();
  biases.norm = draw.coin();
  return biases;
}

ModelShape drawn_model(Draw& draw) {
  ModelShape model;
  model.name = "drawn";
  model.layers = draw.one_of({8, 12, 16});
  model.heads = 16;
  model.hidden = 1024;
  if (draw.one_of({0, 0, 1}) == 1) {
    model.latent = LatentAttention{draw.one_of({0, 256}), 128, 64, 32, 64};
  } else {
    model.kv_heads = draw.one_of({4, 16});
    model.head_dim = draw.one_of({64, 128});
    model.qk_norm = draw.coin();
  }
  model.ffn = draw.one_of({2816, 4096});
  model.gated_ffn = draw.coin();
  model.biases = drawn_biases(draw);
  model.vocab = draw.one_of({32000, 50257});
  model.learned_positions = draw.one_of({0, 2048});
  model.tied_head = draw.coin();
  model.mtp_layers = draw.one_of({0, 0, 1});
  if (draw.coin()) return model;
  MoeShape& moe = model.moe.emplace();
  moe.experts = 16;
  moe.top_k = draw.one_of({1, 2, 4});
  moe.expert_ffn = 512;
  moe.shared_experts = draw.one_of({0, 1, 2});
  moe.shared_gate = moe.shared_experts > 0 && draw.coin();
  moe.first_layer = draw.one_of({0, 0, 1, 3});
  moe.layer_step = draw.one_of({1, 1, 2});
  if (draw.one_of({0, 0, 1}) == 1) moe.layers = {1, 2, 5};
  if (draw.coin()) moe.expert_groups = 4, moe.top_groups = draw.one_of({2, 4});
  model.biases.router = draw.coin();
  return model;
}

void draw_layout(Draw& draw, ParallelPlan& plan) {
  plan.tp = draw.one_of({1, 2, 4});
  plan.pp = draw.one_of({1, 1, 2, 4});
  plan.vpp = plan.pp > 1 ? draw.one_of({1, 1, 2}) : 1;
  plan.schedule = plan.vpp > 1 ? "interleaved" : "1f1b";
  plan.cp = draw.one_of({1, 1, 2});
  plan.dp = draw.one_of({2, 4, 8, 16});
  plan.sequence_parallel = draw.coin();
  plan.micro_batch = draw.one_of({1, 2});
  plan.global_batch = std::int64_t{plan.dp} * plan.micro_batch * plan.pp * draw.one_of({1, 4});
  plan.sequence_length = 2048;
  plan.zero = draw.one_of({0, 1, 1});
  plan.zero_instances = draw.one_of({1, 1, 2});
  plan.pad_vocab_to = draw.one_of({1, 128});
}

void draw_software(Draw& draw, ParallelPlan& plan) {
  plan.dtype = draw.one_of({Dtype::kBf16, Dtype::kBf16, Dtype::kFp8, Dtype::kFp16, Dtype::kFp32});
  plan.fp8_recipe =
      draw.one_of({Fp8Recipe::kDelayed, Fp8Recipe::kCurrent, Fp8Recipe::kBlock, Fp8Recipe::kMx});
  plan.gradient_bytes = plan.has_32_bits() ? 4 : draw.one_of({2, 4});
  plan.recompute = draw.one_of({Recompute::kNone, Recompute::kSelective, Recompute::kFull});
  plan.fused_attention = draw.coin();
  plan.fused_accumulation = draw.coin();
  plan.overlap_tp_reduce = draw.coin();
  plan.tp_overlap = plan.sequence_parallel && draw.coin() ? TpOverlap::kSliced : TpOverlap::kBulk;
  plan.overlap_cp = draw.coin();
  plan.overlap_grad_reduce = draw.coin();
  plan.overlap_param_gather = plan.overlap_grad_reduce && draw.coin();
  plan.overlap_p2p = plan.vpp > 1 && (plan.pp == 2 || draw.coin());
}

// Splits the layers so that the first pipeline position has one layer fewer, and the last one or the second
// one more.
void draw_split(Draw& draw, TrainingPlan& plan) {
  ParallelPlan& parallel = plan.parallel;
  const auto positions = static_cast<std::size_t>(parallel.pp * parallel.vpp);
  if (parallel.pp == 1 || draw.coin()) return;
  parallel.layers_per_stage.assign(positions, plan.model.layers / static_cast<std::int32_t>(positions));
  --parallel.layers_per_stage.front();
  ++(draw.coin() ? parallel.layers_per_stage.back() : parallel.layers_per_stage[1]);
}

// Passes check_training_plan(), and Megatron-LM can express it.
TrainingPlan plan_of_megatron(std::uint64_t seed) {
  Draw draw(seed);
  TrainingPlan plan = exported_plan();
  do {
    plan.model = drawn_model(draw);
    ParallelPlan& parallel = plan.parallel = ParallelPlan{};
    draw_layout(draw, parallel);
    draw_software(draw, parallel);
    draw_split(draw, plan);
    if (plan.model.moe) {
      if (parallel.tp > 1) parallel.sequence_parallel = true;
      parallel.etp = draw.one_of({1, parallel.tp});
      parallel.ep = draw.one_of({1, 2, 4, 8});
      parallel.dispatcher = draw.one_of({TokenDispatcher::kAllToAll, TokenDispatcher::kHierarchical});
      parallel.dispatch_bytes = 2;
      parallel.expert_matmuls = ExpertMatmuls::kGrouped;
    }
    const bool can_offload = parallel.zero > 0 && !parallel.has_32_bits();
    parallel.offload_optimizer = can_offload && draw.one_of({0, 0, 1}) == 1;
    parallel.optimizer_bytes = can_offload ? draw.one_of({0, 0, 10, 8, 6}) : 0;
  } while (!check_training_plan(plan));
  return plan;
}

// Passes check_training_plan(), and NeMo can express it.
TrainingPlan plan_of_nemo(std::uint64_t seed) {
  for (std::uint64_t draw = 0;; ++draw) {
    TrainingPlan plan = plan_of_megatron(seed + 1'000'000 * (draw + 1));
    if (plan.model.latent || plan.model.mtp_layers > 0) continue;
    if (!plan.parallel.layers_per_stage.empty() && plan.parallel.vpp > 1) continue;
    if (plan.parallel.pp > 2 && plan.parallel.layers_per_stage.size() > 1 &&
        plan.parallel.layers_per_stage[1] != plan.parallel.layers_per_stage[2])
      continue;
    plan.parallel.zero_instances = 1;
    plan.parallel.fused_attention = true;
    plan.parallel.offload_optimizer = false;
    plan.parallel.optimizer_bytes = 0;
    plan.parallel.overlap_p2p = plan.parallel.pp > 1 && seed % 2 == 1;
    return plan;
  }
}

// Layers by position as TorchTitan deals them out, where embedding and output count as a layer each.
std::vector<std::int32_t> titan_split(std::int32_t layers, std::int32_t parts) {
  std::vector<std::int32_t> split;
  for (std::int32_t part = 0; part < parts; ++part)
    split.push_back((layers + 2) / parts + (part < (layers + 2) % parts ? 1 : 0));
  --split.front();
  --split.back();
  return split;
}

// Passes check_training_plan(), and TorchTitan can express it.
TrainingPlan plan_of_torchtitan(std::uint64_t seed) {
  Draw draw(seed);
  TrainingPlan plan = exported_plan();
  const auto stack = read_stack(GOODPUT_CONFIGS "/stacks/torchtitan.json", export_library());
  REQUIRE(stack);
  do {
    ParallelPlan& parallel = plan.parallel = ParallelPlan{};
    use_stack(plan, *stack);
    parallel.tp = draw.one_of({1, 2, 4});
    parallel.pp = draw.one_of({1, 2, 4});
    parallel.dp = draw.one_of({2, 4, 8});
    parallel.cp = draw.one_of({1, 1, 2});
    parallel.zero = parallel.cp > 1 || draw.coin() ? 3 : 0;
    parallel.zero_instances = parallel.zero == 3 && parallel.dp > 2 ? draw.one_of({1, 2}) : 1;
    parallel.sequence_parallel = true;
    parallel.micro_batch = draw.one_of({1, 2});
    parallel.global_batch = std::int64_t{parallel.dp} * parallel.micro_batch * 8;
    parallel.sequence_length = 2048;
    parallel.recompute = draw.one_of({Recompute::kNone, Recompute::kSelective, Recompute::kFull});
    parallel.dtype = draw.one_of({Dtype::kBf16, Dtype::kFp8, Dtype::kFp32});
    parallel.fp8_recipe = draw.one_of({Fp8Recipe::kCurrent, Fp8Recipe::kMx});
    parallel.gradient_bytes = draw.one_of({2, 4});
    parallel.compiled = draw.coin();
    parallel.overlap_tp_reduce = parallel.compiled && draw.coin();
    parallel.reshard_after_forward = draw.one_of({Reshard::kAlways, Reshard::kNever, Reshard::kUnlessPp});
    if (parallel.pp == 1) continue;
    parallel.schedule = draw.one_of({"1f1b", "gpipe", "interleaved", "zb-v", "dualpipev"});
    if (parallel.schedule == "interleaved") parallel.vpp = draw.one_of({2, 4});
    const bool is_v_shaped = parallel.schedule == "zb-v" || parallel.schedule == "dualpipev";
    // A file gives layers per part, not parts: 16 parts of 34 layers cannot be had.
    if (parallel.vpp < 4 && draw.coin())
      parallel.layers_per_stage = titan_split(32, parallel.pp * (is_v_shaped ? 2 : parallel.vpp));
  } while (!check_training_plan(plan));
  return plan;
}

TEST_CASE("export: every plan that Megatron-LM can express is what its launch script means") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    check_round_trip(plan_of_megatron(seed), "megatron");
  }
}

TEST_CASE("export: every plan that NeMo can express is what its config means") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    check_round_trip(plan_of_nemo(seed), "nemo");
  }
}

TEST_CASE("export: every plan that TorchTitan can express is what its config means") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    check_round_trip(plan_of_torchtitan(seed), "torchtitan");
  }
}

TEST_CASE(
    "export: a plan of any shape is written without loss, or an error names the key that is in the way") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    TrainingPlan plan = testing::random_plan(seed);
    plan.library = export_library();
    for (const launch::LaunchExport& format : launch::launch_exports()) {
      CAPTURE(seed);
      CAPTURE(format.name);
      const auto text = launch::export_launch(plan, format.name);
      if (text) {
        CHECK(meaning_of(import_export(*text).plan) == meaning_of(plan));
        continue;
      }
      const std::string& pointer = text.error().where.pointer;
      CHECK_MESSAGE((pointer.starts_with("/model") || pointer.starts_with("/parallel/")),
                    text.error().message());
    }
  }
}

TEST_CASE("export: importing a script, exporting it and importing it again gives the same plan") {
  const std::string script = R"(torchrun --nproc_per_node 8 --nnodes 8 pretrain_gpt.py --num-layers 32 \
  --hidden-size 4096 --num-attention-heads 32 --group-query-attention --num-query-groups 8 \
  --ffn-hidden-size 14336 --swiglu --normalization RMSNorm --disable-bias-linear \
  --untie-embeddings-and-output-weights --position-embedding-type rope --vocab-size 128256 \
  --tensor-model-parallel-size 2 --sequence-parallel --pipeline-model-parallel-size 4 \
  --seq-length 8192 --micro-batch-size 1 --global-batch-size 128 --bf16 --use-distributed-optimizer
)";
  const TrainingPlan first = import_export(script).plan;
  for (const std::string_view format : {"megatron", "nemo"}) check_round_trip(first, format);
}

TEST_CASE("export: launch scripts are valid bash") {
  if (std::system("bash -c true") != 0) return;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const TemporaryFile file("launch.sh", *launch::export_launch(plan_of_megatron(seed), "megatron"));
    CHECK(std::system(fmt::format("bash -n '{}'", file.path()).c_str()) == 0);
  }
}

TEST_CASE("export: CUDA_DEVICE_MAX_CONNECTIONS is 1 where Megatron-LM asks for it") {
  const auto sets_it = [](const TrainingPlan& plan) {
    const auto text = launch::export_launch(plan, "megatron");
    REQUIRE_MESSAGE(text, text.error().message());
    return text->find("\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n") != std::string::npos;
  };
  TrainingPlan plan = exported_plan();
  CHECK_FALSE(sets_it(plan));
  plan.parallel.tp = 2;
  CHECK(sets_it(plan));
  plan.parallel.zero = 3;  // Megatron-FSDP needs more connections
  CHECK_FALSE(sets_it(plan));
}

TEST_CASE("export: settings of within_node count if the plan fits on one node") {
  TrainingPlan plan = exported_plan();  // 8 GPUs, which are a node
  plan.parallel.within_node = WithinNode{Recompute::kFull, 64, false};
  const auto text = launch::export_launch(plan, "megatron");
  REQUIRE_MESSAGE(text, text.error().message());
  CHECK(text->find("--recompute-granularity full\n") != std::string::npos);
  CHECK(text->find("--make-vocab-size-divisible-by 64\n") != std::string::npos);
}

TEST_CASE("export: an error names the file of the plan, and the place of the plan in it") {
  TrainingPlan plan = exported_plan();
  plan.file = "scenario.json";
  plan.pointer = "/plan";
  plan.parallel.compiled = false;
  CHECK(export_problem(plan, "nemo").starts_with("scenario.json /plan/parallel/compiled: is false, which "));
}

TEST_CASE("export: a known model whose layers all have experts keeps the FFN size that it is known by") {
  TrainingPlan plan = exported_plan();
  plan.model.moe = MoeShape{.experts = 8, .top_k = 2, .expert_ffn = 512};
  plan.parallel.expert_matmuls = ExpertMatmuls::kGrouped;
  const auto text = launch::export_launch(plan, "megatron");
  REQUIRE_MESSAGE(text, text.error().message());
  CHECK(text->find("--ffn-hidden-size 14336\n") != std::string::npos);
}

struct Refusal {
  std::string_view format;
  std::function<void(TrainingPlan&)> change;
  std::string message;
};

void check_refusals(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    TrainingPlan plan = exported_plan();
    refusal.change(plan);
    CHECK(export_problem(plan, refusal.format) == refusal.message);
  }
}

TEST_CASE("export: each key of the model that Megatron-Core lacks is named with what to do") {
  check_refusals(
      {{"megatron", [](TrainingPlan& plan) { plan.model.biases.attention_output = true; },
        "/model/biases: Megatron-LM has biases in all linear layers, in none, or only in the query, key and "
        "value projections; export to another format"},
       {"megatron", [](TrainingPlan& plan) { plan.model.attention_sinks = true; },
        "/model/attention_sinks: is true, which Megatron-LM cannot express: its launch file leaves it unset; "
        "export to another format"},
       {"nemo", [](TrainingPlan& plan) { plan.model.attention_buffers = {4096}; },
        "/model/attention_buffer_bytes: is 4096, which NeMo cannot express: its launch file leaves it unset; "
        "export to another format"},
       {"megatron", [](TrainingPlan& plan) { plan.model.learned_positions = 4096; },
        "/model/learned_positions: is 4096, but Megatron-LM needs at least as many positions as "
        "sequence_length (8192)"},
       {"nemo", [](TrainingPlan& plan) { plan.model.mtp_layers = 1; },
        "/model/mtp_layers: is 1, which NeMo cannot express: its launch file means 0; export to another "
        "format"},
       {"nemo",
        [](TrainingPlan& plan) {
          plan.model.latent = LatentAttention{0, 128, 64, 32, 64};
          plan.model.kv_heads = plan.model.head_dim = 0;
        },
        "/model/latent: is set, but NeMo's configs do not describe multi-head latent attention; export to "
        "another format"}});
}

TEST_CASE("export: each key of the layout that Megatron-LM lacks is named with what to do") {
  check_refusals(
      {{"megatron", [](TrainingPlan& plan) { plan.parallel.loss = LossKernels::kFp32; },
        "/parallel/loss: is \"fp32\", which Megatron-LM cannot express: its launch file means \"fused\"; set "
        "this key to \"fused\", or export to another format"},
       {"megatron", [](TrainingPlan& plan) { plan.parallel.compiled = false; },
        "/parallel/compiled: is false, which Megatron-LM cannot express: its launch file means true; set "
        "this "
        "key to true, or export to another format"},
       {"megatron", [](TrainingPlan& plan) { plan.parallel.schedule = "gpipe"; },
        "/parallel/schedule: is \"gpipe\", which Megatron-LM cannot express: its launch file means \"1f1b\"; "
        "set this key to \"1f1b\", or export to another format"},
       {"megatron", [](TrainingPlan& plan) { plan.parallel.pp = 2, plan.parallel.overlap_p2p = true; },
        "/parallel/overlap_p2p: is true, but Megatron-LM overlaps messages between stages only if vpp is "
        "above 1; set it to false"},
       {"megatron",
        [](TrainingPlan& plan) {
          plan.parallel.pp = plan.parallel.vpp = 2;
          plan.parallel.schedule = "interleaved";
        },
        "/parallel/overlap_p2p: is false, but with pp 2 and vpp above 1, Megatron-LM always overlaps "
        "messages "
        "between stages; set it to true"},
       {"megatron", [](TrainingPlan& plan) { plan.parallel.cp = 2, plan.parallel.sequence_length = 8190; },
        "/parallel/sequence_length: must be a multiple of 2 x cp (4) for Megatron-LM, not 8190"},
       {"megatron", [](TrainingPlan& plan) { plan.parallel.dtype = Dtype::kFp8; },
        "/parallel/fp8_recipe: is \"free\", which is not a recipe of Megatron-LM; set it to delayed, "
        "current, "
        "block or mx"},
       {"megatron", [](TrainingPlan& plan) { plan.parallel.dtype = Dtype::kTf32; },
        "/parallel/dtype: is \"tf32\", which no argument of Megatron-LM selects; use bf16, fp8, fp16 or "
        "fp32"},
       {"megatron", [](TrainingPlan& plan) { plan.parallel.gradient_bytes = 1; },
        "/parallel/gradient_bytes: is 1, which Megatron-LM cannot express: its launch file means 4; set this "
        "key to 4, or export to another format"},
       {"megatron", [](TrainingPlan& plan) { plan.parallel.overlap_param_gather = true; },
        "/parallel/overlap_param_gather: is true, which Megatron-LM supports only with overlap_grad_reduce "
        "true"},
       {"megatron",
        [](TrainingPlan& plan) { plan.parallel.zero = 0, plan.parallel.offload_optimizer = true; },
        "/parallel/offload_optimizer: is true, which Megatron-LM supports only with its distributed "
        "optimizer; set zero to 1"},
       {"megatron", [](TrainingPlan& plan) { plan.parallel.zero = 0, plan.parallel.optimizer_bytes = 8; },
        "/parallel/optimizer_bytes: is 8, which Megatron-LM supports only with its distributed optimizer; "
        "set "
        "zero to 1, or leave this key out"},
       {"megatron", [](TrainingPlan& plan) { plan.parallel.optimizer_bytes = 16; },
        "/parallel/optimizer_bytes: is 16, but the optimizer of Megatron-LM has 12 bytes per parameter, with "
        "16-bit dtypes also 4 to 10; leave this key out"},
       {"megatron",
        [](TrainingPlan& plan) {
          plan.parallel.recompute = Recompute::kSelective;
          plan.parallel.selective_recompute = SelectiveRecompute::kEverySecondMatmul;
        },
        "/parallel/selective_recompute: is \"every_second_matmul\", which is how TorchTitan recomputes; for "
        "Megatron-LM, set it to cheap"},
       {"megatron",
        [](TrainingPlan& plan) {
          plan.parallel.tp = 2;
          plan.parallel.overlap_tp_reduce = true;
          plan.parallel.tp_overlap = TpOverlap::kSliced;
        },
        "/parallel/tp_overlap: is \"sliced\", which Megatron-LM supports only with sequence_parallel true; "
        "use "
        "bulk"},
       {"megatron",
        [](TrainingPlan& plan) {
          plan.model.moe = MoeShape{.experts = 8, .top_k = 2, .expert_ffn = 512};
          plan.parallel.tp = 2;
        },
        "/parallel/sequence_parallel: is false, but Megatron-LM trains experts with tensor parallelism only "
        "if it is true"},
       {"megatron",
        [](TrainingPlan& plan) { plan.model.moe = MoeShape{.experts = 8, .top_k = 2, .expert_ffn = 512}; },
        "/parallel/expert_matmuls: is \"batched\", which Megatron-LM cannot express: its launch file means "
        "\"grouped\"; set this key to \"grouped\", or export to another format"},
       {"megatron", [](TrainingPlan& plan) { plan.parallel.dp = 9; },
        "/parallel/dp: is 9, so the plan has 9 GPUs, but launchers start whole nodes of 8 GPUs; choose a dp "
        "that fills its nodes"}});
}

TEST_CASE("export: each key of the layout that NeMo lacks is named with what to do") {
  check_refusals(
      {{"nemo", [](TrainingPlan& plan) { plan.parallel.zero = 2; },
        "/parallel/zero: is 2, which NeMo cannot express: its launch file means 1; set this key to "
        "1, or export to another format"},
       {"nemo", [](TrainingPlan& plan) { plan.parallel.fused_attention = false; },
        "/parallel/fused_attention: is false, which NeMo cannot express: its launch file means "
        "true; set this key to true, or export to another format"},
       {"nemo",
        [](TrainingPlan& plan) {
          plan.parallel.pp = 4;
          plan.parallel.layers_per_stage = {8, 9, 7, 8};
        },
        "/parallel/layers_per_stage: is a split that NeMo cannot express: all stages but the first "
        "and the last must have equally many layers, in all chunks; change it, or export to "
        "another format"}});
}

TEST_CASE("export: each key that TorchTitan lacks is named with what to do") {
  const auto with_stack = [](TrainingPlan& plan) {
    use_stack(plan, *read_stack(GOODPUT_CONFIGS "/stacks/torchtitan.json", export_library()));
    plan.parallel.zero = 3;
    plan.parallel.recompute = Recompute::kNone;
  };
  TrainingPlan plan = exported_plan();
  with_stack(plan);
  CHECK(export_problem(plan, "torchtitan") == "no error");
  const auto problem_with = [&](const std::function<void(ParallelPlan&)>& change) {
    TrainingPlan changed = plan;
    change(changed.parallel);
    return export_problem(changed, "torchtitan");
  };
  CHECK(problem_with([](ParallelPlan& parallel) { parallel.zero = 1; }) ==
        "/parallel/zero: must be 0 or 3 for TorchTitan, which shards parameters too or nothing");
  CHECK(problem_with([](ParallelPlan& parallel) { parallel.dtype = Dtype::kFp16; }) ==
        "/parallel/dtype: must be bf16, fp8 or fp32 for TorchTitan");
  CHECK(problem_with([](ParallelPlan& parallel) { parallel.offload_optimizer = true; }) ==
        "/parallel/offload_optimizer: is true, but TorchTitan offloads parameters and gradients too, which "
        "goodput does not model; set it to false");
  CHECK(problem_with([](ParallelPlan& parallel) {
          parallel.dtype = Dtype::kFp8, parallel.fp8_recipe = Fp8Recipe::kDelayed;
        }) == "/parallel/fp8_recipe: must be current or mx for TorchTitan");
  CHECK(problem_with([](ParallelPlan& parallel) {
          parallel.tp = 2;
          parallel.sequence_parallel = parallel.overlap_tp_reduce = true;
          parallel.compiled = false;
        }) == "/parallel/overlap_tp_reduce: is true, which TorchTitan supports only with compiled true");
  CHECK(problem_with([](ParallelPlan& parallel) {
          parallel.recompute = Recompute::kSelective;
          parallel.selective_recompute = SelectiveRecompute::kCheap;
        }) ==
        "/parallel/selective_recompute: is \"cheap\", which is how Megatron-LM recomputes; for TorchTitan, "
        "set it to every_second_matmul");
  CHECK(
      problem_with([](ParallelPlan& parallel) { parallel.pp = 2, parallel.schedule = "zb-h1"; }) ==
      "/parallel/schedule: is \"zb-h1\", which TorchTitan does not have; use 1f1b, gpipe, interleaved, zb-v "
      "or dualpipev");
  CHECK(problem_with([](ParallelPlan& parallel) {
          parallel.pp = 4, parallel.layers_per_stage = {8, 7, 9, 8};
        }) ==
        "/parallel/layers_per_stage: is a split that TorchTitan does not make: it gives all stages "
        "equally many layers, except for one fewer in the first and in the last stage");
  CHECK(
      problem_with([](ParallelPlan& parallel) { parallel.optimizer_bytes = 8; }) ==
      "/parallel/optimizer_bytes: is 8, which TorchTitan cannot express: its launch file means 12; set this "
      "key to 12, or export to another format");
  plan.model.layers = 33;
  CHECK(export_problem(plan, "torchtitan") ==
        "/model: is not a model that TorchTitan has by name, as far as goodput knows; to name it, give its "
        "model "
        "file an alias such as \"torchtitan:llama3:70B\"");
}

TEST_CASE("export: an unknown format is an error with the known ones") {
  CHECK(export_problem(exported_plan(), "nemo2") ==
        "unknown export format \"nemo2\"; did you mean \"nemo\"?; known: megatron, nemo, torchtitan");
}

}  // namespace
}  // namespace goodput
