// Launch files to plans: rules of the frameworks, one by one. Expected values are derived beside them.
#include "models/launch/import_launch.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "models/cost/cost_models.h"
#include "models/step/planned_step.h"
#include "models/step/step_report.h"
#include "sim/base/json.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

using launch::ImportedLaunch;
using launch::ImportRequest;

config::Library library_of_tests() {
  config::Library library;
  library.folders = {GOODPUT_CONFIGS};
  return library;
}

Result<ImportedLaunch> import_text(const std::string& text, ImportRequest request = {}) {
  const TemporaryFile file("launch", text);
  request.files.push_back(file.path());
  auto imported = launch::import_launch(request, library_of_tests());
  if (imported) return imported;
  Error error = imported.error();
  if (error.where.file == file.path()) error.where.file = "FILE";
  return error;
}

ImportedLaunch imported(const std::string& text, const ImportRequest& request = {}) {
  auto result = import_text(text, request);
  REQUIRE_MESSAGE(result, result.error().message());
  REQUIRE_MESSAGE(result->missing.empty(), result->missing.front().what);
  return *std::move(result);
}

std::string problem(const std::string& text, const ImportRequest& request = {}) {
  const auto result = import_text(text, request);
  return result ? "no error" : result.error().message();
}

std::vector<std::string> warnings(const ImportedLaunch& launch) {
  std::vector<std::string> texts;
  for (const auto& warning : launch.draft.warnings) texts.push_back(warning.text);
  return texts;
}

// Of a small GPT: 4 layers on 16 GPUs.
std::string script(const std::string& more, const std::string& launcher = "--nproc_per_node 8 --nnodes 2") {
  return "torchrun " + launcher +
         R"( pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 \
  --seq-length 128 --max-position-embeddings 256 --micro-batch-size 2 --vocab-size 1000 --bf16 )" +
         more + "\n";
}

TEST_CASE(
    "launch: Megatron-LM's defaults are a GPT with biases, LayerNorm, learned positions and a tied head") {
  const ImportedLaunch launch = imported(script(""));
  const ModelShape& model = launch.plan.model;
  CHECK(model.biases == BiasedParts(true));
  CHECK(model.learned_positions == 256);
  CHECK(model.tied_head);
  CHECK_FALSE(model.gated_ffn);
  CHECK(model.ffn == 4 * 512);
  CHECK(model.kv_heads == 8);
  const ParallelPlan& plan = launch.plan.parallel;
  CHECK(plan.dp == 16);                // 16 GPUs / (1 x 1 x 1)
  CHECK(plan.global_batch == 16 * 2);  // one micro-batch per replica
  CHECK(plan.pad_vocab_to == 128);
  CHECK(plan.gradient_bytes == 4);  // bf16 gradients are reduced in 32 bits
  CHECK(plan.zero == 0);
  CHECK(plan.schedule == "1f1b");
  CHECK_FALSE(plan.overlap_p2p);
}

TEST_CASE("launch: the flags of Llama models switch Megatron-LM's defaults off one by one") {
  CHECK_FALSE(imported(script("--untie-embeddings-and-output-weights")).plan.model.tied_head);
  CHECK(imported(script("--position-embedding-type rope")).plan.model.learned_positions == 0);
  BiasedParts norms_only;
  norms_only.norm = true;
  CHECK(imported(script("--disable-bias-linear")).plan.model.biases == norms_only);
  BiasedParts linears = true;
  linears.norm = false;
  CHECK(imported(script("--normalization RMSNorm")).plan.model.biases == linears);
  BiasedParts qkv;
  qkv.qkv = true;
  CHECK(imported(script("--disable-bias-linear --normalization RMSNorm --add-qkv-bias")).plan.model.biases ==
        qkv);
  CHECK(imported(script("--disable-bias-linear --normalization RMSNorm")).plan.model.biases ==
        BiasedParts(false));
  // 8/3 x 512 = 1365, rounded down to a multiple of 64.
  CHECK(imported(script("--swiglu")).plan.model.ffn == 1344);
}

