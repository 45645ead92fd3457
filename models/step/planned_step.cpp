#include "models/step/planned_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "models/megatron/megatron_rules.h"
#include "models/megatron/schedule_order.h"
#include "models/schedule/schedule.h"
#include "models/step/gpu_parameters.h"
#include "models/step/op_cost.h"
#include "models/step/paired_passes.h"
#include "models/step/step_costs.h"
#include "models/step/step_frame.h"

namespace goodput {
namespace {

using megatron::OpIndex;
using megatron::PlannedOps;

// Rows of values, each stored once.
class ValueRows {
 public:
  explicit ValueRows(LaneShape lanes) : lanes_(lanes) {}

  std::uint32_t add(std::span<const SimDuration> by_lane, double nic_bytes = 0) {
    const std::size_t row = nic_bytes_.size();
    nic_bytes_.push_back(nic_bytes);
    values_.resize(values_.size() + lanes_.stride());
    for (std::size_t lane = 0; lane < lanes_.lanes(); ++lane) {
      const SimDuration value = by_lane.size() == 1 ? by_lane.front() : by_lane[lane];
      values_[row * lanes_.stride() + lane] = static_cast<double>(value.count());
    }
    return static_cast<std::uint32_t>(row);
  }
  std::uint32_t add(SimDuration value) { return add(std::span(&value, 1)); }
  std::uint32_t add(const Transfer& transfer) {
    return add(std::span(&transfer.time, 1), transfer.nic_bytes);
  }
  [[nodiscard]] double longest(std::uint32_t row) const {
    const auto begin = values_.begin() + static_cast<std::ptrdiff_t>(row * lanes_.stride());
    return *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(lanes_.lanes()));
  }
  [[nodiscard]] std::vector<double> take_values() { return std::move(values_); }
  [[nodiscard]] std::vector<double> take_nic_bytes() { return std::move(nic_bytes_); }

 private:
  LaneShape lanes_;
  std::vector<double> values_;
  std::vector<double> nic_bytes_;  // by row
};

// A part of a pass with its row of values.
struct RowedPart {
  LayerPart part = LayerPart::kWhole;
  std::int16_t layer = -1;
  bool meets_ranks = false;  // all expert-parallel ranks take part
  std::uint32_t row = 0;
};

bool meets_expert_ranks(LayerPart part) {
  return part == LayerPart::kCountExchange || part == LayerPart::kDispatch || part == LayerPart::kCombine;
}

// The rows of the costs at one position of the pipeline.
struct ChunkRows {
  std::vector<RowedPart> forward;
  std::vector<RowedPart> backward;
  std::vector<RowedPart> backward_input;
  std::vector<RowedPart> backward_weight;

  [[nodiscard]] const std::vector<RowedPart>& of(const Pass& pass) const {
    if (pass.kind == Pass::Kind::kForward) return forward;
    if (pass.kind == Pass::Kind::kBackwardWeight) return backward_weight;
    return pass.splits_weight ? backward_input : backward;
  }
};

// All of a pass as one part. The ranks meet in every layer with experts, so that each waits for the slowest.
std::vector<PartCost> merged(const std::vector<PartCost>& parts) {
  SimDuration total{};
  double nic_bytes = 0;
  for (const PartCost& part : parts) {
    total += part.time;
    nic_bytes += part.nic_bytes;
  }
  return {{LayerPart::kWhole, -1, total, total, nic_bytes}};
}

class StepBuilder {
 public:
  StepBuilder(const PlannedOps& planned, const StepCosts& costs, std::int32_t positions,
              Granularity granularity)
      : planned_(planned),
        costs_(costs),
        positions_(positions),
        granularity_(granularity),
        lanes_{1, granularity == Granularity::kOps ? 1 : static_cast<std::size_t>(costs.ranks)},
        rows_(lanes_),
        row_of_cost_(OpCost::kKinds * static_cast<std::size_t>(positions)) {}

