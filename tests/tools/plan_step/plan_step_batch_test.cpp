// `goodput plan-step PLAN --batch ROWS`. What a row must be predicted to take is what plan-step says of a
// plan with the same sizes.
#include "tools/plan_step/plan_step_batch.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "sim/base/json.h"
#include "tests/support/step_case.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/cli/command_line.h"
#include "tools/commands.h"
#include "tools/plan_step/batch_columns.h"

namespace goodput {
namespace {

struct Run {
  ExitCode code;
  std::string out;
  std::string err;
};

Run run(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code = run_command_line(builtin_commands(), arguments, out, err);
  return {code, out.str(), err.str()};
}

// A plan of two layers on two nodes of four small GPUs.
Json base_plan() {
  return Json::parse(R"({
    "model": {"name": "small", "layers": 2, "hidden": 64, "heads": 4, "ffn": 256, "biases": true,
              "vocab": 500, "learned_positions": 32, "tied_head": true},
    "cluster": {"name": "c", "nodes": 2, "gpus_per_node": 4, "nics_per_node": 1,
      "gpu": {"name": "g", "bf16_tflops": 1, "fp32_tflops": 0.5, "memory_gib": 1, "memory_gb_per_s": 10,
              "multiprocessors": 4},
      "intra_node": {"bandwidth_gb_per_s": 1, "latency_us": 3},
      "inter_node": {"bandwidth_gbps": 4, "latency_us": 9}},
    "parallel": {"global_batch": 4, "sequence_length": 32, "recompute": "full"}})");
}

struct Sizes {
  int gpus = 1;
  int global_batch = 4;
  int micro_batch = 1;
  int hidden = 64;
  int heads = 4;
  int layers = 2;
  int sequence = 32;
  int tp = 1;
  int dp = 1;
  int pp = 1;

  [[nodiscard]] std::string row() const {
    return fmt::format("{},{},{},{},{},{},{},{},{},{}", gpus, global_batch, micro_batch, hidden, heads,
                       layers, sequence, tp, dp, pp);
  }
};
const std::string kHeader =
    "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,"
    "tensor parallelism,data parallelism,pipeline parallelism";

const std::string kAppended = ",predicted_ms,mfu,memory_gib,fits\n";

// What plan-step says of this plan, as the batch prints it.
std::string planned(const Json& plan) {
  const TemporaryFile file("plan.json", plan.dump());
  const Run planned = run({"plan-step", file.path(), "--json", "-"});
  REQUIRE_MESSAGE(planned.code == ExitCode::kOk, planned.err);
  const Json json = Json::parse(planned.out);
  const Json& memory = json.at("memory");
  const auto fullest = memory.at("fullest_stage").get<std::size_t>();
  const double bytes = memory.at("stages").at(fullest).at("total_bytes").get<double>();
  return fmt::format("{:.6f},{:.4f},{:.2f},{}", 1e3 * json.at("step_s").get<double>(),
                     json.at("mfu").get<double>(), bytes / 1024 / 1024 / 1024, memory.at("fits").get<bool>());
}

// The same of `base` with these sizes.
std::string planned_ms(const Sizes& sizes, Json plan = base_plan()) {
  Json& model = plan["model"];
  model["hidden"] = sizes.hidden;
  model["ffn"] = 4 * sizes.hidden;
  model["heads"] = sizes.heads;
  model["layers"] = sizes.layers;
  model["learned_positions"] = sizes.sequence;
  Json& parallel = plan["parallel"];
  parallel["global_batch"] = sizes.global_batch;
  parallel["micro_batch"] = sizes.micro_batch;
  parallel["sequence_length"] = sizes.sequence;
  parallel["tp"] = sizes.tp;
  parallel["dp"] = sizes.dp;
  parallel["pp"] = sizes.pp;
  return planned(plan);
}

struct BatchRun {
  ExitCode code;
  std::string out;
  std::string err;  // "ROWS" for the path of the rows
};

BatchRun batch(const std::string& rows, const Json& plan = base_plan()) {
  const TemporaryFile plan_file("plan.json", plan.dump());
  const TemporaryFile rows_file("rows.csv", rows);
  Run result = run({"plan-step", plan_file.path(), "--batch", rows_file.path()});
  for (auto at = result.err.find(rows_file.path()); at != std::string::npos;
       at = result.err.find(rows_file.path())) {
    result.err.replace(at, rows_file.path().size(), "ROWS");
  }
  return {result.code, result.out, result.err};
}

// Of a batch that must be refused as a whole.
std::string refusal(const std::string& rows, const Json& plan = base_plan()) {
  const BatchRun result = batch(rows, plan);
  CHECK(result.code == ExitCode::kBadInput);
  CHECK(result.out.empty());
  return result.err;
}

// Of the one row, which must be without prediction.
std::string row_error(const std::string& row, const Json& plan = base_plan()) {
  const BatchRun result = batch(kHeader + '\n' + row + '\n', plan);
  CHECK(result.code == ExitCode::kBadInput);
  CHECK(result.out == kHeader + kAppended + row + ",,,,\n");
  REQUIRE(result.err.starts_with("error: ROWS:2: "));
  CHECK(result.err.find('\n') == result.err.size() - 1);
  return result.err.substr(15, result.err.size() - 16);
}

std::string gzipped(const std::string& text) {
  const TemporaryFile file("x.gz");
  gzFile out = gzopen(file.path().c_str(), "wb");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
  return file.content();
}

}  // namespace