TEST_CASE("launch: a model that lacks some flags of a known one is imported as written, with a warning") {
  const std::string llama =
      R"(torchrun --nproc_per_node 8 --nnodes 128 pretrain_gpt.py --num-layers 80 --hidden-size 8192
    --num-attention-heads 64 --group-query-attention --num-query-groups 8 --ffn-hidden-size 28672 --swiglu
    --seq-length 8192 --max-position-embeddings 8192 --vocab-size 128256 --micro-batch-size 1 --bf16 )";
  std::string one_line = llama;
  std::ranges::replace(one_line, '\n', ' ');
  const ImportedLaunch trap = imported(one_line);
  CHECK(trap.plan.model.tied_head);
  CHECK(warnings(trap) ==
        std::vector<std::string>{
            "the model has the sizes of Llama 3 70B but differs: biases is true instead of false, "
            "learned_positions is 8192 "
            "instead of 0, tied_head is true instead of false; check for a missing setting"});
  const ImportedLaunch whole = imported(one_line +
                                        " --untie-embeddings-and-output-weights --disable-bias-linear "
                                        "--normalization RMSNorm --position-embedding-type rope");
  CHECK(warnings(whole).empty());
  CHECK(whole.plan.model.name == "Llama 3 70B");
  CHECK(model_parameters(whole.plan.model).total == 70'553'706'496);
}

TEST_CASE("launch: virtual stages are the layers of a stage over those of a chunk") {
  // 4 layers / pp 2 = 2 per stage, 1 per chunk.
  const ImportedLaunch launch = imported(script(
      "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1 --global-batch-size 64"));
  CHECK(launch.plan.parallel.vpp == 2);
  CHECK(launch.plan.parallel.schedule == "interleaved");
  CHECK(launch.plan.parallel.overlap_p2p);
  CHECK(launch.plan.parallel.dp == 8);
  CHECK(problem(script("--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 3")) ==
        "FILE:2: --num-layers-per-virtual-pipeline-stage 3: must divide the layers of a stage: 4 layers / pp "
        "2 = 2");
  CHECK(problem(script("--num-layers-per-virtual-pipeline-stage 1")) ==
        "FILE:2: --num-layers-per-virtual-pipeline-stage 1: needs more than one pipeline stage, but pp is 1");
}

TEST_CASE("launch: contradictions are errors with the line of the argument") {
  CHECK(problem(script("--tensor-model-parallel-size 3", "--nproc_per_node 6 --nnodes 1")) ==
        "FILE:2: --tensor-model-parallel-size 3: parallel/tp is 3, which does not divide the model's heads "
        "(8)");
  CHECK(
      problem(script("--tensor-model-parallel-size 3")) ==
      "FILE:1: --nnodes 2 x --nproc_per_node 8: 16 GPUs cannot be divided into groups of tp 3 x pp 1 x cp 1");
  CHECK(problem(script("--global-batch-size 33")) ==
        "FILE:2: --global-batch-size 33: parallel/global_batch must be a multiple of dp 16 x micro_batch 2 = "
        "32, not 33");
  CHECK(problem(script("--micro-batch-size two")) == "FILE:2: --micro-batch-size two: must be an integer");
}

TEST_CASE("launch: what a script takes from outside is asked for by name, and can be given") {
  const std::string text =
      "torchrun --nproc_per_node $GPUS --nnodes ${NNODES:-2} x.py --num-layers $1 --hidden-size 64 "
      "--num-attention-heads 4 --seq-length 8 --micro-batch-size 1 --vocab-size 100 --bf16\n";
  CHECK(problem(text).find("the script does not set GPUS; give") != std::string::npos);
  ImportRequest request;
  request.environment = {{"GPUS", "4"}, {"1", "2"}};
  CHECK(imported(text, request).plan.parallel.dp == 8);
}

TEST_CASE("launch: recomputation has many spellings") {
  const auto recompute = [](const std::string& arguments) {
    return imported(script(arguments)).plan.parallel.recompute;
  };
  CHECK(recompute("--recompute-activations") == Recompute::kSelective);
  CHECK(recompute("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1") ==
        Recompute::kFull);
  CHECK(recompute("--checkpoint-activations") == Recompute::kFull);
  CHECK(recompute("") == Recompute::kNone);
  CHECK(warnings(imported(
            script("--recompute-granularity full --recompute-method block --recompute-num-layers 2"))) ==
        std::vector<std::string>{
            "--recompute-num-layers 2: recomputing 2 of 4 layers is not modeled: treated as all of them"});
}

TEST_CASE(
    "launch: arguments that change a step and are not modeled are warnings, others are listed as ignored") {
  const ImportedLaunch launch =
      imported(script("--lr 1e-4 --save /tmp/x --moe-expert-capacity-factor 1.0 --num-layerz 3"));
  CHECK(launch.draft.ignored == std::vector<std::string>{"lr", "save"});
  CHECK(warnings(launch) ==
        std::vector<std::string>{
            "--moe-expert-capacity-factor 1.0: is not modeled: the step time or the memory will differ",
            "--num-layerz 3: is not a setting that goodput knows; did you mean \"num_layers\"?; check that "
            "it does not "
            "change the model, the layout, precision or memory"});
}

