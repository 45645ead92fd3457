#include "tools/simulate/scenario_inputs.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/base/json.h"
#include "tests/tools/simulate/small_scenario.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

Scenario scenario_of(const Json& text) {
  const TemporaryFile file("scenario.json", text.dump());
  Result<Scenario> scenario = read_scenario(file.path(), {});
  REQUIRE_MESSAGE(scenario, (scenario ? "" : scenario.error().message()));
  scenario->file = "s.json";  // for messages
  return *std::move(scenario);
}

ScenarioInputs inputs_of(const Json& text, std::uint64_t seed = 0) {
  Result<ScenarioInputs> inputs = read_scenario_inputs(scenario_of(text), seed);
  REQUIRE_MESSAGE(inputs, (inputs ? "" : inputs.error().message()));
  return *std::move(inputs);
}

std::string refusal(const Json& text) {
  const Result<ScenarioInputs> inputs = read_scenario_inputs(scenario_of(text), 0);
  return inputs ? "" : inputs.error().message();
}

Json replaying(const std::string& file) {
  Json text = testing::small_scenario();
  text["failures"] = {{"model", "trace"}, {"file", file}};
  return text;
}

Json with_routing(const Json& routing) {
  Json text = testing::small_scenario();
  text["routing"] = routing;
  return text;
}

Json slowed_by(const std::string& file) {
  Json text = testing::small_scenario();
  text["failures"] = {text["failures"], {{"model", "fail_slow"}, {"per_node_day", 1}, {"whatif", file}}};
  return text;
}

// A raw log of SmartMoE with a micro-batch: `tokens` for every expert.
std::string logs_of_layers(int layers, int experts, int tokens) {
  std::string text;
  for (int layer = 0; layer < layers; ++layer) {
    text += fmt::format("{}:[[", layer);
    for (int expert = 0; expert < experts; ++expert)
      text += fmt::format("{}{}.0", expert > 0 ? ", " : "", tokens);
    text += "]]\n";
  }
  return text;
}

const std::string kSpotTrace = GOODPUT_SAMPLES "/spot_events.csv";
const std::string kRouting = GOODPUT_CONFIGS "/routing/smartmoe-like.json";

}  // namespace

TEST_CASE("scenario inputs: a recording that is there is read, and its nodes have its names") {
  Json text = replaying(kSpotTrace);
  text["failures"]["meaning"] = "held";
  text["failures"]["fallback"] = "absent.csv";
  const ScenarioInputs inputs = inputs_of(text);
  REQUIRE(inputs.files.size() == 2);  // and the model of routing
  CHECK(inputs.files[0].pointer == "/failures/file");
  CHECK(!inputs.files[0].is_fallback());
  CHECK(inputs.node_name(0) == "node1");
  CHECK(inputs.node_name(100000) == "node 100000");
  CHECK(inputs.notes().empty());
  CHECK(inputs.view().failures.at(0).trace == inputs.traces[0]);
}

TEST_CASE("scenario inputs: where the file is not there the fallback is read, and they say so") {
  Json text = replaying("/absent/p3.csv");
  text["failures"]["meaning"] = "held";
  text["failures"]["fallback"] = kSpotTrace;
  text["routing"] = {{"file", "/absent/routing.csv.gz"}, {"model", kRouting}};
  const ScenarioInputs inputs = inputs_of(text);
  REQUIRE(inputs.files.size() == 2);
  CHECK(inputs.files[0].used == kSpotTrace);
  CHECK(inputs.files[1].used == kRouting);
  REQUIRE(inputs.notes().size() == 2);
  CHECK(inputs.notes()[0] ==
        "/failures/file: /absent/p3.csv does not exist; using " + kSpotTrace + " instead");
}

TEST_CASE("scenario inputs: files that are not there") {
  CHECK(refusal(replaying("/absent.csv")) == "s.json /failures/file: \"/absent.csv\" does not exist");
  Json both = replaying("/absent.csv");
  both["failures"]["fallback"] = "/none.csv";
  CHECK(refusal(both) ==
        "s.json /failures/file: \"/absent.csv\" does not exist, and neither does its fallback \"/none.csv\"");
  CHECK(refusal(with_routing({{"file", "/absent.csv"}})) ==
        "s.json /routing/file: \"/absent.csv\" does not exist");
  CHECK(refusal(slowed_by("/absent.json")) == "s.json /failures/1/whatif: \"/absent.json\" does not exist");
}

TEST_CASE("scenario inputs: what a recording leaves open is settled in the scenario") {
  const TemporaryFile counts("counts.csv", "t_s,count\n0,4\n60,3\n");
  const std::string refused = refusal(replaying(counts.path()));
  CHECK_MESSAGE(refused.ends_with("; in a scenario, set /failures/meaning"), refused);
}

