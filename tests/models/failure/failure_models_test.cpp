// The registry of failure models: how they are read, and what all of them keep to.
#include "models/failure/failure_models.h"

#include <doctest/doctest.h>

#include <set>

#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "tests/models/failure/failure_stream.h"

namespace goodput::testing {
namespace {

using Kind = NodeEvent::Kind;

// Twelve nodes, two of which are lost together after a minute.
SpotTrace small_trace() {
  SpotTrace trace;
  trace.file = "spot.csv";
  for (NodeId node = 0; node < 12; ++node) {
    trace.events.push_back({SimTime{}, Kind::kAdd, node, 1});
    trace.node_names.push_back("node" + std::to_string(node));
  }
  for (const NodeId node : {3, 7}) trace.events.push_back({at_s(60), Kind::kRemove, node, 1});
  trace.end = at_s(7200);
  return trace;
}

NodeEvents without_speeds(const NodeEvents& events) {
  NodeEvents some;
  for (const NodeEvent& event : events) {
    if (event.kind != Kind::kSpeed) some.push_back(event);
  }
  return some;
}

// A model of our own, whose file would be all that follows: nodes that are there and stay.
struct CalmNodes {
  NodeId nodes = 3;
};

class CalmModel final : public FailureModel {
 public:
  explicit CalmModel(NodeId nodes) : nodes_(nodes) {}
  [[nodiscard]] NodeId nodes() const override { return nodes_; }
  [[nodiscard]] std::optional<NodeEvent> next() override {
    if (joined_ == nodes_) return std::nullopt;
    return NodeEvent{SimTime{}, Kind::kAdd, joined_++, 1};
  }

 private:
  NodeId nodes_;
  NodeId joined_ = 0;
};

config::Fields config_fields(CalmNodes& calm) {
  return {{"nodes", config::Need::kOptional, config::integer(calm.nodes, 1, kMostNodes), "all of them"}};
}

Status config_finish(CalmNodes& calm) {
  return calm.nodes == 13 ? Status(Error{"is unlucky", {.pointer = "/nodes"}}) : Ok{};
}

Result<std::unique_ptr<FailureModel>> make_failures(const CalmNodes& calm, const FailureInputs& /*inputs*/) {
  return std::unique_ptr<FailureModel>(std::make_unique<CalmModel>(calm.nodes));
}

FailureModelInfo failure_calm() {
  return {.name = "calm",
          .summary = "nothing is ever lost",
          .example = R"({"model": "calm", "nodes": 4})",
          .make = make_failure_setup<CalmNodes>};
}

std::string known() {
  return fmt::format("{}", fmt::join(names_of(failure_models()), ", "));
}

}  // namespace

TEST_CASE("failures: every model keeps to the contract, and the same draws give the same events") {
  const SpotTrace trace = small_trace();
  const FailureSources sources = {{&trace, {}}};
  std::set<std::string_view> names;
  for (const FailureModelInfo& info : failure_models()) {
    INFO(info.name);
    CHECK(names.insert(info.name).second);
    CHECK(FailureConfig(info).model().name == info.name);
    CHECK(!info.summary.empty());
    const auto run = [&](std::uint64_t trial) {
      auto made = failures_of(info.example, sources, trial);
      CHECK(made->nodes() >= 1);
      return check_stream(*made, at_s(30 * 86400));
    };
    const NodeEvents events = run(0);
    CHECK(events.size() > 10);
    CHECK(run(0) == events);
    // A recording with names has nothing to draw.
    CHECK((run(1) == events) == (info.name == "trace"));
  }
}

TEST_CASE("failures: every example is read and written back as it was") {
  for (const FailureModelInfo& info : failure_models()) {
    if (info.name == "trace") continue;  // a path is written as it is seen from here
    auto configs = read_failures(info.example);
    REQUIRE(configs);
    auto again = Json::parse(config::write(config_fields(configs->front())).dump());
    const auto given = Json::parse(info.example);
    for (const auto& item : given.items()) {
      INFO(info.name << " " << item.key);
      CHECK(again.at(item.key) == item.value);
    }
    std::vector<FailureConfig> copy;
    config::Place place;
    OrderedJson written;
    failures_value(*configs).write(written);
    CHECK(failures_value(copy).read(Json::parse(written.dump()), place));
    CHECK(Json::parse(config::write(config_fields(copy.front())).dump()) == again);
  }
}

TEST_CASE("failures: paths are seen from the file that names them") {
  const auto configs = read_failures(R"({"model": "trace", "file": "spot/p3.csv", "fallback": "../x.csv"})");
  REQUIRE(configs);
  const auto trace = configs->front().setup().file();
  REQUIRE(trace);
  CHECK(trace->path == "folder/spot/p3.csv");
  CHECK(trace->fallback == "x.csv");
}

TEST_CASE("failures: a config is a value, whose paths can be left out") {
  const auto configs = read_failures(
      R"([{"model": "trace", "file": "p3.csv", "from_s": 60, "meaning": "held"},
          {"model": "fail_slow", "per_node_day": 1, "whatif": "w.json"},
          {"model": "fail_slow", "per_node_day": 1, "slowdowns": [2]}])");
  REQUIRE(configs);
  std::vector<FailureConfig> copies = *configs;
  for (FailureConfig& copy : copies) copy.setup().clear_paths();
  CHECK(copies[0].setup().file()->path.empty());
  CHECK(!copies[1].setup().file());
  const auto trace = (*configs)[0].setup().file();
  CHECK(trace->path == "folder/p3.csv");
  CHECK(trace->content == FailureFile::Content::kRecording);
  CHECK(trace->key == "file");
  CHECK(trace->meaning == SpotMeaning::kHeld);
  const auto whatif = (*configs)[1].setup().file();
  CHECK(whatif->path == "folder/w.json");
  CHECK(whatif->content == FailureFile::Content::kSlowdowns);
  CHECK(whatif->key == "whatif");
  CHECK(!(*configs)[2].setup().file());
}