  Result<PlannedStep> build(const OpGraphSpec& coarse) && {
    for (const ChunkCosts& chunk : costs_.chunks) chunk_rows_.push_back(rows_of(chunk));
    first_part_.resize(planned_.ops.size());
    last_part_.resize(planned_.ops.size());
    for (std::size_t stage = 0; stage < planned_.stages.size(); ++stage) add_passes(stage);
    add_other_ops();
    connect(coarse);
    spec_.op_count = ops_.size();
    GOODPUT_TRY(OpGraph graph, OpGraph::build(spec_, [&](std::uint32_t op) { return ops_[op].name(); }));
    PlannedStep step{{},         std::move(graph), lanes_, {}, rows_.take_values(), rows_.take_nic_bytes(),
                     costs_.tier};
    for (const std::uint32_t op : step.graph.caller_index()) {
      step.ops.push_back(ops_[op]);
      step.row_of.push_back(row_of_[op]);
    }
    return step;
  }

 private:
  std::vector<RowedPart> rows_of(const std::vector<PartCost>& parts) {
    std::vector<RowedPart> rowed;
    for (const PartCost& part : granularity_ == Granularity::kOps ? merged(parts) : parts) {
      rowed.push_back({part.part, part.layer, lanes_.replicas > 1 && meets_expert_ranks(part.part),
                       part.by_rank.empty() ? rows_.add(std::span(&part.time, 1), part.nic_bytes)
                                            : rows_.add(part.by_rank, part.nic_bytes)});
    }
    if (rowed.empty()) rowed.push_back({.row = rows_.add(SimDuration{})});  // a position without layers
    return rowed;
  }
  ChunkRows rows_of(const ChunkCosts& chunk) {
    return {rows_of(chunk.forward), rows_of(chunk.backward), rows_of(chunk.backward_input),
            rows_of(chunk.backward_weight)};
  }
  [[nodiscard]] const ChunkRows& chunk_of(const TraceOp& op) const {
    return chunk_rows_[static_cast<std::size_t>(op.gmc % positions_)];
  }

  std::uint32_t add(const StepOp& op, std::uint32_t row) {
    ops_.push_back(op);
    row_of_.push_back(row);
    return static_cast<std::uint32_t>(ops_.size() - 1);
  }
  void after(std::uint32_t op, std::uint32_t before) { spec_.edges.emplace_back(before, op); }

  // The parts of the pass, in turn.
  std::vector<std::uint32_t> add_parts(OpIndex pass, const std::vector<RowedPart>& parts) {
    std::vector<std::uint32_t> ids;
    for (const RowedPart& part : parts) {
      const std::uint32_t id = add({planned_.ops[pass], part.part, part.layer}, part.row);
      if (!ids.empty()) after(id, ids.back());
      if (part.meets_ranks) spec_.groups.push_back({{id}, kReplicasTogether});
      ids.push_back(id);
    }
    first_part_[pass] = ids.front();
    last_part_[pass] = ids.back();
    return ids;
  }

  void add_passes(std::size_t stage) {
    const std::vector<OpIndex>& compute = planned_.stages[stage].compute;
    const std::vector<Pass>& passes = planned_.passes[stage];
    for (std::size_t i = 0; i < compute.size(); ++i) {
      const auto ids = add_parts(compute[i], chunk_of(planned_.ops[compute[i]]).of(passes[i]));
      if (granularity_ == Granularity::kOps || !passes[i].overlaps_next) continue;
      const auto other = add_parts(compute[i + 1], chunk_of(planned_.ops[compute[i + 1]]).of(passes[i + 1]));
      run_in_turn(ids, other);
      second_of_.emplace(compute[i], compute[i + 1]);
      first_of_.emplace(compute[i + 1], compute[i]);
      ++i;
    }
  }

  // Two passes share the GPU and its network.
  void run_in_turn(const std::vector<std::uint32_t>& first, const std::vector<std::uint32_t>& second) {
    const std::array<const std::vector<std::uint32_t>*, 2> passes = {&first, &second};
    std::array<std::size_t, 2> next{};
    std::array<std::optional<std::uint32_t>, 2> last{};  // by stream
    for (const std::size_t pass : take_turns(turn_parts(first), turn_parts(second))) {
      const std::uint32_t id = (*passes[pass])[next[pass]++];
      std::optional<std::uint32_t>& before = last[info(ops_[id].part).is_communication ? 1 : 0];
      if (before) after(id, *before);
      before = id;
    }
  }
  [[nodiscard]] std::vector<TurnPart> turn_parts(const std::vector<std::uint32_t>& ids) const {
    std::vector<TurnPart> parts;
    for (const std::uint32_t id : ids)
      parts.push_back({rows_.longest(row_of_[id]), info(ops_[id].part).is_communication});
    return parts;
  }

