#include "tools/simulate/recorded_run.h"

#include <memory>
#include <optional>
#include <utility>

#include "models/scenario/pools.h"

namespace goodput {
namespace {

SimTime end_of(const JobLog& log) {
  for (auto instant = log.instants.rbegin(); instant != log.instants.rend(); ++instant) {
    if (instant->kind == JobInstant::Kind::kEnd) return instant->time;
  }
  GOODPUT_CHECK(false, "a recorded run has no end");
  return {};
}

// What happens to nodes does not depend on the job, so it can be asked again.
Result<std::vector<NodeEvent>> events_until(SimTime end, const Scenario& scenario,
                                            const SimulationInputs& inputs, std::uint64_t seed,
                                            std::uint64_t trial) {
  GOODPUT_TRY(const auto failures, make_failures(scenario, inputs.failures, seed, trial));
  std::vector<NodeEvent> events;
  while (const std::optional<NodeEvent> event = failures->next()) {
    if (event->time >= end && event->time > SimTime{}) break;
    events.push_back(*event);
  }
  return events;
}

}  // namespace

std::map<SimTime, std::int32_t> RecordedRun::nodes_held() const {
  std::map<SimTime, std::int32_t> held = {{SimTime{}, 0}};
  std::int32_t count = 0;
  for (const NodeEvent& event : events) {
    if (event.kind == NodeEvent::Kind::kSpeed) continue;
    count += event.kind == NodeEvent::Kind::kAdd ? 1 : -1;
    held[event.time] = count;
  }
  return held;
}

Result<std::vector<RecordedRun>> record_runs(const Scenario& scenario, const SimulationInputs& inputs,
                                             std::uint64_t seed, std::uint64_t trial) {
  std::vector<RecordedRun> runs;
  for (const ScenarioPolicy& policy : scenario.policies) {
    RecordedRun& run = runs.emplace_back();
    run.policy = policy.name;
    GOODPUT_TRY(run.log, record_run(scenario, inputs, policy, seed, trial));
    run.end = end_of(run.log);
    GOODPUT_TRY(run.events, events_until(run.end, scenario, inputs, seed, trial));
  }
  return runs;
}

}  // namespace goodput
