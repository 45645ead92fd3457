// Failure models that go by a name: what the shipped ones say, what stands beside the name, what is refused.
#include "models/failure/failure_presets.h"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/json.h"
#include "tests/models/failure/failure_stream.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput::testing {
namespace {

const std::string kFolder = std::string(GOODPUT_CONFIGS) + "/failures/";

struct ReadFailures {
  std::vector<FailureConfig> failures{};
  std::optional<Tier> tier{};
  std::vector<std::string> unused{};  // pointers
};

Result<ReadFailures> try_read(const Json& value) {
  const config::Library library{{GOODPUT_CONFIGS}};
  std::vector<config::GivenKey> given;
  config::Place place{"folder/job.json", "/failures", {}, &library, nullptr, &given};
  ReadFailures read;
  GOODPUT_TRY_STATUS(failures_value(read.failures).read(value, place));
  read.tier = place.tier;
  for (const config::KeyNote& key : config::key_notes(given)) read.unused.push_back(key.pointer);
  return read;
}
ReadFailures read(const Json& value) {
  Result<ReadFailures> read = try_read(value);
  REQUIRE_MESSAGE(read, (read ? "" : read.error().message()));
  return *std::move(read);
}
std::string problem(const Json& value) {
  const Result<ReadFailures> read = try_read(value);
  return read ? "" : read.error().message();
}
Json written(const ReadFailures& read) {
  FailureConfig first = read.failures.at(0);
  return config::write(config_fields(first));
}

}  // namespace

TEST_CASE("failure presets: the shipped ones have the published rates and a day of repair") {
  // Kokolis et al., arXiv 2410.21680: 6.50 and 2.34 failures per 1000 node-days. The Llama 3 paper, arXiv
  // 2407.21783, section 3.3.4: 419 unexpected interruptions in 54 days on 16,384 GPUs, to the digits given.
  const std::vector<std::pair<std::string, double>> rates = {
      {"rsc-1", 6.5}, {"rsc-2", 2.34}, {"llama3", std::round(1e5 * 419 / (54 * 2048.)) / 100}};
  for (const auto& [of, rate] : rates) {
    const std::string name = of;
    CAPTURE(name);
    const Json preset = written(read({{"preset", name}}));
    CHECK(preset == Json{{"model", "exponential"},
                         {"nodes", 0},
                         {"failures_per_1000_node_days", rate},
                         {"repair_s", 86400.0},
                         {"repair", "exponential"}});
    CHECK(read({{"preset", name}}).tier == Tier::kAssumed);  // the repair is
  }
}

TEST_CASE("failure presets: a preset is what its object says, and its draws are those") {
  const Json whole = {{"model", "exponential"},
                      {"nodes", 50},
                      {"failures_per_1000_node_days", 6.5},
                      {"repair_s", 86400},
                      {"repair", "exponential"}};
  const ReadFailures named = read({{"preset", "rsc-1"}, {"nodes", 50}});
  const auto model = make_failure_model(named.failures, {}, 1, 0);
  REQUIRE(model);
  CHECK(check_stream(**model, at_s(1e7)) == events_of(whole.dump(), 1e7));
}

TEST_CASE("failure presets: keys beside the name replace those of the file, in arrays too") {
  CHECK(written(read({{"preset", "rsc-2"}, {"repair_s", 60}, {"repair", "fixed"}, {"nodes", 7}})) ==
        Json{{"model", "exponential"},
             {"nodes", 7},
             {"failures_per_1000_node_days", 2.34},
             {"repair_s", 60.0},
             {"repair", "fixed"}});
  // Another model, of the same rate.
  const Json weibull = written(read({{"preset", "rsc-2"}, {"model", "weibull"}, {"shape", 0.7}}));
  CHECK(weibull.at("model") == "weibull");
  CHECK(weibull.at("failures_per_1000_node_days") == 2.34);
  const ReadFailures both =
      read({{{"preset", "llama3"}, {"nodes", 5}},
            {{"model", "bursts"}, {"kind", "fleet"}, {"per_hour", 1}, {"outage_s", 9}}});
  REQUIRE(both.failures.size() == 2);
  CHECK(both.failures[0].preset()->source.file == kFolder + "llama3.json");
  CHECK(!both.failures[1].preset());
  CHECK(both.tier == Tier::kAssumed);
}

TEST_CASE("failure presets: tiers of the file and of an array's elements are those of the whole") {
  CHECK(!read({{"model", "exponential"}, {"mtbf_hours", 9}}).tier);
  const Json literature = {{"model", "exponential"}, {"mtbf_hours", 9}, {"tier", "literature"}};
  const Json measured = {{"model", "exponential"}, {"mtbf_hours", 9}, {"tier", "measured"}};
  CHECK(read(literature).tier == Tier::kLiterature);
  CHECK(read({measured, literature}).tier == Tier::kLiterature);
  // Beside a preset it is of what stands there.
  CHECK(read({{"preset", "rsc-1"}, {"tier", "measured"}}).tier == Tier::kAssumed);
}

