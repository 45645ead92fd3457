#include "tests/support/schedule_times.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "models/megatron/megatron_rules.h"
#include "models/megatron/schedule_order.h"
#include "sim/engine/timing.h"

namespace goodput::testing {
namespace {

class GivenValues final : public OpValues {
 public:
  explicit GivenValues(std::vector<double> values) : values_(std::move(values)) {}
  [[nodiscard]] lanes::Values value(OpId op, std::span<double> /*scratch*/) const override {
    return {nullptr, values_[op]};
  }

 private:
  std::vector<double> values_;
};

double pass_time(const Pass& pass, const PassTimes& times) {
  if (pass.kind == Pass::Kind::kForward) return times.forward;
  if (pass.kind == Pass::Kind::kBackwardWeight) return times.weight;
  return pass.splits_weight ? times.backward : times.backward + times.weight;
}

}  // namespace

const PipelineSchedule& schedule_named(std::string_view name) {
  const auto found = find_schedule(name);
  REQUIRE(found);
  return **found;
}

ScheduleTimes schedule_times(const PipelineSchedule& schedule, const ScheduleShape& shape,
                             const PassTimes& times) {
  REQUIRE(schedule.check(shape));
  const megatron::PlannedOps planned = megatron::order_from_schedule(schedule, shape, {});
  const auto spec = megatron::connect(planned.ops, planned.stages);
  REQUIRE(spec);
  const auto graph = OpGraph::build(*spec, [&](std::uint32_t op) { return planned.ops[op].name(); });
  REQUIRE_MESSAGE(graph, (graph ? "" : graph.error().message()));
  const std::int32_t positions_of_stage = schedule.positions(shape) / shape.stages;
  std::map<std::uint32_t, std::pair<std::size_t, double>> passes;  // stage and time, by op of the plan
  for (std::size_t stage = 0; stage < planned.stages.size(); ++stage) {
    for (std::size_t i = 0; i < planned.passes[stage].size(); ++i) {
      const double time = pass_time(planned.passes[stage][i], times) / positions_of_stage;
      passes[planned.stages[stage].compute[i]] = {stage, time};
    }
  }
  std::vector<double> values;
  for (const std::uint32_t op : graph->caller_index())
    values.push_back(passes.contains(op) ? passes[op].second : 0);
  TimingEngine timing(*graph, {1, 1}, {}, TimingEngine::Keep::kAllTimes);
  timing.propagate(GivenValues(values));
  ScheduleTimes result;
  result.step = timing.spans()[0];
  result.first_start.assign(planned.stages.size(), std::numeric_limits<double>::infinity());
  result.last_end.assign(planned.stages.size(), 0);
  for (OpId op = 0; op < graph->size(); ++op) {
    const auto pass = passes.find(graph->caller_index()[op]);
    if (pass == passes.end()) continue;
    double& start = result.first_start[pass->second.first];
    double& end = result.last_end[pass->second.first];
    start = std::min(start, timing.starts(op)[0]);
    end = std::max(end, timing.ends(op)[0]);
  }
  return result;
}

}  // namespace goodput::testing
