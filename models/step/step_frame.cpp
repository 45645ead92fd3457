#include "models/step/step_frame.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "models/megatron/megatron_rules.h"
#include "models/step/gpu_parameters.h"
#include "sim/engine/timing.h"

namespace goodput {
namespace {

using megatron::OpIndex;
using megatron::PlannedOps;

// The graph of whole passes. A pass of a pair has three nodes: the paths to its own end and to its partner's,
// and, under the pass's own number, its end.
class FrameBuilder {
 public:
  FrameBuilder(const PlannedOps& planned, const StepLayout& layout) : planned_(planned), layout_(layout) {}

  void build(const OpGraphSpec& coarse) {
    entries_.resize(planned_.ops.size());
    for (std::size_t stage = 0; stage < planned_.stages.size(); ++stage) add_passes(stage);
    for (OpIndex op = 0; op < planned_.ops.size(); ++op) {
      if (is_pass(planned_.ops[op].type)) continue;
      entries_[op] = layout_.entry_of(cost_of(planned_.ops[op], layout_.positions()));
    }
    whole_entries_ = entries_;
    for (std::size_t stage = 0; stage < planned_.stages.size(); ++stage) add_pairs(stage);
    if (pairs_.empty())
      spec_.edges = coarse.edges;
    else
      for (const auto& [before, op] : coarse.edges) connect(before, op);
    spec_.groups = coarse.groups;
    spec_.op_count = entries_.size();
  }

  [[nodiscard]] const OpGraphSpec& spec() const { return spec_; }
  [[nodiscard]] const std::vector<std::size_t>& entries() const { return entries_; }  // by node
  // By op of the plan, of passes as a whole.
  [[nodiscard]] const std::vector<std::size_t>& whole_entries() const { return whole_entries_; }

 private:
  struct Paired {
    OpIndex partner = 0;
    bool is_first = false;
    std::array<std::uint32_t, 2> paths{};  // the nodes that wait for what the pass waits for
  };

  [[nodiscard]] std::int32_t position_of(OpIndex op) const {
    return planned_.ops[op].gmc % layout_.positions();
  }
  void add_passes(std::size_t stage) {
    const std::vector<OpIndex>& compute = planned_.stages[stage].compute;
    for (std::size_t i = 0; i < compute.size(); ++i)
      entries_[compute[i]] = layout_.entry_of(planned_.passes[stage][i], position_of(compute[i]));
  }

  void add_pairs(std::size_t stage) {
    const std::vector<OpIndex>& compute = planned_.stages[stage].compute;
    for (std::size_t i = 0; i + 1 < compute.size(); ++i) {
      if (!planned_.passes[stage][i].overlaps_next) continue;
      const std::array<OpIndex, 2> passes = {compute[i], compute[i + 1]};
      const std::size_t lengths = layout_.entry_of_pair(position_of(passes[0]), position_of(passes[1]));
      std::array<Paired, 2> pair = {Paired{passes[1], true}, Paired{passes[0], false}};
      for (std::size_t from = 0; from < 2; ++from) {
        for (std::size_t to = 0; to < 2; ++to) {
          const auto node = static_cast<std::uint32_t>(entries_.size());
          entries_.push_back(lengths + 2 * from + to);
          pair[from].paths[to] = node;
          spec_.edges.emplace_back(node, passes[to]);
        }
      }
      for (std::size_t k = 0; k < 2; ++k) {
        entries_[passes[k]] = layout_.entry_of(OpCost{});
        pairs_.emplace(passes[k], pair[k]);
      }
    }
  }

  // Passes of a pair do not wait for each other as a whole; whom the first waits for both wait for, and who
  // waits for the second waits for both (StepBuilder has the same, part by part).
  void connect(OpIndex before, OpIndex op) {
    const auto partner_before = pairs_.find(before);
    const auto partner = pairs_.find(op);
    const bool are_passes = is_pass(planned_.ops[before].type) && is_pass(planned_.ops[op].type);
    if (are_passes && partner_before != pairs_.end() && partner_before->second.is_first) return;  // the pair
    std::vector<std::uint32_t> ends = {before};
    if (are_passes && partner_before != pairs_.end()) ends.push_back(partner_before->second.partner);
    for (const std::uint32_t end : ends) {
      begin_after(op, end);
      if (are_passes && partner != pairs_.end()) begin_after(partner->second.partner, end);
    }
  }
  void begin_after(OpIndex op, std::uint32_t end) {
    const auto paired = pairs_.find(op);
    if (paired == pairs_.end()) {
      spec_.edges.emplace_back(end, op);
      return;
    }
    for (const std::uint32_t path : paired->second.paths) spec_.edges.emplace_back(end, path);
  }