TEST_CASE("plan-step --batch: a row is predicted as the plan with its sizes is") {
  const std::vector<Sizes> rows = {
      {},
      {.gpus = 2, .micro_batch = 2, .sequence = 16, .dp = 2},
      {.gpus = 8, .global_batch = 8, .hidden = 128, .heads = 8, .layers = 4, .tp = 2, .dp = 2, .pp = 2},
  };
  std::string input = kHeader + '\n';
  std::string expected = kHeader + kAppended;
  for (const Sizes& sizes : rows) {
    input += sizes.row() + '\n';
    expected += sizes.row() + ',' + planned_ms(sizes) + '\n';
  }
  const BatchRun result = batch(input);
  CHECK(result.code == ExitCode::kOk);
  CHECK(result.out == expected);
  CHECK(result.err.empty());
}

TEST_CASE("plan-step --batch: both granularities give the same, and --quiet and --jobs change nothing") {
  const TemporaryFile plan("plan.json", base_plan().dump());
  const TemporaryFile rows("rows.csv",
                           kHeader + '\n' + Sizes{.gpus = 4, .tp = 2, .pp = 2}.row() + "\nbad row\n");
  const Run plain = run({"plan-step", plan.path(), "--batch", rows.path()});
  const std::vector<std::vector<std::string>> more = {
      {"--granularity", "ops"}, {"--quiet"}, {"--jobs", "1"}, {"--jobs", "7"}};
  for (const auto& options : more) {
    std::vector<std::string> arguments = {"plan-step", plan.path(), "--batch", rows.path()};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Run other = run(arguments);
    CHECK(other.code == ExitCode::kBadInput);
    CHECK(other.out == plain.out);
    CHECK(other.err == plain.err);
  }
}

TEST_CASE("plan-step --batch: settings within a node count where the row's GPUs fit one") {
  Json plan = base_plan();
  plan["parallel"]["within_node"] = {
      {"recompute", "none"}, {"pad_vocab_to", 0}, {"overlap_tp_reduce", false}};
  Json inside = base_plan();
  inside["parallel"]["recompute"] = "none";
  inside["parallel"]["pad_vocab_to"] = 0;
  const Sizes four = {.gpus = 4, .dp = 4};
  const Sizes eight = {.gpus = 8, .global_batch = 8, .dp = 8};
  const BatchRun result = batch(kHeader + '\n' + four.row() + '\n' + eight.row() + '\n', plan);
  CHECK(result.out == kHeader + kAppended + four.row() + ',' + planned_ms(four, inside) + '\n' + eight.row() +
                          ',' + planned_ms(eight) + '\n');
}

TEST_CASE("plan-step --batch: columns pass through as they are, in any order, measured time or not") {
  const std::string header =
      "pipeline parallelism, note ,\"# GPUs\",global batch,micro batch,hidden size,attention heads,# layers,"
      "sequence length,tensor parallelism,data parallelism,iteration time (ms)";
  const std::string row = "1,\"a, \"\"b\"\"\", 1,4,1.0,6.4e1,4,\"2\",32,1,1,7.5";
  const BatchRun result = batch(header + '\n' + row + '\n');
  CHECK(result.code == ExitCode::kOk);
  CHECK(result.out == header + kAppended + row + ',' + planned_ms({}) + '\n');
}