TEST_CASE("launch: sliding windows are treated as full attention only where the user says so") {
  const std::string config = R"({"model_type": "mistral", "hidden_size": 64, "intermediate_size": 128,
    "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "vocab_size": 100, "sliding_window": 4096})";
  CHECK(
      problem(config) ==
      "FILE /sliding_window: sliding_window 4096: sliding-window is not modeled; approximate sliding-window "
      "treats it as full attention");
  ImportRequest request;
  request.approximated = {"sliding-window"};
  const ImportedLaunch launch = imported(config, request);
  CHECK(launch.is_model);
  CHECK(warnings(launch) == std::vector<std::string>{"sliding_window 4096: sliding-window is not modeled: "
                                                     "treated as full attention because you approximate it"});
}

TEST_CASE("launch: Megatron-LM's attention windows and hybrid models are refused") {
  CHECK(problem(script("--window-size 128,0")) ==
        "FILE:2: --window-size 128,0: sliding-window is not modeled; approximate sliding-window treats it as "
        "full attention");
  CHECK(problem(script("--hybrid-layer-pattern M*M-")) ==
        "FILE:2: --hybrid-layer-pattern M*M-: layers other than attention and FFN are not modeled");
  CHECK(problem(script("--fp16")) == "FILE:2: --fp16: contradicts bf16; keep one of them");
}

TEST_CASE("launch: options that have no effect or no meaning are refused") {
  ImportRequest request;
  request.changes = {{"/parallel/nosuch", "2"}};
  CHECK(problem(script(""), request) == "set: \"/parallel/nosuch\" is not a key of a plan");
  request.changes = {{"/cluster", "2"}};
  CHECK(problem(script(""), request) ==
        "set: \"/cluster\" is not a key that can be set; such keys begin with /model/, /parallel/ or /stack");
  request.changes.clear();
  request.approximated = {"nothing"};
  CHECK(problem(script(""), request) ==
        "approximate: unknown feature \"nothing\"; known: sliding-window, fp4");
  request.approximated.clear();
  request.recipe_name = "llama3-70b-h100";
  request.recipe_file = GOODPUT_CONFIGS "/plans/llama3-70b-h100.json";
  CHECK(problem(script(""), request) ==
        "recipe: only a Megatron-Bridge config takes a recipe; leave this option out");
}

TEST_CASE("launch: a key that the user sets is set in a model that a file names, too") {
  ImportRequest request;
  request.changes = {{"/model/layers", "2"}};
  const ImportedLaunch launch = imported(
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = "
      "64\n[parallelism]\ndata_parallel_shard_degree = 8\n",
      request);
  CHECK(launch.plan.model.layers == 2);
}

TEST_CASE("launch: a config and Megatron-LM's layout make the config's model") {
  const TemporaryFile config("config.json",
                             R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
    "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 100})");
  const TemporaryFile layout("train.sh",
                             "torchrun --nproc_per_node 8 x.py --micro-batch-size 1 --seq-length 8 --bf16\n");
  ImportRequest request;
  request.files = {layout.path(), config.path()};
  const auto launch = launch::import_launch(request, library_of_tests());
  REQUIRE_MESSAGE(launch, launch.error().message());
  CHECK_FALSE(launch->plan.model.tied_head);
  CHECK(launch->plan.model.learned_positions == 0);
  CHECK(launch->plan.model.biases == BiasedParts(false));
}

TEST_CASE("launch: YAML and TOML lose nothing") {
  const std::string head = "trainer: {num_nodes: 1, devices: 8, precision: bf16}\n";
  const std::string model =
      "num_layers: 2, hidden_size: 64, ffn_hidden_size: 128, num_attention_heads: 4, override_vocab_size: "
      "100, "
      "encoder_seq_length: 8, micro_batch_size: 1, global_batch_size: 8";
  CHECK(imported(head +
                 "a: &a {tensor_model_parallel_size: 2}\nb: &b {pipeline_model_parallel_size: 2}\nmodel: "
                 "{<<: [*a, *b], " +
                 model + "}\n")
            .plan.parallel.pp == 2);
  CHECK(problem(head + "model: {" + model + ", num_layers: 3}\n") ==
        "FILE:2: model.num_layers is given twice");
  CHECK(problem(head + "model: {" + model + "}\n---\nmodel: {}\n") == "FILE: has 2 YAML documents; keep one");
  CHECK(problem("[model]\n[training]\n[parallelism]\ntensor_parallel_degree = 2024-01-01\n") ==
        "FILE:4: parallelism.tensor_parallel_degree = a date: must be an integer");
  // A reference to itself ends.
  CHECK(problem(head + "model: {num_layers: \"${.num_layers}${.num_layers}${.num_layers}\"}\n")
            .find("must be an integer") != std::string::npos);
}