TEST_CASE("scenario inputs: slow-downs are those of the workers that were slower than the ideal one") {
  const TemporaryFile whatif("whatif.json",
                             R"({"slowdown_by_worker": {"0:0": 1.5, "0:1": 1, "1:0": 0.999, "1:1": 1.25}})");
  const ScenarioInputs inputs = inputs_of(slowed_by(whatif.path()));
  CHECK(std::vector(inputs.slowdowns.at(1).begin(), inputs.slowdowns.at(1).end()) ==
        std::vector<double>{1.5, 1.25});
  CHECK(inputs.view().failures.at(1).slowdowns.size() == 2);
  CHECK(inputs.slowdowns.at(0).empty());
}

TEST_CASE("scenario inputs: results without slow workers cannot be drawn from") {
  const auto message = [](const std::string& content) {
    const TemporaryFile whatif("whatif.json", content);
    const std::string refused = refusal(slowed_by(whatif.path()));
    return refused.substr(std::min(refused.size(), whatif.path().size()));
  };
  CHECK(message("{}") ==
        " /slowdown_by_worker: is missing; the file must be a result of `goodput whatif --json`");
  CHECK(message("[]") ==
        " /slowdown_by_worker: is missing; the file must be a result of `goodput whatif --json`");
  CHECK(message(R"({"slowdown_by_worker": [1.5]})") ==
        " /slowdown_by_worker: must be an object {\"dp:stage\": slowdown}");
  CHECK(message(R"({"slowdown_by_worker": {"0:0": null}})") ==
        " /slowdown_by_worker: the slowdown of worker 0:0 must be a number above 0, not null");
  CHECK(
      message(R"({"slowdown_by_worker": {"0:0": 1}})") ==
      " /slowdown_by_worker: contains no worker with a slowdown above 1; use a result that has slow workers");
}

TEST_CASE("scenario inputs: prices are the scenario's, else the trace's from where the replay starts") {
  // 1 USD an hour until 60 s, then 3, then 5 from 120 s.
  const TemporaryFile trace("sky.json", R"({"metadata": {"gap_seconds": 60, "polarity": "available",
    "meaning": "held"}, "data": [4, 4, 4, 4], "prices": [1, 3, 5, 5]})");
  Json text = replaying(trace.path());
  text["failures"]["from_s"] = 90;
  const PriceSchedule prices = inputs_of(text).pools.at(0).prices;
  const auto at = [](int second) { return SimTime{std::chrono::seconds(second)}; };
  CHECK(prices.cost(at(0), at(30)) == doctest::Approx(3.0 * 30 / 3600));
  CHECK(prices.cost(at(30), at(60)) == doctest::Approx(5.0 * 30 / 3600));
  text["usd_per_node_hour"] = 7;
  CHECK(inputs_of(text).pools.at(0).prices.cost(at(0), at(30)) == doctest::Approx(7.0 * 30 / 3600));
  CHECK(inputs_of(testing::small_scenario()).view().is_free());
}

TEST_CASE("scenario inputs: routing without a file is skewed for ever, or balanced") {
  const auto loads = [](const Json& text) {
    const ScenarioInputs inputs = inputs_of(text);
    CHECK(inputs.files.empty());
    CHECK(inputs.job->routing().windows() == 1);
    CHECK(inputs.job->routing().loads(0).size() == 12);  // MoE layers of GPT-S
    return inputs.job->routing().loads(0)[0];
  };
  Json balanced = testing::small_scenario();
  balanced.erase("routing");
  CHECK(loads(balanced) == std::vector<std::int64_t>(8, 1));
  CHECK(loads(with_routing({{"skew", 0}})) == std::vector<std::int64_t>(8, 1));
  std::vector<std::int64_t> skewed = loads(with_routing({{"skew", 1}}));
  std::sort(skewed.begin(), skewed.end());
  CHECK(static_cast<double>(skewed.back()) / static_cast<double>(skewed.front()) ==
        doctest::Approx(8).epsilon(1e-9));  // 1 / rank
}