TEST_CASE("plan-step --batch: byte-order mark, CRLF, blank lines, no last line end, gzip") {
  const std::string predicted = kHeader + kAppended + Sizes{}.row() + ',' + planned_ms({}) + '\n';
  CHECK(batch("\xEF\xBB\xBF" + kHeader + "\r\n" + Sizes{}.row() + "\r\n").out == predicted);
  CHECK(batch(kHeader + "\n\n  \n" + Sizes{}.row() + "\n\r\n\n").out == predicted);
  CHECK(batch(kHeader + '\n' + Sizes{}.row()).out == predicted);
  CHECK(batch(gzipped(kHeader + '\n' + Sizes{}.row() + '\n')).out == predicted);
}

TEST_CASE("plan-step --batch: quotes keep line ends, and lines are counted on") {
  const std::string row = "\"two\nlines\"," + Sizes{}.row();
  const BatchRun result = batch("note," + kHeader + '\n' + row + "\nx,y\n");
  CHECK(result.out == "note," + kHeader + kAppended + row + ',' + planned_ms({}) + "\nx,y,,,,\n");
  CHECK(result.err == "error: ROWS:4: the row has 2 cells, but the header has 11\n");
}

TEST_CASE("plan-step --batch: a quote that is never closed spoils its own line only") {
  const BatchRun result = batch("note," + kHeader + "\n\"open," + Sizes{}.row() + "\n5\"," + Sizes{}.row());
  CHECK(result.code == ExitCode::kBadInput);
  CHECK(result.out == "note," + kHeader + kAppended + "\"open," + Sizes{}.row() + ",,,,\n5\"," +
                          Sizes{}.row() + ',' + planned_ms({}) + '\n');
  CHECK(result.err == "error: ROWS:2: the row has 1 cell, but the header has 11\n");
}

TEST_CASE("plan-step --batch: a row without prediction stops no other") {
  const Sizes odd = {.gpus = 3, .dp = 3};
  const BatchRun result =
      batch(kHeader + '\n' + odd.row() + '\n' + Sizes{}.row() + "\n1,2,3\n" + Sizes{}.row() + '\n');
  CHECK(result.code == ExitCode::kBadInput);
  const std::string predicted = Sizes{}.row() + ',' + planned_ms({}) + '\n';
  CHECK(result.out == kHeader + kAppended + odd.row() + ",,,,\n" + predicted + "1,2,3,,,,\n" + predicted);
  CHECK(result.err ==
        "error: ROWS:2: /parallel/global_batch: must be a multiple of dp 3 x micro_batch 1 = 3, not "
        "4\nerror: ROWS:4: the row has 3 cells, but the header has 10\n");
}

TEST_CASE("plan-step --batch: the header alone is fine") {
  const BatchRun result = batch(kHeader);
  CHECK(result.code == ExitCode::kOk);
  CHECK(result.out == kHeader + kAppended);
}

TEST_CASE("plan-step --batch: memory that is too small keeps nobody from predicting") {
  Json plan = base_plan();
  plan["cluster"]["gpu"]["memory_gib"] = 0.001;
  const BatchRun result = batch(kHeader + '\n' + Sizes{}.row() + '\n', plan);
  CHECK(result.code == ExitCode::kOk);
  CHECK(result.out == kHeader + kAppended + Sizes{}.row() + ',' + planned_ms({}) + '\n');
}

TEST_CASE("plan-step --batch: fewer micro-batches than stages are legal, more nodes than the plan's too") {
  const Sizes deep = {.gpus = 4, .global_batch = 1, .layers = 4, .pp = 4};
  const Sizes wide = {.gpus = 32, .global_batch = 32, .dp = 32};  // of 8 GPUs
  Json larger = base_plan();
  larger["cluster"]["nodes"] = 8;
  const BatchRun result = batch(kHeader + '\n' + deep.row() + '\n' + wide.row() + '\n');
  CHECK(result.code == ExitCode::kOk);
  CHECK(result.out == kHeader + kAppended + deep.row() + ',' + planned_ms(deep) + '\n' + wide.row() + ',' +
                          planned_ms(wide, larger) + '\n');
}