TEST_CASE("failures: a model is options, three functions and a stream of events; the rest follows") {
  FailureConfig calm(failure_calm());
  CHECK(config::write(config_fields(calm)).dump() == R"({"model":"calm","nodes":3})");
  CHECK(!calm.setup().nodes_acted_on());
  CHECK(!calm.setup().file());
  calm.setup().clear_paths();
  const auto read = [&calm](std::string_view text) {
    config::Place place;
    return config::object(calm).read(Json::parse(text), place);
  };
  CHECK(read(R"({"model": "calm", "nodes": 13})").error().message() == "/nodes: is unlucky");
  REQUIRE(read(failure_calm().example));
  const auto model = make_failure_model({&calm, 1}, {}, 1, 0);
  REQUIRE(model);
  CHECK(shown(check_stream(**model, at_s(1e9))) == "0 +0 +1 +2 +3");
}

TEST_CASE("failures: another model in the list does not shift the draws of the first") {
  const std::string first =
      R"({"model": "exponential", "nodes": 8, "mtbf_hours": 50, "repair_s": 600, "repair": "exponential"})";
  const std::string slow = R"({"model": "fail_slow", "per_node_day": 3, "speed_min": 0.5, "speed_max": 0.5})";
  const NodeEvents alone = events_of(first, 1e6);
  const NodeEvents both = events_of("[" + first + "," + slow + "]", 1e6);
  CHECK(without_speeds(both) == alone);
  CHECK(count_of(both, Kind::kSpeed) > 100);
  // At another place in the list a model has draws of its own.
  CHECK(without_speeds(events_of("[" + slow + "," + first + "]", 1e6)) != alone);
}

TEST_CASE("failures: more nodes do not shift the draws of the first ones") {
  for (const std::string rest :
       {R"("model": "exponential", "mtbf_hours": 50, "repair_s": 600})",
        R"("model": "weibull", "shape": 1.5, "mtbf_hours": 50, "repair_s": 60})",
        R"("model": "hourly", "loss_probability": 0.2, "return_probability": 0.5})"}) {
    const NodeEvents few = events_of(R"({"nodes": 5, )" + rest, 3e5);
    NodeEvents first_of_many;
    for (const NodeEvent& event : events_of(R"({"nodes": 9, )" + rest, 3e5)) {
      if (event.node < 5) first_of_many.push_back(event);
    }
    CHECK(first_of_many == few);
  }
}

TEST_CASE("failures: what is wrong is named with its place") {
  CHECK(problem_of("3") == "folder/job.json /failures: must be a failure model: {\"model\": ..., ...}");
  CHECK(problem_of("[]") == "folder/job.json /failures: must have at least one failure model");
  CHECK(problem_of("{}") ==
        fmt::format("folder/job.json /failures/model: is missing; it must be one of {}", known()));
  CHECK(problem_of(R"([{"model": 1}])") ==
        fmt::format("folder/job.json /failures/0/model: must be one of {}, not 1", known()));
  CHECK(problem_of(R"({"model": "weibul"})") ==
        fmt::format(
            "folder/job.json /failures/model: unknown failure model \"weibul\"; did you mean \"weibull\"?; "
            "known: {}",
            known()));
  CHECK(problem_of(R"({"model": "exponential", "nodes": 4, "mtbf_hour": 5})") ==
        "folder/job.json /failures/mtbf_hour: unknown key; did you mean \"mtbf_hours\"?");
}

