#include "tests/tools/simulate/small_scenario.h"

#include <string>

#include "sim/base/json.h"

namespace goodput::testing {

Json small_scenario() {
  const std::string configs = GOODPUT_CONFIGS;
  return {{"plan", configs + "/plans/lazarus-gpt-s.json"},
          {"routing", {{"model", configs + "/routing/smartmoe-like.json"}}},
          {"failures", {{"model", "interval"}, {"nodes", 10}, {"every_s", 300}, {"floor_nodes", 5}}},
          {"duration_s", 900},
          {"policies", {{"lazarus", Json::object()}, {"ds", Json::object()}}}};
}

}  // namespace goodput::testing