TEST_CASE("plan-step --batch: what a row cannot be") {
  CHECK(row_error("0,4,1,64,4,2,32,1,1,1") ==
        "# GPUs must be a whole number from 1 to 1000000000, not \"0\"");
  CHECK(row_error("1,,1,64,4,2,32,1,1,1") ==
        "global batch must be a whole number from 1 to 1000000000, not \"\"");
  CHECK(row_error("1,4,0.5,64,4,2,32,1,1,1") ==
        "micro batch must be a whole number from 1 to 1000000000, not \"0.5\"");
  CHECK(row_error("1,4,1,1e300,4,2,32,1,1,1") ==
        "hidden size must be a whole number from 1 to 1000000, not \"1e300\"");
  CHECK(row_error("1,4,1,64,nan,2,32,1,1,1") ==
        "attention heads must be a whole number from 1 to 1000000, not \"nan\"");
  CHECK(row_error("1,4,1,64,4,0x2,32,1,1,1") ==
        "# layers must be a whole number from 1 to 10000, not \"0x2\"");
  CHECK(row_error("1,4,1,64,4,2,-32,1,1,1") ==
        "sequence length must be a whole number from 1 to 1000000000, not \"-32\"");
  CHECK(row_error("1,4,1,64,4,2,32,1,1,99999999999999999999") ==
        "pipeline parallelism must be a whole number from 1 to 10000000, not \"99999999999999999999\"");
  CHECK(row_error("1,4,1,64,5,2,32,1,1,1") == "hidden size 64 is not divisible by 5 attention heads");
  CHECK(row_error("2,4,1,64,4,2,32,1,1,1") == "# GPUs is 2, but tensor x data x pipeline parallelism is 1");
  CHECK(row_error("1000000000,4,1,64,4,2,32,10000000,10000000,10000000") ==
        "# GPUs is 1000000000, but tensor x data x pipeline parallelism is 1000000000000000000000");
  CHECK(row_error("3,4,1,64,4,2,32,3,1,1") ==
        "/parallel/tp: is 3, which does not divide the model's heads (4)");
  CHECK(row_error("4,4,1,64,4,2,32,1,1,4") ==
        "/parallel/pp: 2 layers do not divide evenly over 4 pipeline positions (pp 4 x vpp 1); set "
        "layers_per_stage");
  CHECK(row_error("1,1000000000,1,64,4,2,32,1,1,1")
            .starts_with("/parallel/global_batch: is 1000000000 (1000000000 micro-batches per replica), "));
  CHECK(row_error("1,4,1,1000000,1,10000,32,1,1,1")
            .starts_with("/model/layers: the model would have more than 1e16 parameters; "));
}

TEST_CASE("plan-step --batch: a file without a header that names keys is refused") {
  CHECK(refusal("") == "error: ROWS: cannot open: No such file or directory\n");
  CHECK(refusal("\n") ==
        "error: ROWS:1: no column is a key of a plan (tp, dp, layers, hidden, cluster, gpus, /parallel/tp, "
        "...) or a column of vTrain's tables (# GPUs, global batch, ...)\n");
  std::string header = kHeader;
  header.replace(header.find("hidden size"), 11, "hiden size");
  CHECK(refusal(header) == "error: ROWS:1: no column \"hidden size\"; did you mean \"hiden size\"?\n");
  CHECK(refusal(kHeader + ",# layers\n") == "error: ROWS:1: column \"# layers\" appears twice\n");
  CHECK(refusal(kHeader + kAppended) == "error: ROWS:1: already has a column predicted_ms; remove it\n");
  Json plan = base_plan();
  plan["cost"] = {{"model", "roofline2"}};
  const std::string unknown = refusal(kHeader + '\n' + Sizes{}.row() + '\n' + Sizes{}.row() + '\n', plan);
  CHECK(unknown.find("/cost/model: unknown cost model \"roofline2\"; did you mean \"roofline\"?") !=
        std::string::npos);
  CHECK(unknown.find('\n') == unknown.size() - 1);
}

// A row of keys under `plan`: the cells behind it, or the error.
std::string of_row(const std::string& header, const std::string& row, const Json& plan = base_plan()) {
  const BatchRun result = batch(header + '\n' + row + '\n', plan);
  if (result.code != ExitCode::kOk) return result.err.substr(result.err.rfind("error: "));
  const std::size_t line = result.out.find('\n') + 1;
  return result.out.substr(line + row.size() + 1, result.out.size() - line - row.size() - 2);
}