TEST_CASE("launch: what DeepSpeed's trainer fills in is asked for") {
  ImportRequest request;
  request.model_name = "llama3-8b";
  request.model_file = GOODPUT_CONFIGS "/models/llama3-8b.json";
  request.gpus = 8;
  request.sequence_length = 128;
  const auto launch = import_text(
      R"({"train_batch_size": "auto", "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}})",
      request);
  REQUIRE_MESSAGE(launch, launch.error().message());
  std::vector<std::string> missing;
  for (const auto& one : launch->missing) missing.push_back(one.pointer);
  CHECK(missing == std::vector<std::string>{"/parallel/dtype", "/parallel/global_batch"});
  CHECK(problem(R"({"train_batch_size": 8, "bf16": true})", request) ==
        "FILE /bf16: bf16 true: must be an object, such as {\"enabled\": true}");
}

TEST_CASE("launch: a model that the user names must agree with what the files say of it") {
  const std::string nemo =
      "trainer: {num_nodes: 1, devices: 8}\nmodel:\n  num_layers: 80\n  hidden_size: 8192\n"
      "  tensor_model_parallel_size: 8\n  micro_batch_size: 1\n  global_batch_size: 8\n  encoder_seq_length: "
      "128\n";
  const auto lacking = import_text(nemo);
  REQUIRE(lacking);
  std::vector<std::string> missing;
  for (const auto& one : lacking->missing) missing.push_back(one.pointer);
  CHECK(missing == std::vector<std::string>{"/model/heads", "/model/ffn", "/model/vocab"});
  ImportRequest request;
  request.model_name = "llama3-70b";
  request.model_file = GOODPUT_CONFIGS "/models/llama3-70b.json";
  CHECK(imported(nemo, request).plan.model.name == "Llama 3 70B");
  request.model_name = "llama3-8b";
  request.model_file = GOODPUT_CONFIGS "/models/llama3-8b.json";
  CHECK(problem(nemo, request) ==
        "FILE:3: model.num_layers: 80: contradicts the model llama3-8b, which has layers 32");
}

TEST_CASE("launch: TorchTitan's defaults and old names are understood") {
  const auto toml = [](const std::string& training, const std::string& rest) {
    return "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 4096\n" + training + rest;
  };
  const ImportedLaunch now =
      imported(toml("local_batch_size = 4\n", "[parallelism]\ndata_parallel_shard_degree = 8\n"));
  CHECK(now.plan.parallel.zero == 3);
  CHECK(now.plan.parallel.micro_batch == 4);
  CHECK(now.plan.parallel.global_batch == 32);
  CHECK(now.plan.parallel.recompute == Recompute::kSelective);
  CHECK(now.plan.parallel.reshard_after_forward == Reshard::kUnlessPp);
  CHECK_FALSE(now.plan.parallel.compiled);
  const ImportedLaunch then =
      imported(toml("batch_size = 4\ndata_parallel_degree = 8\ntensor_parallel_degree = 2\n",
                    "[experimental]\npipeline_parallel_degree = 2\n"));
  CHECK(then.plan.parallel.dp == 8);
  CHECK(then.plan.parallel.tp == 2);
  CHECK(then.plan.parallel.pp == 2);
  CHECK(then.plan.parallel.micro_batch == 1);  // pipelines cut the local batch into single sequences
  // 32 layers, embedding and head count as one each: 17 and 17.
  CHECK(then.plan.parallel.layers_per_stage == std::vector<std::int32_t>{16, 16});
  const ImportedLaunch starved =
      imported(toml("local_batch_size = 1\n",
                    "[parallelism]\ndata_parallel_shard_degree = 8\npipeline_parallel_degree = 4\n"));
  CHECK(warnings(starved) ==
        std::vector<std::string>{"training.local_batch_size = 1: only 1 of 4 stages work at a time, since a "
                                 "replica has only 1 micro-batch; raise the local batch size"});
  CHECK(problem(toml("",
                     "[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_schedule = "
                     "\"1F2B\"\ndata_parallel_shard_degree = 1\n"))
            .starts_with("FILE:8: parallelism.pipeline_parallel_schedule = 1F2B: is not a schedule that "
                         "goodput has; did you mean \"1f1b\"?"));
  CHECK(problem("[model]\nname = \"llama3\"\nflavor = \"9B\"\n[training]\nseq_len = 8\n") ==
        "FILE:3: model.flavor = 9B: goodput has no model llama3:9B; describe it in a model file and give "
        "model");
}