TEST_CASE("failure presets: nothing of the file is named as unused, but the name that moves nothing is") {
  CHECK(read({{"preset", "rsc-1"}}).unused.empty());
  // Without repair times their distribution, which the file has, is idle.
  CHECK(read({{"preset", "rsc-1"}, {"repair_s", 0}}).unused.empty());
  CHECK(read({{"preset", "rsc-1"}, {"repair_s", 0}, {"repair", "fixed"}}).unused ==
        std::vector<std::string>{"/failures/repair"});
  CHECK(read({{"preset", "rsc-1"},
              {"model", "exponential"},
              {"failures_per_1000_node_days", 1},
              {"repair_s", 1},
              {"repair", "fixed"}})
            .unused == std::vector<std::string>{"/failures/preset"});
  const ReadFailures idle = read({{"preset", "rsc-1"}, {"repair_s", 0}, {"repair", "fixed"}});
  const config::KeyNotes again = key_notes(idle.failures.at(0), {"s.json", "/failures", {}});
  REQUIRE(again.size() == 1);
  CHECK(again[0].pointer == "/failures/repair");
}

TEST_CASE("failure presets: what is wrong is named with its place") {
  CHECK(problem({{"preset", 3}}) ==
        "folder/job.json /failures/preset: must be the name of a file in failures/, not 3");
  CHECK(problem({{"preset", "rcs-1"}})
            .starts_with("folder/job.json /failures/preset: no failure preset "
                         "\"rcs-1\"; did you mean \"rsc-1\"?"));
  CHECK(problem({{"preset", "x/mine.json"}}) ==
        "folder/job.json /failures/preset: no such file: \"folder/x/mine.json\"");
  CHECK(problem({{"preset", "rsc-1"}, {"repairs", 3}}) ==
        "folder/job.json /failures/repairs: unknown key; did you mean \"repair_s\"? (with the other keys "
        "from the preset " +
            kFolder + "rsc-1.json)");
  CHECK(problem({{"preset", "rsc-1"}, {"mtbf_hours", 3}}) ==
        "folder/job.json /failures/failures_per_1000_node_days: is given, but mtbf_hours also sets the "
        "failure rate; give only one of the two keys (with the other keys from the preset " +
            kFolder + "rsc-1.json)");
}

TEST_CASE("failure presets: a file of one's own is read by its path, and its mistakes are its own") {
  const TemporaryFile good("good.json", R"({"model": "interval", "every_s": 60})");
  CHECK(read({{"preset", good.path()}, {"nodes", 4}}).failures.at(0).model().name == "interval");
  const TemporaryFile bad("bad.json", R"({"model": "interval", "every_s": -60})");
  CHECK(problem({{"preset", bad.path()}}) ==
        bad.path() + " /every_s: must be a number from 0.001 to 1000000000, not -60");
  const TemporaryFile list("list.json", "[]");
  CHECK(problem({{"preset", list.path()}}) ==
        list.path() + ": must be a failure model: {\"model\": ..., ...}");
  const TemporaryFile trace("trace.json", R"({"model": "trace", "file": "spot.csv"})");
  CHECK(problem({{"preset", trace.path()}}) ==
        trace.path() +
            " /file: names a file, but a preset must not, because scenarios in other folders use the preset; "
            "remove this key");
}

TEST_CASE("failures: a model that is told of no nodes wants to know how many there are") {
  for (const char* const model :
       {R"({"model": "exponential", "mtbf_hours": 9})",
        R"({"model": "weibull", "shape": 2, "mtbf_hours": 9})",
        R"({"model": "interval", "every_s": 9, "floor_nodes": 3})",
        R"({"model": "hourly", "initial_nodes": 2, "loss_probability": 0, "return_probability": 0})"}) {
    CHECK(problem_of(model) == "/nodes: is missing; set the number of nodes");
    auto configs = testing::read_failures(model);
    REQUIRE(configs);
    configs->front().setup().set_default_nodes(6);
    REQUIRE(config_finish(configs->front()));
    const auto made = make_failure_model(*configs, {}, 1, 0);
    REQUIRE(made);
    CHECK((*made)->nodes() == 6);
    configs->front().setup().set_default_nodes(8);  // settled
    CHECK((*make_failure_model(*configs, {}, 1, 0))->nodes() == 6);
  }
}

}  // namespace goodput::testing
