// The scenarios that a plan's question comes to.
#include "models/planner/question_scenario.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/tools/plan/small_question.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/simulate/scenario_inputs.h"

namespace goodput {
namespace {

// 130 nodes that come at once, of which one is away from time to time.
std::string recording_of_130() {
  std::string text = "t_s,event,node\n";
  for (int node = 0; node < 130; ++node) text += "0,add,n" + std::to_string(node) + '\n';
  for (int i = 0; i < 40; ++i) {
    text += std::to_string(3600 + 7200 * i) + ",remove,n" + std::to_string(3 * i) + '\n';
    text += std::to_string(7200 + 7200 * i) + ",add,n" + std::to_string(3 * i) + '\n';
  }
  return text;
}

NodeId most_nodes_at_once(FailureModel& model) {
  NodeId held = 0;
  NodeId most = 0;
  while (const auto event = model.next()) {
    held += event->kind == NodeEvent::Kind::kAdd ? 1 : event->kind == NodeEvent::Kind::kRemove ? -1 : 0;
    most = std::max(most, held);
  }
  return most;
}

// Nodes that are paid for at the most, of each pool.
std::vector<NodeId> paid_nodes(const PlanQuestion& question, std::int32_t spares, std::int32_t spot) {
  ParallelPlan parallel = question.plan.parallel;
  parallel.dp = 128;
  parallel.tp = 8;
  auto scenario = question_scenario(question, {parallel, spares, spot}, {}, from_seconds(40 * 86400.0));
  REQUIRE_MESSAGE(scenario, scenario.error().message());
  auto inputs = read_scenario_inputs(*scenario, 7);
  REQUIRE_MESSAGE(inputs, inputs.error().message());
  const SimulationInputs view = inputs->view();
  std::vector<NodeId> paid;
  for (std::uint64_t trial = 0; trial < 3; ++trial) {
    auto pools = make_pool_failures(*scenario, view.failures, 7, trial);
    REQUIRE(pools);
    paid.resize(pools->size());
    for (std::size_t i = 0; i < pools->size(); ++i) {
      const PricedNodes& pool = view.pools[i];
      const NodeId held = most_nodes_at_once(*(*pools)[i]);
      CHECK(held <= pool.reserved());
      paid[i] = std::max(paid[i], pool.billing == Billing::kReserved ? pool.reserved() : held);
    }
  }
  return paid;
}

PlanQuestion question_with(const std::string& failures, const std::string& billing) {
  return small_question({{"/model", "llama3-8b"},
                         {"/gpus", "1024"},
                         {"/batch", "1024"},
                         {"/failures", failures},
                         {"/billing", billing}});
}

}  // namespace

TEST_CASE("question scenario: of a recording of 130 nodes a job pays for those it holds only") {
  const TemporaryFile file("spot.csv", recording_of_130());
  const std::string recording = R"({"model": "trace", "file": ")" + file.path() + R"("})";
  for (const char* const billing : {"held", "reserved"}) {
    const PlanQuestion question = question_with(recording, billing);
    for (const std::int32_t spares : {0, 1, 2})
      CHECK(paid_nodes(question, spares, 0) == std::vector<NodeId>{128 + spares});
    CHECK(paid_nodes(question, 4, 0) == std::vector<NodeId>{130});  // there are no more
  }
}

TEST_CASE("question scenario: a recording's own cap stays where it has fewer nodes") {
  const TemporaryFile file("spot.csv", recording_of_130());
  const auto recording = [&file](int nodes) {
    return R"({"model": "trace", "file": ")" + file.path() + R"(", "cap": {"rule": "first_seen", "nodes": )" +
           std::to_string(nodes) + "}}";
  };
  CHECK(paid_nodes(question_with(recording(100), "held"), 0, 0) == std::vector<NodeId>{100});
  CHECK(paid_nodes(question_with(recording(129), "held"), 0, 0) == std::vector<NodeId>{128});
}

TEST_CASE("question scenario: the reserved pool and the market share out the nodes, recorded or not") {
  const TemporaryFile file("spot.csv", recording_of_130());
  const std::string recording = R"({"model": "trace", "file": ")" + file.path() + R"("})";
  const PlanQuestion question = small_question(
      {{"/model", "llama3-8b"},
       {"/gpus", "1024"},
       {"/batch", "1024"},
       {"/failures", recording},
       {"/spot", R"({"usd_per_node_hour": 10, "nodes": [48], "failures": )" + recording + "}"}});
  CHECK(paid_nodes(question, 1, 48) == std::vector<NodeId>{81, 48});
}

}  // namespace goodput