TEST_CASE("launch: a config and a DeepSpeed config make one plan") {
  const TemporaryFile config(
      "launch.json",
      R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
    "num_hidden_layers": 2, "vocab_size": 100})");
  const TemporaryFile deepspeed(
      "launch.json",
      R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4,
    "zero_optimization": {"stage": 3}, "bf16": {"enabled": true}})");
  ImportRequest request;
  request.files = {deepspeed.path(), config.path()};
  request.sequence_length = 128;
  const auto launch = launch::import_launch(request, library_of_tests());
  REQUIRE_MESSAGE(launch, launch.error().message());
  CHECK_FALSE(launch->is_model);
  CHECK(launch->plan.parallel.dp == 8);  // 64 / (2 x 4)
  CHECK(launch->plan.parallel.zero == 3);
  CHECK(launch->plan.parallel.gradient_bytes == 2);
  CHECK(launch->plan.parallel.overlap_grad_reduce);
}

TEST_CASE("launch: two files that state different values of a key are an error that names both") {
  const TemporaryFile deepspeed("launch.json",
                                R"({"train_batch_size": 32, "zero_optimization": {"stage": 1}})");
  ImportRequest request;
  request.files = {deepspeed.path()};
  CHECK(problem(script("--deepspeed --zero-stage 2 --global-batch-size 32"), request).find("contradicts") !=
        std::string::npos);
}

TEST_CASE("launch: a Megatron-Bridge file overrides a recipe, and is refused without one") {
  const std::string text = "train:\n  global_batch_size: 64\nmodel:\n  tensor_model_parallel_size: 2\n";
  CHECK(problem(text) == "FILE: overrides a recipe of Megatron-Bridge without naming it; give recipe NAME");
  ImportRequest request;
  request.recipe_name = "llama3-70b-h100";
  request.recipe_file = GOODPUT_CONFIGS "/plans/llama3-70b-h100.json";
  const ImportedLaunch launch = imported(text, request);
  CHECK(launch.plan.model.name == "Llama 3 70B");
  CHECK(launch.plan.parallel.global_batch == 64);
  CHECK(launch.plan.parallel.tp == 2);
}

TEST_CASE("launch: NeMo's interpolations and switches are resolved") {
  const std::string text = R"(trainer: {num_nodes: 2, devices: 8, precision: bf16}
model:
  num_layers: 4
  hidden_size: 512
  ffn_hidden_size: ${multiply:4, ${.hidden_size}}
  num_attention_heads: 8
  override_vocab_size: 1000
  max_position_embeddings: ${model.encoder_seq_length}
  encoder_seq_length: 256
  activation: fast-swiglu
  normalization: rmsnorm
  bias: false
  share_embeddings_and_output_weights: false
  num_query_groups: 2
  micro_batch_size: 1
  global_batch_size: 32
  activations_checkpoint_granularity: selective
  optim: {name: distributed_fused_adam, overlap_grad_sync: true, grad_sync_dtype: bf16}
)";
  const ImportedLaunch launch = imported(text);
  CHECK(launch.plan.model.ffn == 2048);
  CHECK(launch.plan.model.learned_positions == 256);
  CHECK(launch.plan.model.gated_ffn);
  CHECK(launch.plan.model.biases == BiasedParts(false));
  CHECK_FALSE(launch.plan.model.tied_head);
  CHECK(launch.plan.model.kv_heads == 2);
  CHECK(launch.plan.parallel.zero == 1);
  CHECK(launch.plan.parallel.gradient_bytes == 2);
  CHECK(launch.plan.parallel.overlap_grad_reduce);
  CHECK(launch.plan.parallel.recompute == Recompute::kSelective);
  CHECK(launch.plan.parallel.dp == 16);
}