TEST_CASE("scenario inputs: with a hot load one expert gets so many even shares, and the others the rest") {
  const auto loads = [](double hot_load) {
    return inputs_of(with_routing({{"hot_load", hot_load}})).job->routing().loads(0)[3];
  };
  // Of 8 experts: 1 in 8 of the tokens each; 4 of 8, and 4/7 of 8 for each of the others; all.
  CHECK(loads(1) == std::vector<std::int64_t>(8, 125'000'000'000));
  std::vector<std::int64_t> four(8, 71'428'571'429);
  four[0] = 500'000'000'000;
  CHECK(loads(4) == four);
  std::vector<std::int64_t> eight(8, 0);
  eight[0] = 1'000'000'000'000;
  CHECK(loads(8) == eight);
  CHECK(refusal(with_routing({{"hot_load", 8.5}})) ==
        "s.json /routing/hot_load: must be at most 8, not 8.5: no expert gets a token twice");
}

TEST_CASE("scenario inputs: layers of a trace that are not as many as the model's are refused") {
  CHECK(refusal(with_routing({{"model", kRouting}, {"layers", "0-3"}})) ==
        "s.json /routing/layers: selects 4 layers of the trace, but the model has 12 layers with experts; "
        "the two numbers must be equal");
  CHECK(refusal(with_routing({{"model", kRouting}, {"layers", "99"}})) ==
        "s.json /routing/layers: no layer 99; the trace has 24 layers from 0 to 23");
}

TEST_CASE("scenario inputs: how ranks differ is drawn, or read from a folder of one iteration's logs") {
  const auto ranks_of = [](const Json& routing) {
    return inputs_of(with_routing(routing), 3).job->routing().ranks();
  };
  CHECK(ranks_of({{"skew", 1}}).is_even());
  CHECK(ranks_of({{"skew", 1}, {"per_rank", {{"spread", 0}}}}).is_even());
  const RankSpread drawn = ranks_of({{"skew", 1}, {"per_rank", {{"spread", 0.25}}}});
  CHECK(drawn.spread == 0.25);
  CHECK(drawn.seed == 3);

  // 24 layers of 32 experts, as smartmoe-like has them; rank 1 has twice as many tokens for every expert.
  const TemporaryFile first("table_iter1_rank0.log", logs_of_layers(24, 32, 1));
  const std::string folder = std::filesystem::path(first.path()).parent_path();
  std::ofstream(folder + "/table_iter1_rank1.log") << logs_of_layers(24, 32, 2);
  const Json routing = {{"model", kRouting}, {"per_rank", {{"folder", folder}}}};
  const RankSpread recorded = ranks_of(routing);
  REQUIRE(recorded.recorded.size() == 12);  // MoE layers of GPT-S
  CHECK(recorded.rows == 2);
  CHECK(recorded.recorded[0][0] == 2.0 / 3);
  CHECK(recorded.recorded[11][15] == 4.0 / 3);
  CHECK(inputs_of(with_routing(routing)).files.size() == 3);  // the model and two logs

  Json wrong = routing;
  wrong.erase("model");
  CHECK(refusal(with_routing(wrong)) ==
        "s.json /routing/per_rank/folder: applies only to a recording; set routing/file or routing/model, or "
        "per_rank/spread instead");
  std::ofstream(folder + "/table_iter1_rank1.log") << logs_of_layers(24, 31, 2);
  CHECK(refusal(with_routing(routing)).ends_with("/table_iter1_rank0.log:1 has 32"));
  std::ofstream(folder + "/table_iter1_rank0.log") << logs_of_layers(24, 31, 2);
  CHECK(refusal(with_routing(routing)) ==
        "s.json /routing/per_rank/folder: has 24 layers of 31 experts, but the routing has 24 layers of 32; "
        "both "
        "must be of one job");
}

TEST_CASE("scenario inputs: how ranks differ has no effect without lazarus, and a note says so") {
  Json text = with_routing({{"skew", 1}, {"per_rank", {{"spread", 0.1}}}});
  text["policies"] = {{"ds", Json::object()}};
  const config::KeyNotes notes = key_notes(scenario_of(text));
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].pointer == "/routing/per_rank");
  CHECK(notes[0].why == "no policy is lazarus");
  text["policies"]["lazarus"] = Json::object();
  CHECK(key_notes(scenario_of(text)).empty());
}

TEST_CASE("scenario inputs: a model of routing is stretched to more layers and experts than its own") {
  Json text = testing::small_scenario();
  const TemporaryFile routing("routing.json", R"({"layers": 2, "experts": 4, "top_k": 2, "tokens": 1000,
    "iterations": 2, "course": [{"iteration": 1, "spread": 1, "drift": 0.1}]})");
  text["routing"] = {{"model", routing.path()}};
  const ScenarioInputs inputs = inputs_of(text);
  CHECK(inputs.job->routing().loads(0).size() == 12);
  CHECK(inputs.job->routing().loads(0)[0].size() == 8);
}

TEST_CASE("scenario inputs: the hash is of what files hold, wherever they lie") {
  const std::string content = "t_s,event,node\n0,add,a\n0,add,b\n60,remove,a\n";
  const auto hash = [](const std::string& file) {
    Json text = replaying(file);
    text["failures"]["meaning"] = "held";
    return inputs_of(text).content_hash;
  };
  const TemporaryFile one("one.csv", content);
  const TemporaryFile copy("copy.csv", content);
  const TemporaryFile other("other.csv", content + "90,add,c\n");
  CHECK(hash(one.path()) == hash(copy.path()));
  CHECK(hash(one.path()) != hash(other.path()));
}

}  // namespace goodput
