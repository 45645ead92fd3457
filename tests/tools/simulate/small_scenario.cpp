#include "tests/tools/simulate/small_scenario.h"

#include <nlohmann/json.hpp>
#include <string>

namespace goodput::testing {

nlohmann::json small_scenario() {
  const std::string configs = GOODPUT_CONFIGS;
  return {{"plan", configs + "/plans/lazarus-gpt-s.json"},
          {"routing", {{"model", configs + "/routing/smartmoe-like.json"}}},
          {"failures", {{"model", "interval"}, {"nodes", 10}, {"every_s", 300}, {"floor_nodes", 5}}},
          {"duration_s", 900},
          {"policies", {{"lazarus", nlohmann::json::object()}, {"ds", nlohmann::json::object()}}}};
}

}  // namespace goodput::testing