TEST_CASE(
    "plan-step --batch: columns are keys of a plan, by themselves or by pointer, and empty cells the "
    "base's") {
  Json plan = base_plan();
  plan["parallel"]["dp"] = 2;
  plan["parallel"]["dtype"] = "fp16";
  plan["model"]["layers"] = 4;
  plan["model"]["gated_ffn"] = true;
  plan["cluster"]["inter_node"]["bandwidth_gbps"] = 8;
  const std::string header = "dp,dtype,layers,gated_ffn,tp,/cluster/inter_node/bandwidth_gbps,gpus";
  CHECK(of_row(header, "2,fp16,4,1,,8,2") == planned(plan));
  CHECK(of_row(header, "2,fp16,4,true, ,8,") == planned(plan));
  CHECK(
      of_row(
          "/parallel/dp,/parallel/dtype,/model/layers,/model/gated_ffn,x,/cluster/inter_node/bandwidth_gbps",
          "2,fp16,4,1,y,8") == planned(plan));
  plan = base_plan();
  plan["efficiency"] = {{"gemm_efficiency", 0.5}};
  CHECK(of_row("/efficiency/gemm_efficiency", "0.5") == planned(plan));
  // An uneven split, and experts.
  plan = base_plan();
  plan["parallel"]["pp"] = 2;
  plan["model"]["layers"] = 3;
  plan["parallel"]["layers_per_stage"] = {2, 1};
  plan["model"]["moe"] = {{"experts", 4}, {"top_k", 2}, {"expert_ffn", 64}};
  CHECK(of_row("pp,layers,layers_per_stage,experts,top_k,expert_ffn", "2,3,2 1,4,2,64") == planned(plan));
}

TEST_CASE("plan-step --batch: a row with a whole model has nothing of the base's, and names are looked up") {
  Json plan = base_plan();
  plan["model"] = {{"name", "mine"}, {"layers", 4}, {"hidden", 128},
                   {"heads", 8},     {"ffn", 256},  {"vocab", 1000}};
  CHECK(of_row("model,layers,hidden,heads,ffn,vocab", "mine,4,128,8,256,1000") == planned(plan));
  // Heads of the base follow from the row's.
  plan = base_plan();
  plan["model"]["kv_heads"] = 2;
  Json wider = base_plan();
  wider["model"]["hidden"] = 128;
  CHECK(of_row("hidden", "128", plan) == planned(wider));
  plan = base_plan();
  plan["model"] = "gpt-s";
  plan["cluster"] = "dgx-a100";
  CHECK(of_row("model,cluster", "gpt-s,dgx-a100") == planned(plan));
  CHECK(of_row("model,cluster", "gpt-s,A100-80GB") == planned(plan));
  CHECK(of_row("model", "gpt-z").starts_with("error: ROWS:2: no model \"gpt-z\"; did you mean"));
}

TEST_CASE(
    "plan-step --batch: a column stack names the software, whose defaults the base's own keys outweigh") {
  Json base = base_plan();
  base["parallel"]["dp"] = 2;
  Json plan = base;
  plan["stack"] = "nemo";
  const std::string in_nemo = planned(plan);
  CHECK(in_nemo != planned(base));
  CHECK(of_row("stack", "nemo", base) == in_nemo);
  CHECK(of_row("stack,tp", ",1", base) == planned(base));
  // nemo overlaps gradients unless the base plan or the row says otherwise.
  plan["parallel"]["overlap_grad_reduce"] = false;
  const std::string exposed = planned(plan);
  CHECK(exposed != in_nemo);
  CHECK(of_row("stack,overlap_grad_reduce", "nemo,0", base) == exposed);
  base["parallel"]["overlap_grad_reduce"] = false;
  CHECK(of_row("stack", "nemo", base) == exposed);
  // Keys of a stack are columns by their pointers.
  plan = base_plan();
  plan["stack"] = {{"name", "mine"}, {"factors", {{"gemm", 0.5}}}};
  CHECK(of_row("/stack/name,/stack/factors/gemm", "mine,0.5") == planned(plan));
  CHECK(of_row("stack", "nmeo")
            .starts_with("error: ROWS:2: /stack: no stack \"nmeo\"; did you mean \"nemo\"?"));
  // A cluster brings its own efficiency, in place of the base plan's.
  plan = base_plan();
  plan["efficiency"] = {{"gemm_efficiency", 0.1}};
  Json other = base_plan();
  other["cluster"] = "dgx-a100";
  CHECK(of_row("cluster", "dgx-a100", plan) == planned(other));
}

