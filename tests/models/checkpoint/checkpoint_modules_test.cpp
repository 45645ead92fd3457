// What checkpoints consist of, against published sizes: Lazarus (arXiv 2407.04656), Partial Experts
// Checkpoint (arXiv 2408.04307), SwinV2 (arXiv 2111.09883).
#include "models/checkpoint/checkpoint_modules.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

constexpr std::int32_t kFp32AndAdam = 12;
constexpr std::int32_t kFp16Fp32AndAdam = 14;
constexpr double kMiB = 1024 * 1024;

std::string model_file(const std::string& name) {
  return GOODPUT_CONFIGS "/models/" + name + ".json";
}

AnyModel shipped(const std::string& name) {
  Result<AnyModel> model = read_any_model(model_file(name));
  REQUIRE_MESSAGE(model, model.error().message());
  return *model;
}

CheckpointModel table(const std::string& name) {
  return checkpoint_model(shipped(name)).value();
}

// Rounded as the papers print it.
double gigabytes(Bytes bytes) {
  return std::round(static_cast<double>(bytes.value) / 1e7) / 100;
}
double megabytes(Bytes bytes) {
  return std::round(static_cast<double>(bytes.value) / 1e5) / 10;
}

struct Line {
  std::int64_t count = 0;
  std::int64_t parameters = 0;
  Bytes bytes{};
};

Line line(const CheckpointModel& model, ModulePart part) {
  const ModuleBytes bytes = module_bytes(model, kFp32AndAdam);
  Line sum;
  for (std::size_t i = 0; i < model.dense.size(); ++i) {
    if (model.dense[i].part != part) continue;
    ++sum.count;
    sum.parameters += model.dense[i].parameters;
    sum.bytes = sum.bytes + bytes.dense[i];
  }
  return sum;
}

// What reading this model file says, without its path; "" when it is fine.
std::string problem(std::string_view text) {
  const TemporaryFile file("model.json", text);
  const Result<AnyModel> model = read_any_model(file.path());
  if (model) return "";
  const std::string message = model.error().message();
  return message.substr(message.find(".json") + 5);
}

}  // namespace

TEST_CASE("checkpoint modules: their parameters add up to the model's, for every decoder that is shipped") {
  int decoders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GOODPUT_CONFIGS "/models")) {
    const AnyModel model = shipped(entry.path().stem().string());
    const auto* const decoder = std::get_if<ModelShape>(&model);
    if (decoder == nullptr) continue;
    ++decoders;
    const ModelParameters parameters = model_parameters(*decoder);
    CHECK_MESSAGE(checkpoint_model(*decoder).parameters() == parameters.total + parameters.mtp,
                  decoder->name);
  }
  CHECK(decoders >= 10);
}

TEST_CASE("checkpoint modules: every module has parameters and a name of its own") {
  for (const std::string name :
       {"deepseek-v3", "gpt2-moe-small", "llama3-8b", "mixtral-8x7b", "swinv2-moe"}) {
    const CheckpointModel model = table(name);
    std::set<std::string> names;
    for (const DenseModule& module : model.dense) {
      CHECK(module.parameters > 0);
      CHECK_MESSAGE(names.insert(module.name).second, module.name);
    }
    for (const ExpertLayer& layer : model.expert_layers) {
      for (std::int32_t expert = 0; expert < model.experts; ++expert)
        CHECK_MESSAGE(names.insert(layer.expert_name(expert)).second, layer.expert_name(expert));
    }
  }
}

