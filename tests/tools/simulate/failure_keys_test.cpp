// Every option of every failure model moves something, or is named where it does not.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/failure/failure_models.h"
#include "sim/base/json.h"
#include "tests/tools/simulate/key_effect.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput::testing {
namespace {

Json scenario_of(const Json& failures) {
  return {{"plan", std::string(GOODPUT_CONFIGS) + "/plans/lazarus-gpt-s.json"},
          {"failures", failures},
          {"duration_s", 40'000},
          {"trials", 2},
          {"policies", {{"checkpoint", Json::object()}}}};
}

template <typename T>
std::vector<T> both(std::vector<T> first, const std::vector<T>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

const Settings kGroups = {
    {"bursts/per_1000_node_days", 4000}, {"bursts/group_size", 3}, {"bursts/outage_s", 900}};
const Settings kNoGroups = {
    {"bursts/per_1000_node_days", 0}, {"bursts/group_size", 3}, {"bursts/outage_s", 900}};
const std::vector<KeyWitness> kLives = {
    {"nodes", {8, 10}},
    {"mtbf_hours", {10, 20}},
    {"failures_per_1000_node_days", {1000, 2000}, {{"mtbf_hours", nullptr}}},
    {"repair_s", {10, 2000}},
    {"repair", {"fixed", "exponential"}, {}, {{"repair_s", 0}}},
    {"repair_shape", {0.5, 2}, {{"repair", "weibull"}}, {{"repair", "fixed"}}},
    {"bursts/per_1000_node_days", {2000, 8000}, kGroups},
    {"bursts/group_size", {2, 5}, kGroups, kNoGroups},
    {"bursts/outage_s", {100, 9000}, kGroups, kNoGroups},
};

const std::vector<KeyWitness> kWeibull = both<KeyWitness>(kLives, {
                                                                      {"shape", {0.5, 2}},
                                                                      {"initial_age", {"new", "stationary"}},
                                                                  });

const std::vector<KeyWitness> kHourly = {
    {"nodes", {8, 10}},
    {"initial_nodes", {4, 10}},
    {"loss_probability", {0.1, 0.5}},
    {"return_probability", {0.1, 0.9}},
    {"return_variation", {"constant", "hour_of_day"}, {}, {{"return_probability", 0}}},
    {"boot_s", {0, 3000}, {}, {{"return_probability", 0}}},
};

const Settings kNothingLost = {{"floor_nodes", 10}};
const std::vector<KeyWitness> kInterval = {
    {"nodes", {8, 10}},
    {"every_s", {1000, 3000}},
    {"floor_nodes", {0, 5}},
    {"return_after_s", {100, 5000}, {}, kNothingLost},
    {"victims", {{0, 1}, {8, 9}}, {}, kNothingLost},
};

const Settings kNoBursts = {{"per_hour", 0}};
const std::vector<KeyWitness> kBursts = {
    {"nodes", {8, 10}},
    {"kind", {"rack", "fleet"}, {}, kNoBursts},
    {"group_size", {2, 8}, {}, {{"kind", "fleet"}}},
    {"per_hour", {1, 3}},
    {"outage_s", {10, 1000}},
};

const Settings kNeverSlow = {{"per_node_day", 0}};
const Settings kListed = {{"speed_min", nullptr}, {"speed_max", nullptr}};
const std::vector<KeyWitness> kFailSlow = {
    {"nodes", {8, 10}},
    {"per_node_day", {1, 20}},
    {"speed_min", {0.1, 0.5}, {}, kNeverSlow},
    {"speed_max", {0.5, 0.9}, {}, kNeverSlow},
    {"slowdowns", {Json::array({2}), Json::array({4})}, kListed, both(kListed, kNeverSlow)},
    {"duration_s", {100, 10'000}, {}, kNeverSlow},
    {"duration", {"exponential", "fixed"}, {}, kNeverSlow},
};

// The slow-downs of a what-if analysis.
std::string whatif_of(double slowdown) {
  return Json{{"slowdown_by_worker", {{"0:0", slowdown}}}}.dump();
}

// Counts that leave open whether they are of available nodes, and which are held.
constexpr const char* kCounts = R"({"metadata": {"gap_seconds": 3000, "meaning": "held", "nodes": 10},
                                    "data": [0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 1]})";
constexpr const char* kHole = "t_s,count\n0,9\n3000,5\n6000,\n9000,8\n9500,4\n40000,9\n";
constexpr const char* kProbe = "t_s,probe\n0,9\n3000,5\n9000,8\n9500,4\n40000,9\n";
constexpr const char* kFaults =
    "node,start,end\na,0,10\nb,3000,9000\nc,12000,20000\nd,15000,16000\ne,39000,40000\n";
constexpr const char* kNamed =
    "t_s,event,node\n0,add,a\n0,add,b\n0,add,c\n0,add,d\n0,add,e\n3000,remove,a\n3000,remove,b\n"
    "9000,add,a\n12000,remove,c\n40000,add,c\n";

// Long enough for jobs that start at any moment of it.
constexpr const char* kLong =
    "t_s,event,node\n0,add,a\n0,add,b\n0,add,c\n30000,remove,a\n90000,add,a\n100000,remove,b\n110000,remove,"
    "c\n"
    "150000,add,c\n200000,add,b\n";

struct TraceFiles {
  TemporaryFile named{"named.csv", kNamed};
  TemporaryFile faults{"faults.csv", kFaults};
  TemporaryFile counts{"counts.json", kCounts};
  TemporaryFile hole{"hole.csv", kHole};
  TemporaryFile longer{"long.csv", kLong};
  TemporaryFile probe{"probe.csv", kProbe};
};

std::vector<KeyWitness> trace_witnesses(const TraceFiles& files) {
  const Settings hole = {{"file", files.hole.path()}, {"meaning", "held"}};
  const Settings drops = both<Settings::value_type>(hole, {{"holes", "hold"}});
  const Settings named = {{"file", files.named.path()}};
  const Settings list = {{"cap/rule", "list"}};
  return {
      {"file", {files.named.path(), files.hole.path()}, {{"meaning", "held"}, {"holes", "hold"}}},
      {"fallback",
       {files.named.path(), files.hole.path()},
       both<Settings::value_type>(drops, {{"file", "/not/there.csv"}})},
      {"polarity", {"available", "preempted"}, {{"file", files.counts.path()}}, named},
      {"meaning", {"held", "probe"}, named},
      {"nodes", {6, 10}, {{"file", files.faults.path()}}, named},
      {"from_s", {0, 5000}, named},
      {"to_s", {5000, 30'000}, named},
      {"starts", {"random", "fixed"}, {{"file", files.longer.path()}}},
      {"victims", {"newest", "oldest"}, drops, named},
      {"holes", {"refuse", "hold"}, hole, named},
      {"probe", {"refuse", "replay"}, {{"file", files.probe.path()}}, named},
      {"cap/rule", {"list", "saturate"}, {{"cap/nodes", 2}}},
      {"cap/nodes", {2, 4}, list, {{"cap/names", {"a", "c"}}}},
      {"cap/names", {{"a", "b", "c"}, {"c", "d", "e"}}, list},
  };
}

void check_model(std::string_view name, Json object, const std::vector<KeyWitness>& witnesses) {
  for (const FailureModelInfo& model : failure_models()) {
    if (model.name != name) continue;
    object["model"] = name;
    check_keys(model.make()->fields(), scenario_of(object), "/failures", witnesses);
  }
}

}  // namespace

TEST_CASE("failure keys: a preset moves what nothing beside it says" * doctest::test_suite("release-only")) {
  const TemporaryFile often("often.json", R"({"model": "exponential", "mtbf_hours": 10})");
  const TemporaryFile seldom("seldom.json", R"({"model": "exponential", "mtbf_hours": 40})");
  std::string preset;
  const config::Fields fields = {
      {"preset", config::Need::kOptional, config::text(preset), "a file", [] { return std::string(); }}};
  const std::vector<KeyWitness> witnesses = {
      {"preset", {often.path(), seldom.path()}, {}, {{"model", "exponential"}, {"mtbf_hours", 20}}}};
  check_keys(fields, scenario_of({{"repair_s", 1000}}), "/failures",
             witnesses);  // as many nodes as the job's
}

TEST_CASE("failure keys: each of a model moves something, or is named where it does not" *
          doctest::test_suite("release-only")) {
  check_model("exponential", {{"nodes", 10}, {"mtbf_hours", 20}, {"repair_s", 1000}}, kLives);
  check_model("weibull", {{"nodes", 10}, {"mtbf_hours", 20}, {"repair_s", 1000}, {"shape", 0.7}}, kWeibull);
  check_model("hourly", {{"nodes", 10}, {"loss_probability", 0.2}, {"return_probability", 0.5}}, kHourly);
  check_model("interval", {{"nodes", 10}, {"every_s", 2000}}, kInterval);
  check_model("bursts", {{"nodes", 10}, {"group_size", 4}, {"per_hour", 1}, {"outage_s", 500}}, kBursts);
  const TemporaryFile mild("mild.json", whatif_of(1.5));
  const TemporaryFile severe("severe.json", whatif_of(3));
  check_model("fail_slow", {{"nodes", 10}, {"per_node_day", 10}, {"speed_min", 0.4}, {"speed_max", 0.6}},
              both<KeyWitness>({{"whatif", {mild.path(), severe.path()}, kListed, both(kListed, kNeverSlow)}},
                               kFailSlow));
  const TraceFiles files;
  check_model("trace", {{"file", files.named.path()}}, trace_witnesses(files));
}

TEST_CASE("failure keys: every model is looked at") {
  // The list above, by hand.
  std::string names;
  for (const FailureModelInfo& model : failure_models()) names += std::string(model.name) + ' ';
  CHECK(names == "trace exponential weibull hourly interval bursts fail_slow ");
}

}  // namespace goodput::testing