TEST_CASE("plan-step --batch: where measured times are given, rows say how far off they are") {
  const std::string predicted = planned(base_plan());
  const double ms = std::stod(predicted);
  const BatchRun result = batch("tp,measured_ms\n1," + fmt::format("{:.6f}", ms / 1.25) + "\n1,\n1,0\n");
  CHECK(result.out == "tp,measured_ms,predicted_ms,mfu,memory_gib,fits,error\n1," +
                          fmt::format("{:.6f}", ms / 1.25) + "," + predicted + ",0.2500\n1,," + predicted +
                          ",\n1,0,,,,,\n");
  CHECK(result.err == "error: ROWS:4: measured_ms must be more than 0 milliseconds, not \"0\"\n");
}

TEST_CASE("plan-step --batch: a column error is the user's where nothing was measured") {
  CHECK(batch("error,tp\nx,1\n").out == "error,tp" + kAppended + "x,1," + planned(base_plan()) + '\n');
  CHECK(refusal("error,tp,measured_ms\nx,1,1\n") == "error: ROWS:1: already has a column error; remove it\n");
}

TEST_CASE("plan-step --batch: columns that are no keys pass through, and are named once") {
  const BatchRun result = batch("id,tp,release\nx,1,2\n");
  CHECK(result.code == ExitCode::kOk);
  CHECK(result.out.find("\nx,1,2," + planned(base_plan()) + '\n') != std::string::npos);
  CHECK(result.err == "note: ignored columns, which are not keys of a plan: id, release\n");
}

TEST_CASE("plan-step --batch: every key of parallel and of moe is a column") {
  TrainingPlan base = testing::shipped_plan("mixtral-8x7b-h100");
  MoeShape moe;
  config::Fields fields = config_fields(base.parallel);
  std::ranges::move(config_fields(moe), std::back_inserter(fields));
  for (const config::Field& field : fields) {
    if (field.key == "within_node") continue;  // an object, whose keys are columns by their pointers
    const std::vector<std::string> header = {"global_batch", std::string(field.key)};
    const auto columns =
        BatchColumns::find(field.key == "global_batch" ? std::span(header).first(1) : header, base);
    REQUIRE_MESSAGE(columns, columns.error().message());
    CHECK_MESSAGE(columns->others().empty(), field.key);
  }
}

TEST_CASE("plan-step --batch: what a row of keys cannot be") {
  CHECK(of_row("tp", "0") == "error: ROWS:2: /parallel/tp: must be an integer from 1 to 10000000, not 0\n");
  CHECK(of_row("tp", "two") ==
        "error: ROWS:2: /parallel/tp: must be an integer from 1 to 10000000, not \"two\"\n");
  CHECK(of_row("gpus,dp", "8,2") == "error: ROWS:2: gpus is 8, but dp x pp x tp x cp is 2\n");
  CHECK(of_row("gpus,dp", "x,2") ==
        "error: ROWS:2: gpus must be a whole number from 1 to 1000000000, not \"x\"\n");
  CHECK(of_row("biases", "2") ==
        "error: ROWS:2: /model/biases: must be true, false or an array of \"qkv\", \"attention_output\", "
        "\"ffn\", "
        "\"norm\", \"router\", not 2\n");
  CHECK(of_row("/parallel/tpp", "2").starts_with("error: ROWS:2: /parallel/tpp: unknown key; did you mean"));
  CHECK(of_row("/parallel/tp/x", "2") == "error: ROWS:2: column \"/parallel/tp/x\" is not a key of a plan\n");
  CHECK(of_row("/parallel/~2", "2") == "error: ROWS:2: column \"/parallel/~2\" is not a key of a plan\n");
  CHECK(refusal("tp,/parallel/tp\n1,1\n") ==
        "error: ROWS:1: columns \"tp\" and \"/parallel/tp\" set the same key\n");
  CHECK(refusal("tp,tp\n1,1\n") == "error: ROWS:1: column \"tp\" appears twice\n");
}

}  // namespace goodput