TEST_CASE("launch: files that goodput does not know, or that are broken, are one line") {
  CHECK(problem("hello\n").starts_with(
      "FILE: is not a launch file that goodput knows; it imports a Hugging Face config, "));
  CHECK(problem("[training]\nseq_len = = 3\n[model]\n").starts_with("FILE:2:11: is not valid TOML: "));
  CHECK(problem("trainer: {a: [}\nmodel: 1\ntensor_model_parallel_size: 1\n")
            .starts_with("FILE:1: is not valid YAML: "));
  CHECK(problem("{\"model_type\": \"llama\",}").starts_with("FILE:1:24: is not valid JSON: "));
  CHECK(problem("{\"model_type\": \"lama\"}") ==
        "FILE /model_type: unknown architecture \"lama\"; did you mean \"llama\"?; known: llama, mistral, "
        "qwen2, qwen3, mixtral, "
        "qwen2_moe, qwen3_moe, deepseek_v2, deepseek_v3, gpt2, gpt_neox, gpt_oss");
  CHECK(problem("A='\ntorchrun x.py --num-layers 3\n") == "FILE:1: ' is not closed");
  CHECK(problem(script("") + script("--swiglu")) ==
        "FILE:3: starts training twice, here and in line 1; keep one of the commands");
  CHECK(problem("# --num-layers 3\necho --num-layers\n") ==
        "FILE: no command passes arguments of Megatron-LM, such as the number of layers");
}

TEST_CASE("launch: a plan from a script takes as long as the same plan written by hand") {
  const ImportedLaunch launch = imported(script(
      "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --global-batch-size 32 "
      "--sequence-parallel --use-distributed-optimizer --overlap-grad-reduce --recompute-activations"));
  const TemporaryFile by_hand("launch.json", R"({
    "model": {"name": "by hand", "layers": 4, "hidden": 512, "heads": 8, "ffn": 2048, "biases": true, "vocab": 1000,
              "learned_positions": 256, "tied_head": true},
    "cluster": "dgx-h100", "stack": "nemo",
    "parallel": {"dp": 4, "tp": 2, "pp": 2, "zero": 1, "sequence_parallel": true, "micro_batch": 2, "global_batch": 32,
                 "sequence_length": 128, "recompute": "selective", "gradient_bytes": 4, "overlap_tp_reduce": true,
                 "tp_overlap": "bulk", "overlap_grad_reduce": true, "overlap_param_gather": false, "overlap_p2p": false}})");
  const auto hand = read_training_plan(by_hand.path(), library_of_tests());
  REQUIRE_MESSAGE(hand, hand.error().message());
  CHECK(text_key(launch.plan.parallel) == text_key(hand->parallel));
  const auto step_of = [](const TrainingPlan& plan) {
    const auto cost = make_cost_model(cost_inputs(plan));
    REQUIRE(cost);
    const auto step = build_planned_step(plan, **cost, Granularity::kLayers, 1);
    REQUIRE(step);
    return report_step(plan, *step).step;
  };
  CHECK(step_of(launch.plan) == step_of(*hand));
}

TEST_CASE("launch: the examples that users have are imported with their traps") {
  const std::string folder = GOODPUT_SHARED_DATA "/inputs/";
  if (!std::filesystem::exists(folder + "nemo.yaml")) {
    MESSAGE("skipped: no shared data");
    return;
  }
  const auto of_file = [&](const std::string& name, ImportRequest request = {}) {
    request.files = {folder + name};
    auto result = launch::import_launch(request, library_of_tests());
    REQUIRE_MESSAGE(result, result.error().message());
    return *std::move(result);
  };
  const ImportedLaunch megatron = of_file("pretrain_llama70b.sh");
  CHECK(megatron.plan.parallel.vpp == 5);  // 80 / 4 / 4
  CHECK(megatron.plan.parallel.dp == 64);  // 1024 / (4 x 4)
  CHECK(megatron.plan.parallel.recompute == Recompute::kSelective);
  CHECK(megatron.plan.model.tied_head);
  CHECK(megatron.plan.model.biases == BiasedParts(true));
  CHECK(megatron.plan.model.learned_positions == 8192);
  CHECK(megatron.draft.warnings.size() == 1);
  CHECK(of_file("nemo.yaml").missing.size() == 3);
  CHECK(model_parameters(of_file("config_hf.json").plan.model).total == 70'553'706'496);
  const ImportedLaunch titan = of_file("torchtitan.toml");
  CHECK(titan.plan.parallel.micro_batch == 1);
  CHECK(titan.plan.parallel.global_batch == 32);  // 1 x 32
  CHECK(titan.plan.parallel.stays_gathered());
  CHECK(titan.plan.parallel.recompute == Recompute::kSelective);
  CHECK(titan.draft.warnings.size() == 1);
}

}  // namespace
}  // namespace goodput