  void add_other_ops() {
    for (OpIndex op = 0; op < planned_.ops.size(); ++op) {
      if (is_pass(planned_.ops[op].type)) continue;
      first_part_[op] = last_part_[op] =
          add({planned_.ops[op], LayerPart::kWhole, -1}, row_of(planned_.ops[op]));
    }
  }

  std::uint32_t row_of(const TraceOp& op) {
    const OpCost cost = cost_of(op, positions_);
    std::optional<std::uint32_t>& row = row_of_cost_[cost.index(positions_)];
    if (!row) row = rows_.add(value_of(cost, costs_));
    return *row;
  }

  // Dependencies between ops become dependencies between the last part of one and the first of the other.
  // Two passes that run in turn do not wait for each other as a whole; whom the first waits for both wait
  // for, and who waits for the second waits for both.
  void connect(const OpGraphSpec& coarse) {
    for (const auto& [before, op] : coarse.edges) {
      if (is_pass(planned_.ops[before].type) && is_pass(planned_.ops[op].type)) {
        connect_passes(before, op);
      } else {
        after(first_part_[op], last_part_[before]);
      }
    }
    for (const OpGraphSpec::Group& group : coarse.groups) {
      OpGraphSpec::Group members{{}, group.partition};
      for (const std::uint32_t op : group.members) members.members.push_back(first_part_[op]);
      spec_.groups.push_back(std::move(members));
    }
  }

  void connect_passes(OpIndex before, OpIndex op) {
    const auto second_of = second_of_.find(op);
    const auto first_of = first_of_.find(before);
    if (second_of_.contains(before)) return;  // the pair itself
    after(first_part_[op], last_part_[before]);
    if (second_of != second_of_.end()) after(first_part_[second_of->second], last_part_[before]);
    if (first_of != first_of_.end()) {
      after(first_part_[op], last_part_[first_of->second]);
      if (second_of != second_of_.end()) after(first_part_[second_of->second], last_part_[first_of->second]);
    }
  }