  const PlannedOps& planned_;
  const StepLayout& layout_;
  std::vector<std::size_t> entries_;
  std::vector<std::size_t> whole_entries_;
  std::map<OpIndex, Paired> pairs_;  // by pass
  OpGraphSpec spec_;
};

// A lane a plan: the values of an entry stand side by side.
class FrameValues final : public OpValues {
 public:
  FrameValues(std::span<const std::vector<double>> plans, std::size_t stride,
              const std::vector<std::uint32_t>& entry_of)
      : stride_(stride), entry_of_(entry_of), rows_(plans.front().size() * stride) {
    for (std::size_t lane = 0; lane < plans.size(); ++lane) {
      for (std::size_t entry = 0; entry < plans[lane].size(); ++entry)
        rows_[entry * stride + lane] = plans[lane][entry];
    }
  }
  [[nodiscard]] lanes::Values value(OpId op, std::span<double> /*scratch*/) const override {
    return {rows_.data() + entry_of_[op] * stride_, 0};
  }

 private:
  std::size_t stride_;
  const std::vector<std::uint32_t>& entry_of_;
  std::vector<double> rows_;
};

// That no other op waits for: one of them ends last.
std::vector<OpId> last_ops(const OpGraph& graph) {
  std::vector<char> is_waited_for(graph.size());
  for (OpId op = 0; op < graph.size(); ++op) {
    for (const OpId before : graph.predecessors(op)) is_waited_for[before] = 1;
  }
  std::vector<OpId> last;
  for (OpId op = 0; op < graph.size(); ++op) {
    if (is_waited_for[op] == 0) last.push_back(op);
  }
  return last;
}

}  // namespace

megatron::StepFeatures step_features(const TrainingPlan& plan, const PipelineSchedule& schedule) {
  const ParallelPlan& parallel = plan.parallel;
  const bool is_replicated = model_copies(parallel, schedule) > 1;
  megatron::StepFeatures features;
  features.gathers_params = is_replicated && parallel.zero >= 1;
  features.reduces_gradients = is_replicated;
  features.overlaps_reduction = is_replicated && parallel.overlap_grad_reduce;
  features.reduces_embedding =
      plan.model.tied_head && pipeline_ends(schedule, schedule_shape(parallel)) == PipelineEnds::kApart;
  features.receives_ahead = parallel.overlap_p2p;
  return features;
}

Result<StepFrame> StepFrame::build(const PipelineSchedule& schedule, const ScheduleShape& shape,
                                   const megatron::StepFeatures& features, const StepLayout& layout) {
  const PlannedOps planned = megatron::order_from_schedule(schedule, shape, features);
  GOODPUT_TRY(const OpGraphSpec coarse, megatron::connect(planned.ops, planned.stages));
  FrameBuilder builder(planned, layout);
  builder.build(coarse);
  GOODPUT_TRY(OpGraph graph, OpGraph::build(builder.spec(), [&](std::uint32_t node) {
                return node < planned.ops.size() ? planned.ops[node].name() : "passes in turn";
              }));
  StepFrame frame(std::move(graph));
  for (const std::uint32_t node : frame.graph_.caller_index())
    frame.entry_of_.push_back(static_cast<std::uint32_t>(builder.entries()[node]));
  frame.last_ = last_ops(frame.graph_);
  for (OpId op = 0; op < frame.graph_.size(); ++op) {
    const std::uint32_t node = frame.graph_.caller_index()[op];
    if (node < planned.ops.size() && is_pass(planned.ops[node].type)) frame.passes_.push_back(op);
  }
  frame.count_.resize(layout.size());
  for (const std::size_t entry : builder.whole_entries()) ++frame.count_[entry];
  return frame;
}

std::vector<SimDuration> StepFrame::step_times(std::span<const std::vector<double>> values) const {
  return latest_ends(values, last_);
}

SimDuration StepFrame::end_of_passes(const std::vector<double>& values) const {
  return latest_ends({&values, 1}, passes_).front();
}

std::vector<SimDuration> StepFrame::latest_ends(std::span<const std::vector<double>> values,
                                                std::span<const OpId> of) const {
  constexpr std::size_t kAtOnce = 64;  // whose rows stay in cache
  std::vector<SimDuration> times;
  for (std::size_t begin = 0; begin < values.size(); begin += kAtOnce) {
    const auto plans = values.subspan(begin, std::min(kAtOnce, values.size() - begin));
    const LaneShape lanes{plans.size(), 1};
    TimingEngine timing(graph_, lanes, of, TimingEngine::Keep::kFinishTimes);
    timing.propagate(FrameValues(plans, lanes.stride(), entry_of_));
    for (const double time : timing.finish_times())
      times.push_back(SimDuration{static_cast<std::int64_t>(time)});
  }
  return times;
}

double StepFrame::total(std::span<const double> values) const {
  double total = 0;
  for (std::size_t entry = 0; entry < values.size(); ++entry) {
    if (count_[entry] > 0) total += static_cast<double>(count_[entry]) * values[entry];
  }
  return total;
}

}  // namespace goodput
