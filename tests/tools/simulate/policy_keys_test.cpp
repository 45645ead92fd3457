// Every option of every policy moves something, or is named where it does not.
#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/policy/policy.h"
#include "sim/base/json.h"
#include "tests/tools/simulate/key_effect.h"

namespace goodput::testing {
namespace {

// Nodes are lost one by one and eight at a time, come back, and are slow now and then.
Json eventful(std::string_view policy) {
  const bool has_spares = policy == "gemini" || policy == "hot_spare";
  return {{"plan", measured_plan()},
          {"routing", {{"skew", 1}}},
          {"failures",
           {{{"model", "interval"}, {"nodes", 10}, {"every_s", 310}, {"return_after_s", 200}},
            {{"model", "bursts"}, {"group_size", 8}, {"per_hour", 4}, {"outage_s", 100}},
            {{"model", "fail_slow"}, {"per_node_day", 50}, {"speed_min", 0.3}, {"speed_max", 0.6}}}},
          {"duration_s", 3600},
          {"trials", 2},
          {"policies", {{std::string(policy), has_spares ? Json{{"nodes", 6}} : Json::object()}}}};
}

const Settings kNoSaves = {{"checkpoint/interval_steps", 0}};
const Settings kYoung = {{"checkpoint/interval", "young"}, {"checkpoint/mtbf_hours", 1}};
const Settings kYoungSync = {{"checkpoint/interval", "young"}, {"checkpoint/mode", "sync"}};
const Settings kSaves = {{"checkpoint/interval_steps", 20}};
const Settings kAsync = {{"checkpoint/interval_steps", 5}, {"checkpoint/mode", "async"}};
const Settings kSync = {{"checkpoint/mode", "sync"}, {"checkpoint/interval_steps", 0}};
const Settings kNoneSlow = {
    {"/failures", {{"model", "interval"}, {"nodes", 10}, {"every_s", 310}, {"return_after_s", 200}}}};

// Experts change their loads twice in the hour.
const Settings kChanging = {
    {"/routing", {{"model", std::string(GOODPUT_CONFIGS) + "/routing/smartmoe-like.json"}}}};
const Settings kStill = {{"/routing", {{"skew", 1}}}};
Settings dense() {
  return {{"/plan", dense_plan()}, {"/routing", nullptr}};
}
Settings joined(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

// The first that is of a key counts: those of single policies come before.
std::vector<KeyWitness> witnesses_of(std::string_view policy) {
  std::vector<KeyWitness> witnesses;
  if (policy == "lazarus")
    witnesses = {
        {"gather_s", {10, 200}},
        {"migration/detect_s", {15, {{"uniform", {14, 16}}}}},
        {"migration/regroup_s", {10, {{"uniform", {9, 11}}}}},
    };
  if (policy == "ds_ft" || policy == "tutel_ft") {
    // Nodes that join get shards from others.
    witnesses = {
        KeyWitness::of_idle("migration/plan_s", {0, 5}),
        {"migration/transfer_setup_s", {0, 5}, {{"absorb", "gathered"}}},
        {"migration/node_gb_per_s", {0.1, 10}, {{"absorb", "gathered"}}},
    };
  }
  if (policy == "gemini" || policy == "hot_spare") {
    witnesses = {KeyWitness::of_idle("absorb", {"at_restart", "gathered"}),
                 KeyWitness::of_idle("gather_s", {10, 200})};
  }
  if (policy == "gemini") {
    witnesses.push_back({"spares", {"cold", "hot"}});
    witnesses.push_back({"swap_s", {5, 50}, {{"spares", "hot"}}, {{"spares", "cold"}}});
  }
  if (policy == "megatron") {
    const Settings moves = joined(kChanging, {{"rebalance_steps", 50}});
    witnesses = {
        {"ep", {2, 4}, {}, dense()},
        {"moe_speedup", {1, 2}, {}, dense()},
        {"balance", {"none", "eplb"}, {}, dense()},
        {"redundant_slots", {0, 1}, {}, {{"balance", "none"}}},
        {"expert_groups", {1, 2}, {}, {{"balance", "none"}}},
        {"absorb", {"at_restart", "gathered"}, {}, {{"nodes", 6}}},
        {"gather_s", {10, 200}, {{"absorb", "gathered"}}, {{"nodes", 6}}},
        KeyWitness::of_idle("migration/detect_s", {5, 50}),
        KeyWitness::of_idle("migration/regroup_s", {5, 50}),
        {"migration", {{{"plan_s", 0}}, {{"plan_s", 5}}}, moves, kStill},
        {"migration/plan_s", {0, 5}, moves, kStill},
        {"migration/transfer_setup_s", {0, 5}, moves, kStill},
        {"migration/node_gb_per_s", {0.1, 10}, moves, kStill},
        {"memory_replicas", {0, 2}},
        {"memory_interval_steps", {1, 100}, {}, {{"memory_replicas", 0}}},
        {"memory_stall_s", {0, 0.1}, {}, {{"memory_replicas", 0}}},
        {"memory_gb_per_s", {0.1, 10}, {}, {{"memory_replicas", 0}}},
        {"restart_in_place", {true, false}},
        {"spares", {"cold", "hot"}, {}, {{"restart_in_place", false}}},
        {"swap_s", {5, 50}, {}, {{"restart_in_place", false}}},
    };
  }
  if (policy == "elastic_dp") {
    witnesses = {
        KeyWitness::of_idle("migration/plan_s", {0, 5}),
    };
  }
  // A dense model has no groups of experts, and a policy of such groups no dense model.
  const bool groups = std::set<std::string_view>{"ds", "ds_ft", "tutel", "tutel_ft", "pec"}.contains(policy);
  witnesses.push_back({"dispatch", {"padded", "dropless"}, {}, groups ? Settings{} : dense()});
  const std::vector<KeyWitness> all = {
      {"restart/detect_s", {5, 50}},
      {"restart/startup_s", {10, 100}},
      {"checkpoint/interval", {"fixed", "young"}, {{"checkpoint/mtbf_hours", 1}}},
      {"checkpoint/interval_steps", {10, 100}, {}, kYoung},
      {"checkpoint/mtbf_hours", {0.1, 10}, kYoungSync, kSaves},
      {"checkpoint/mode", {"sync", "async"}, kSaves, kNoSaves},
      {"checkpoint/write_gb_per_s", {0.5, 5}, kSaves, kNoSaves},
      {"checkpoint/read_gb_per_s", {0.5, 5}},
      {"checkpoint/snapshot_gb_per_s", {0.01, 10}, kAsync, kSync},
      {"checkpoint/storage_duty", {1e-6, 1}, kSaves, kNoSaves},
      {"checkpoint/bytes_per_parameter", {2, 28}},
      {"slow_nodes/action", {"keep", "evict"}, {}, kNoneSlow},
      {"slow_nodes/threshold", {0.2, 0.9}, {{"slow_nodes/action", "evict"}}, {{"slow_nodes/action", "keep"}}},
      {"absorb", {"at_restart", "gathered"}},
      {"gather_s", {10, 200}, {{"absorb", "gathered"}}, {{"absorb", "at_restart"}}},
      {"step_overhead_s", {0, 0.1}},
      {"tier", {"measured", "assumed"}},
      {"ep", {2, 4}},
      {"moe_speedup", {1, 2}},
      {"k_snapshot", {1, 8}, kAsync, kNoSaves},
      {"k_persist",
       {1, 4},
       {{"k_snapshot", 4}, {"checkpoint/interval_steps", 5}},
       {{"k_snapshot", 4}, kNoSaves[0]}},
      {"selection", {"sequential", "load-aware"}, {{"k_snapshot", 2}}, {{"k_snapshot", 8}, {"k_persist", 8}}},
      {"sharding", {"none", "adps"}, {{"checkpoint/mode", "sync"}}, kNoSaves},
      {"dynamic_k", {false, true}, {}, {{"k_snapshot", 8}, {"k_persist", 8}}},
      {"plt_limit", {0, 1}, {{"dynamic_k", true}, {"checkpoint/interval_steps", 5}}, {{"dynamic_k", false}}},
      {"nodes", {4, 6}},
      {"replicas", {1, 2}},
      {"memory_interval_steps", {1, 100}},
      {"memory_stall_s", {0, 0.1}},
      {"memory_gb_per_s", {0.1, 10}, {}, {{"replicas", 1}}},
      {"swap_s", {5, 50}},
      {"nodes_per_pipeline", {1, 2}},
      {"nodes_per_replica", {2, 4}},
      {"rejoin_s", {10, 100}},
      {"catch_up", {"beside", "stop"}},
      {"migration/detect_s", {5, 50}},
      {"migration/regroup_s", {5, 50}},
      {"migration/plan_s", {0, 5}},
      {"migration/overlap", {false, true}},
      {"migration/dense_state", {false, true}},
      {"migration/transfer_setup_s", {0, 5}},
      {"migration/node_gb_per_s", {0.1, 10}},
      {"slots_per_gpu", {4, 6}},
      {"allocation", {"eq1", "balanced"}},
      {"plan", {"mro", "compact"}},
      {"min_replicas", {1, 4}},
      {"mapping", {"greedy", "optimal"}},
      {"rebalance_steps", {0, 50}, kChanging, kStill},
  };
  witnesses.insert(witnesses.end(), all.begin(), all.end());
  return witnesses;
}

}  // namespace

TEST_CASE("policy keys: each moves something, or is named where it does not" *
          doctest::test_suite("release-only")) {
  for (const PolicyInfo& policy : recovery_policies()) {
    const std::unique_ptr<PolicySetup> setup = policy.make();
    check_keys(setup->fields({}), eventful(policy.name), "/policies/" + std::string(policy.name),
               witnesses_of(policy.name));
  }
}

TEST_CASE("policy keys: the same of lazarus on a plan with pipeline stages" *
          doctest::test_suite("release-only")) {
  Json scenario = eventful("lazarus");
  Json& parallel = scenario["plan"]["parallel"];
  parallel["pp"] = 2;
  parallel["dp"] = 5;
  parallel["ep"] = 1;
  const std::unique_ptr<PolicySetup> setup = find_policy("lazarus")->make();
  check_keys(setup->fields({}), scenario, "/policies/lazarus", witnesses_of("lazarus"));
}

}  // namespace goodput::testing