  const PlannedOps& planned_;
  const StepCosts& costs_;
  std::int32_t positions_;
  Granularity granularity_;
  LaneShape lanes_;
  ValueRows rows_;
  std::vector<ChunkRows> chunk_rows_;
  std::vector<std::optional<std::uint32_t>> row_of_cost_;
  std::vector<StepOp> ops_;
  std::vector<std::uint32_t> row_of_;
  std::vector<std::uint32_t> first_part_;  // by op of the plan
  std::vector<std::uint32_t> last_part_;
  std::map<OpIndex, OpIndex> second_of_;  // of two passes that run in turn
  std::map<OpIndex, OpIndex> first_of_;
  OpGraphSpec spec_;
};

Error too_slow(const TrainingPlan& plan) {
  return plan.error("/cluster", "is so slow that a step could take 104 days");
}

// Every time is a whole number of nanoseconds, and their sum has to be one, too.
Status check_times(const TrainingPlan& plan, const PlannedStep& step) {
  double total = 0;
  for (OpId op = 0; op < step.ops.size(); ++op) {
    const auto row = step.row(op).first(step.lanes.lanes());
    total += *std::max_element(row.begin(), row.end());
  }
  if (!(total <= 1e9 * kLongestStepS)) return too_slow(plan);
  if (total == 0) return plan.error("/cluster", "is so fast that no op takes a nanosecond");
  return Ok{};
}

Result<PlannedStep> build_step(const TrainingPlan& plan, const CostModel& cost, Granularity granularity,
                               const StepRouting& routing) {
  GOODPUT_TRY(const PipelineSchedule* schedule, find_schedule(plan.parallel.schedule));
  const ScheduleShape shape = schedule_shape(plan.parallel);
  GOODPUT_TRY_STATUS(schedule->check(shape));
  const PlannedOps planned = megatron::order_from_schedule(*schedule, shape, step_features(plan, *schedule));
  GOODPUT_TRY(const OpGraphSpec spec, megatron::connect(planned.ops, planned.stages));
  const StepCosts costs =
      compute_step_costs(plan, *schedule, cost, routing, BlockPrices(plan, cost, routing, granularity));
  if (!(costs.priced_s <= kLongestStepS)) return too_slow(plan);
  GOODPUT_TRY(PlannedStep step,
              StepBuilder(planned, costs, schedule->positions(shape), granularity).build(spec));
  GOODPUT_TRY_STATUS(check_times(plan, step));
  return step;
}

// Whether a step with sequences of that many tokens can be built; experts get their share of them.
bool can_build(TrainingPlan plan, std::int64_t sequence_length, const CostModel& cost, StepRouting routing) {
  const double share =
      static_cast<double>(sequence_length) / static_cast<double>(plan.parallel.sequence_length);
  plan.parallel.sequence_length = sequence_length;
  for (std::vector<ExpertShare>& layer : routing.shares) {
    for (ExpertShare& of_rank : layer) of_rank.tokens *= share;
  }
  return build_step(plan, cost, Granularity::kOps, routing).has_value();
}

// The longest sequences, shorter than the plan's, with which a step can be built, all else being as it is: to
// the token, or what a few tries find where steps are of very many passes. 0: the plan's are not at fault.
std::int64_t longest_sequences(const TrainingPlan& plan, const CostModel& cost, const StepRouting& routing) {
  constexpr std::int64_t kPassesTried = 400'000;
  const ParallelPlan& parallel = plan.parallel;
  const std::int64_t unit = std::int64_t{parallel.cp} * (parallel.sequence_parallel ? parallel.tp : 1);
  const std::int64_t passes = parallel.micro_batches() * parallel.pp * parallel.vpp;
  std::int64_t works = 1;
  std::int64_t fails = parallel.sequence_length / unit;
  if (fails == works || !can_build(plan, unit, cost, routing)) return 0;
  for (std::int64_t tries = kPassesTried / passes; tries > 0 && fails - works > 1; --tries) {
    const std::int64_t between = works + (fails - works) / 2;
    (can_build(plan, between * unit, cost, routing) ? works : fails) = between;
  }
  return works * unit;
}

}  // namespace

std::string StepOp::name() const {
  if (part == LayerPart::kWhole) return op.name();
  const std::string_view part_name = info(part).name;
  return layer < 0 ? fmt::format("{}/{}", op.name(), part_name)
                   : fmt::format("{}/{}_{}", op.name(), part_name, layer);
}

std::string StepOp::label() const {
  return part == LayerPart::kWhole ? std::string(to_string(op.type))
                                   : fmt::format("{}/{}", to_string(op.type), info(part).name);
}

bool StepOp::is_communication() const {
  switch (op.type) {
    case OpType::kForwardCompute:
    case OpType::kBackwardCompute:
    case OpType::kBackwardWeight:
      return info(part).is_communication;
    case OpType::kGc:
    case OpType::kOptimizer:
      return false;
    default:
      return true;
  }
}

Result<PlannedStep> build_planned_step(const TrainingPlan& plan, const CostModel& cost,
                                       Granularity granularity, const StepRouting& routing) {
  Result<PlannedStep> step = build_step(plan, cost, granularity, routing);
  if (step) return step;
  const std::int64_t longest = longest_sequences(plan, cost, routing);
  if (longest == 0) return step;
  return plan.error(
      "/parallel/sequence_length",
      fmt::format("must be at most {} with micro-batches of {}, not {}, because a step could take 104 days",
                  longest, plan.parallel.micro_batch, plan.parallel.sequence_length));
}

Result<PlannedStep> build_planned_step(const TrainingPlan& plan, const CostModel& cost,
                                       Granularity granularity, std::uint64_t seed) {
  return build_planned_step(plan, cost, granularity, drawn_routing(plan, seed));
}

}  // namespace goodput
