// A planned step as work for the event-driven engine.
#include <algorithm>
#include <vector>

#include "models/step/planned_step.h"

namespace goodput {
namespace {

std::uint32_t stages_of(const PlannedStep& step) {
  std::int16_t last = 0;
  for (const StepOp& op : step.ops) last = std::max(last, op.op.stage);
  return static_cast<std::uint32_t>(last) + 1;
}

// Turns what goes through NICs into flows.
class FlowMaker {
 public:
  FlowMaker(const PlannedStep& step, BytesPerSecond nic)
      : step_(step),
        nic_(nic),
        lanes_(static_cast<std::uint32_t>(step.lanes.lanes())),
        stages_(stages_of(step)) {}

  StepWork make() && {
    work_ = step_work(step_);
    work_.flow_of.assign(work_.durations.size(), kNoFlow);
    work_.links.assign(std::size_t{2} * stages_ * lanes_, nic_);
    for (const OpGraph::Unit& unit : step_.graph.units()) {
      // A whole pass computes as well: what it communicates shows layer by layer only.
      const bool is_transfer = step_.ops[unit.first].is_communication();
      if (is_transfer && step_.nic_bytes[step_.row_of[unit.first]] > 0) add_flows(unit);
    }
    return std::move(work_);
  }

 private:
  [[nodiscard]] LinkId out_of(OpId op, std::uint32_t lane) const {
    return 2 * (static_cast<std::uint32_t>(step_.ops[op].op.stage) + lane * stages_);
  }
  [[nodiscard]] LinkId into(OpId op, std::uint32_t lane) const { return out_of(op, lane) + 1; }

  // A message leaves the sender's NIC and enters the receiver's; of a collective every GPU sends and
  // receives.
  void add_flows(const OpGraph::Unit& unit) {
    const bool is_pair = is_message(step_.ops[unit.first].op.type) && unit.count == 2;
    for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
      for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
        if (is_pair && op != unit.first) {
          work_.flow_of[op * lanes_ + lane] = work_.flow_of[unit.first * lanes_ + lane];
          continue;
        }
        const OpId receiver = is_pair ? unit.first + 1 : op;
        const bool first_sends = step_.ops[op].op.type == OpType::kForwardSend ||
                                 step_.ops[op].op.type == OpType::kBackwardSend || !is_pair;
        add_flow(op, lane, first_sends ? op : receiver, first_sends ? receiver : op);
      }
    }
  }

  // Alone it takes exactly what the op's row says: what the bytes do not account for comes in front, and
  // where the row is shorter than its bytes (a tree, a calibrated table) there are fewer of them.
  void add_flow(OpId op, std::uint32_t lane, OpId sender, OpId receiver) {
    const SimDuration alone = work_.durations[op * lanes_ + lane];
    Flow flow;
    flow.size = Bytes{static_cast<std::int64_t>(
        std::min(step_.nic_bytes[step_.row_of[op]], to_seconds(alone) * nic_.value))};
    flow.latency = std::max(SimDuration{}, alone - flow.size / nic_);
    flow.first_link = static_cast<std::uint32_t>(work_.routes.size());
    flow.link_count = 2;
    work_.routes.push_back(out_of(sender, lane));
    work_.routes.push_back(into(receiver, lane));
    work_.flow_of[op * lanes_ + lane] = static_cast<FlowId>(work_.flows.size());
    work_.flows.push_back(flow);
  }

  const PlannedStep& step_;
  BytesPerSecond nic_;
  std::uint32_t lanes_;
  std::uint32_t stages_;
  StepWork work_;
};

}  // namespace

StepWork step_work(const PlannedStep& step) {
  StepWork work;
  work.durations.reserve(step.ops.size() * step.lanes.lanes());
  for (OpId op = 0; op < step.ops.size(); ++op) {
    for (const double value : step.row(op).first(step.lanes.lanes())) {
      work.durations.push_back(SimDuration{static_cast<std::int64_t>(value)});
    }
  }
  return work;
}

Workers step_workers(const PlannedStep& step) {
  Workers workers;
  for (const StepOp& op : step.ops) workers.of_op.push_back(static_cast<WorkerId>(op.op.stage));
  workers.per_lane = stages_of(step);
  return workers;
}

StepWork step_work_over_nics(const PlannedStep& step, BytesPerSecond nic) {
  return FlowMaker(step, nic).make();
}

}  // namespace goodput