TEST_CASE("failures: values out of range and rules between fields") {
  const auto problem = [](std::string_view text) {
    const std::string message = problem_of(text);
    return message.substr(std::min(message.size(), std::string_view("folder/job.json /failures").size()));
  };
  // exponential, weibull
  CHECK(problem(R"({"model": "exponential", "nodes": 4})") ==
        "/mtbf_hours: is missing; give mtbf_hours or failures_per_1000_node_days");
  CHECK(problem(R"({"model": "weibull", "nodes": 4, "shape": 2, "mtbf_hours": 9,
                    "failures_per_1000_node_days": 3})") ==
        "/failures_per_1000_node_days: is given, but mtbf_hours also sets the failure rate; give only one of "
        "the two keys");
  CHECK(problem(R"({"model": "exponential", "nodes": 4, "mtbf_hours": 0})") ==
        "/mtbf_hours: must be a number above 0 and at most 1000000000, not 0");
  CHECK(problem(R"({"model": "exponential", "nodes": 4, "mtbf_hours": 9, "repair_s": -1})") ==
        "/repair_s: must be a number from 0 to 1000000000, not -1");
  CHECK(problem(R"({"model": "weibull", "nodes": 4, "shape": 0, "mtbf_hours": 9})") ==
        "/shape: must be a number from 0.2 to 20, not 0");
  // hourly
  CHECK(problem(R"({"model": "hourly", "nodes": 4, "loss_probability": 1.5, "return_probability": 0})") ==
        "/loss_probability: must be a number from 0 to 1, not 1.5");
  CHECK(problem(R"({"model": "hourly", "nodes": 4, "loss_probability": 1, "return_probability": -0.1})") ==
        "/return_probability: must be a number from 0 to 1, not -0.1");
  CHECK(problem(R"({"model": "hourly", "nodes": 4, "initial_nodes": 5, "loss_probability": 0,
                    "return_probability": 0})") ==
        "/initial_nodes: must be at most the number of nodes (4), not 5");
  // interval
  CHECK(problem(R"({"model": "interval", "nodes": 4, "every_s": 0})") ==
        "/every_s: must be a number from 0.001 to 1000000000, not 0");
  CHECK(problem(R"({"model": "interval", "nodes": 4, "every_s": 9, "floor_nodes": 5})") ==
        "/floor_nodes: must be at most the number of nodes (4), not 5");
  CHECK(problem(R"({"model": "interval", "nodes": 4, "every_s": 9, "victims": [0, 4]})") ==
        "/victims/1: is 4, but there are only 4 nodes, numbered from 0");
  // bursts
  CHECK(problem(R"({"model": "bursts", "nodes": 4, "per_hour": 1, "outage_s": 9})") ==
        "/group_size: is missing; set the number of nodes per rack or zone");
  // fail_slow
  CHECK(problem(R"({"model": "fail_slow", "nodes": 4, "per_node_day": 1})") ==
        ": does not define how slow nodes get; give exactly one of speed_min with speed_max, slowdowns, or "
        "whatif");
  CHECK(
      problem(R"({"model": "fail_slow", "nodes": 4, "per_node_day": 1, "slowdowns": [2], "speed_min": 1})") ==
      ": defines in several ways how slow nodes get; give exactly one of speed_min with speed_max, "
      "slowdowns, or whatif");
  CHECK(problem(R"({"model": "fail_slow", "nodes": 4, "per_node_day": 1, "speed_min": 0.5})") ==
        "/speed_max: is missing; speed_min requires it");
  CHECK(problem(R"({"model": "fail_slow", "nodes": 4, "per_node_day": 1, "speed_max": 0.5})") ==
        "/speed_min: is missing; speed_max requires it");
  CHECK(problem(R"({"model": "fail_slow", "nodes": 4, "per_node_day": 1, "speed_min": 0.9,
                    "speed_max": 0.5})") == "/speed_min: must be at most speed_max (0.5), not 0.9");
  CHECK(problem(R"({"model": "fail_slow", "nodes": 4, "per_node_day": 1, "speed_min": 0,
                    "speed_max": 0.5})") == "/speed_min: must be a number from 0.01 to 1, not 0");
  CHECK(problem(R"({"model": "fail_slow", "nodes": 4, "per_node_day": 1, "slowdowns": [2, 0]})") ==
        "/slowdowns/1: must be a number from 0.001 to 100, not 0");
  CHECK(problem(R"({"model": "fail_slow", "nodes": 4, "per_node_day": 1, "slowdowns": 2})") ==
        "/slowdowns: must be an array, each element a number from 0.001 to 100, not 2");
}

TEST_CASE("failures: what acts on the nodes of others needs others") {
  const std::string slow = R"({"model": "fail_slow", "per_node_day": 1, "slowdowns": [2]})";
  const std::string wide = R"({"model": "fail_slow", "nodes": 5, "per_node_day": 1, "slowdowns": [2]})";
  const std::string four = R"({"model": "exponential", "nodes": 4, "mtbf_hours": 9})";
  const std::string fleet =
      R"({"model": "bursts", "kind": "fleet", "nodes": 6, "per_hour": 1, "outage_s": 9})";
  CHECK(problem_of(slow) == "/nodes: is missing, and no other failure model sets the number of nodes");
  CHECK(problem_of("[" + slow + "," + wide + "]") == "");
  CHECK(problem_of("[" + four + "," + wide + "]") ==
        "/1/nodes: is 5, but the other failure models have only 4 nodes");
  CHECK(failures_of("[" + slow + "," + fleet + "]")->nodes() == 6);
  CHECK(problem_of(R"({"model": "fail_slow", "nodes": 2, "per_node_day": 1, "whatif": "w.json"})") ==
        "/whatif: folder/w.json has no workers in slowdown_by_worker");
}

}  // namespace goodput::testing