TEST_CASE(
    "checkpoint modules: GPT-S, M and L have the parameters, experts and checkpoints of Lazarus' paper") {
  struct Case {
    const char* model;
    std::int64_t parameters;
    double expert_mib;     // as printed
    double checkpoint_gb;  // likewise
  };
  // 521.2 M, 1311.8 M, 1714.7 M
  for (const Case& expected :
       {Case{"gpt-s", 521'197'824, 63.05, 7.30}, Case{"gpt-m", 1'311'788'032, 112.07, 18.37},
        Case{"gpt-l", 1'714'736'128, 112.07, 24.01}}) {
    const CheckpointModel model = table(expected.model);
    const ModuleBytes bytes = module_bytes(model, kFp16Fp32AndAdam);
    CHECK(model.parameters() == expected.parameters);
    for (const Bytes expert : bytes.expert_each)
      CHECK(std::round(100 * static_cast<double>(expert.value) / kMiB) / 100 == expected.expert_mib);
    CHECK(gigabytes(bytes.total()) == expected.checkpoint_gb);
  }
}

TEST_CASE("checkpoint modules: GPT2-MoE-Small line by line") {
  const CheckpointModel model = table("gpt2-moe-small");
  const ModuleBytes bytes = module_bytes(model, kFp32AndAdam);
  REQUIRE(model.dense.front().name == "wte");
  REQUIRE(model.dense[1].name == "wpe");
  CHECK(model.dense[0].parameters == 38'597'376);  // 768 x 50,257
  CHECK(megabytes(bytes.dense[0]) == 463.2);
  CHECK(model.dense[1].parameters == 786'432);  // 768 x 1,024
  CHECK(megabytes(bytes.dense[1]) == 9.4);

  const Line head = line(model, ModulePart::kHead);
  CHECK(head.count == 1);
  CHECK(head.parameters == 38'597'376);
  CHECK(megabytes(head.bytes) == 463.2);

  const Line attention = line(model, ModulePart::kAttention);
  const Bytes masks{12 * 1024 * 1024 * 4};
  CHECK(attention.count == 12);
  CHECK(attention.parameters == 28'348'416);
  CHECK(megabytes(masks) == 50.3);
  CHECK(megabytes(attention.bytes - masks) == 340.2);

  const Line ffn = line(model, ModulePart::kFfn);
  CHECK(ffn.count == 6);
  CHECK(ffn.parameters == 28'334'592);
  CHECK(megabytes(ffn.bytes) == 340.0);

  const Line norms = line(model, ModulePart::kNorm);
  const Line gates = line(model, ModulePart::kGate);
  CHECK(norms.count == 25);
  CHECK(gates.count == 6);
  CHECK(norms.parameters + gates.parameters == 75'264);
  CHECK(megabytes(norms.bytes + gates.bytes) == 0.9);

  CHECK(model.expert_layers.size() == 6);
  CHECK(model.parameters() - 8 * 28'334'592 == 134'739'456);  // all but experts
  CHECK(bytes.dense_total() == Bytes{12 * 134'739'456} + masks);
  CHECK(megabytes(bytes.dense_total()) == 1667.2);
  CHECK(bytes.one_expert() == Bytes{12 * 28'334'592});
  CHECK(megabytes(bytes.one_expert()) == 340.0);
}

TEST_CASE("checkpoint modules: GPT2-MoE-Small has 361.4 M parameters, 322.8 M with a tied head") {
  ModelShape model = std::get<ModelShape>(shipped("gpt2-moe-small"));
  CHECK(checkpoint_model(model).parameters() == 361'416'192);
  model.tied_head = true;
  CHECK(checkpoint_model(model).parameters() == 322'818'816);
}

TEST_CASE("checkpoint modules: the dense counterpart of GPT2-MoE-Small is 2.186 times smaller") {
  const CheckpointModel model = table("gpt2-moe-small");
  const ModuleBytes bytes = module_bytes(model, kFp32AndAdam);
  const Bytes dense = dense_counterpart(model, bytes);
  // The same model without "moe" has six more FFNs of an expert's size, and no gates.
  ModelShape plain = std::get<ModelShape>(shipped("gpt2-moe-small"));
  plain.moe.reset();
  CHECK(dense == module_bytes(checkpoint_model(plain), kFp32AndAdam).total());
  CHECK(std::round(1000 * (bytes.total() / dense)) / 1000 == 2.186);
}

TEST_CASE("checkpoint modules: DeepSeek-V3 saves shared experts whole and its multi-token prediction too") {
  const CheckpointModel model = table("deepseek-v3");
  CHECK(model.expert_layers.size() == 59);  // layers 3 to 60 and the predicting one
  CHECK(model.expert_layers.back().expert_name(255) == "mtp.0.experts.255");
  CHECK(line(model, ModulePart::kSharedExpert).parameters == 59LL * 3 * 7168 * 2048);
  // The projection of [embedding, hidden state]: 14,336 x 7,168.
  CHECK(line(model, ModulePart::kProjection).parameters == 102'760'448);
}

TEST_CASE("checkpoint modules: SwinV2-MoE has 157 M parameters, without experts the 49.7 M of SwinV2-S") {
  const AnyModel model = shipped("swinv2-moe");
  SwinModel swin = std::get<SwinModel>(model);
  CheckpointModel modules = checkpoint_model(swin);
  CHECK(modules.parameters() == 157'258'018);
  CHECK(modules.expert_layers.size() == 10);  // blocks 1, 3, ..., 17 of stage 2 and block 1 of stage 3
  CHECK(modules.expert_layers.front().name == "stages.2.blocks.1");
  CHECK(modules.expert_layers.front().parameters == 8 * 384 * 384 + 5 * 384);
  CHECK(modules.expert_layers.back().parameters == 8 * 768 * 768 + 5 * 768);
  const Bytes dense = dense_counterpart(modules, module_bytes(modules, 1));
  swin.swin.moe.reset();
  modules = checkpoint_model(swin);
  CHECK(modules.parameters() == 49'728'418);
  CHECK(modules.experts == 0);
  CHECK(dense == Bytes{modules.parameters()});
}

TEST_CASE("checkpoint modules: a file of models is a Swin transformer where it says so") {
  CHECK(std::holds_alternative<SwinModel>(shipped("swinv2-moe")));
  CHECK(std::holds_alternative<ModelShape>(shipped("gpt-s")));
  const Result<ModelShape> decoder = config::read<ModelShape>(model_file("swinv2-moe"));
  REQUIRE(!decoder);
  CHECK(decoder.error().message() == model_file("swinv2-moe") +
                                         " /swin: describes a Swin transformer, which only goodput "
                                         "checkpoint supports; use a decoder model");
}

TEST_CASE("checkpoint modules: what is wrong with a Swin transformer is named with its place") {
  const auto with = [](const std::string& rest) {
    return problem(R"({"name": "S", "swin": {"hidden": 96, "classes": 10, )" + rest + "}}");
  };
  CHECK(with(R"("depths": [2, 2], "heads": [3, 6])").empty());
  CHECK(with(R"("depths": [2, 2])") ==
        " /swin/heads: is missing; it must be an array of integers from 1 to 100000");
  CHECK(with(R"("depths": [], "heads": [])") == " /swin/depths: must have 1 to 8 stages, not 0");
  CHECK(with(R"("depths": [2, 2], "heads": [3])") ==
        " /swin/heads: has 1 entries, but must have one for each of the 2 stages");
  CHECK(with(R"("depths": [2, 2], "heads": [3, 5])") ==
        " /swin/heads/1: is 5, which does not divide the stage's width (192)");
  const std::string two = R"("depths": [2, 2], "heads": [3, 6], "moe": )";
  CHECK(with(two + R"({"experts": 4, "top_k": 5, "stages": [1]})") ==
        " /swin/moe/top_k: must be at most the number of experts (4), not 5");
  CHECK(with(two + R"({"experts": 4, "top_k": 1, "stages": []})") ==
        " /swin/moe/stages: is empty; remove \"moe\" if no block has experts");
  CHECK(with(two + R"({"experts": 4, "top_k": 1, "stages": [1, 1]})") ==
        " /swin/moe/stages/1: is 1; stages must be in ascending order and below 2");
  CHECK(with(two + R"({"experts": 4, "top_k": 1, "stages": [2]})") ==
        " /swin/moe/stages/0: is 2; stages must be in ascending order and below 2");
  CHECK(with(two + R"({"experts": 4, "top_k": 1, "stages": [1], "first_block": 2})") ==
        " /swin/moe/stages/0: is 1, but this stage has only 2 blocks and first_block is 2");
  CHECK(with(R"("depths": [10000], "heads": [1], "hidden": 96000)") == " /swin/hidden: is given twice");
  CHECK(problem(R"({"name": "S", "swin": {"hidden": 100000, "classes": 10, "depths": [10000, 10000, 10000],
                    "heads": [1, 1, 1], "ffn_ratio": 1000}})") ==
        " /swin/depths: the model would have more than 1e16 parameters; reduce its depths or widths");
}

TEST_CASE("checkpoint modules: a model with more modules than can be listed is refused") {
  ModelShape model;
  model.name = "huge";
  model.layers = 10'000;
  model.hidden = model.heads = model.kv_heads = model.head_dim = model.vocab = 1;
  model.moe = MoeShape{.experts = 65'536, .expert_ffn = 1};
  const Result<CheckpointModel> modules = checkpoint_model(AnyModel{model});
  REQUIRE(!modules);
  CHECK(modules.error().message() == "has about 655360000 modules, but goodput supports at most 5000000");
}

}  // namespace goodput
