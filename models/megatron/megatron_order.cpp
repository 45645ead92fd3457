#include "models/megatron/megatron_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <tuple>

namespace goodput::megatron {
namespace {

constexpr double kLaunchToleranceS =
    5e-5;  // how far outside the passes a p2p op must lie to count as never launched

// Ops of one stage, by type, each list in recorded order: by (start, seq_id, name of the type).
class StageOps {
 public:
  StageOps(const TemplateLane& lane, std::int16_t stage) : lane_(lane), stage_(stage) {
    for (OpIndex op = 0; op < lane.ops.size(); ++op) {
      if (lane.ops[op].stage == stage) by_type_[index_of(lane.ops[op].type)].push_back(op);
    }
    for (auto& ops : by_type_) sort(ops);
  }

  [[nodiscard]] const std::vector<OpIndex>& of(OpType type) const { return by_type_[index_of(type)]; }
  [[nodiscard]] std::vector<OpIndex> merged(std::initializer_list<OpType> types) const {
    std::vector<OpIndex> ops;
    for (const OpType type : types) ops.insert(ops.end(), of(type).begin(), of(type).end());
    sort(ops);
    return ops;
  }
  [[nodiscard]] std::int16_t stage() const { return stage_; }

  // The one op of a type that occurs at most once in a step, with seq_id 0.
  Result<std::optional<OpIndex>> single(OpType type) const {
    const auto& ops = of(type);
    if (ops.empty()) return std::optional<OpIndex>{};
    for (const OpIndex op : ops) {
      if (lane_.ops[op].seq_id != 0) {
        return Error{fmt::format("{}: stage {} can have only one {} per step, with seq_id 0",
                                 lane_.ops[op].name(), stage_, to_string(type))};
      }
    }
    return std::optional{ops.front()};
  }
  Result<OpIndex> required(OpType type) const {
    if (of(type).empty()) {
      return Error{fmt::format("stage {} has no {}; every stage must record one in every step", stage_,
                               to_string(type))};
    }
    GOODPUT_TRY(const std::optional<OpIndex> op, single(type));
    return *op;
  }

 private:
  void sort(std::vector<OpIndex>& ops) const {
    // Types are numbered alphabetically, so comparing them compares their names.
    const auto key = [&](OpIndex op) {
      return std::tuple(lane_.start_s[op], lane_.ops[op].seq_id, lane_.ops[op].type);
    };
    std::sort(ops.begin(), ops.end(), [&](OpIndex a, OpIndex b) { return key(a) < key(b); });
  }

  const TemplateLane& lane_;
  std::int16_t stage_;
  std::array<std::vector<OpIndex>, kNdtimelineTypeCount> by_type_;
};

std::int64_t global_chunk(const TemplateLane& lane, OpIndex op) {
  const TraceOp& compute = lane.ops[op];
  if (compute.gmc != kUnset) return compute.gmc;
  return std::int64_t{std::max<std::int16_t>(compute.mc, 0)} * lane.pp_size + compute.stage;
}

// The passes of one direction, in seq_id order, and the times between which their communication is launched.
struct Passes {
  std::vector<OpIndex> by_seq;
  double last_start = -std::numeric_limits<double>::infinity();
  double first_end = std::numeric_limits<double>::infinity();
};

Result<Passes> collect_passes(const TemplateLane& lane, const StageOps& ops, OpType type) {
  Passes passes;
  passes.by_seq = ops.of(type);
  if (passes.by_seq.empty()) {
    return Error{fmt::format("stage {} has no {}", ops.stage(), to_string(type))};
  }
  std::sort(passes.by_seq.begin(), passes.by_seq.end(),
            [&](OpIndex a, OpIndex b) { return lane.ops[a].seq_id < lane.ops[b].seq_id; });
  for (std::size_t i = 0; i < passes.by_seq.size(); ++i) {
    const OpIndex op = passes.by_seq[i];
    if (lane.ops[op].seq_id != static_cast<std::int32_t>(i)) {
      return Error{fmt::format("{}: stage {} has no {} with seq_id {}; seq_ids must count up from 0",
                               lane.ops[op].name(), ops.stage(), to_string(type), i)};
    }
    passes.last_start = std::max(passes.last_start, lane.start_s[op]);
    passes.first_end = std::min(passes.first_end, lane.end_s[op]);
  }
  return passes;
}

// Whether the global chunks of a pass and of its peer say that there is a message between them.
std::optional<std::int32_t> peer_stage(const TemplateLane& lane, const P2pKind& kind, OpIndex compute) {
  const std::int64_t peer_chunk = global_chunk(lane, compute) + kind.chunk_step;
  if (peer_chunk < 0 || peer_chunk >= std::int64_t{lane.vpp_size} * lane.pp_size) return std::nullopt;
  return (lane.ops[compute].stage + kind.chunk_step + lane.pp_size) % lane.pp_size;
}

bool was_launched(const TemplateLane& lane, const P2pKind& kind, const Passes& passes, OpIndex op) {
  return kind.is_recv ? lane.start_s[op] <= passes.last_start + kLaunchToleranceS
                      : lane.end_s[op] >= passes.first_end - kLaunchToleranceS;
}

// Which passes `live` messages of one kind serve, by seq_id. Some recorders write a message for every pass;
// some leave out those without a peer, and Megatron-LM's first and last stage may leave out one or all.
std::optional<std::span<const OpIndex>> served_passes(const TemplateLane& lane, const P2pKind& kind,
                                                      const Passes& passes, bool is_edge, std::size_t live,
                                                      std::vector<OpIndex>& with_peer) {
  const std::span<const OpIndex> all = passes.by_seq;
  if (live == all.size()) return all;
  std::copy_if(all.begin(), all.end(), std::back_inserter(with_peer),
               [&](OpIndex op) { return peer_stage(lane, kind, op).has_value(); });
  if (live == with_peer.size()) return with_peer;
  if (is_edge && live == 0) return std::span<const OpIndex>{};
  if (is_edge && live == all.size() - 1) return kind.is_recv ? all.subspan(1) : all.first(live);
  return std::nullopt;
}

// Matches the p2p ops of one type with the passes they serve, in order.
Result<std::vector<P2pOp>> match_p2p(const TemplateLane& lane, const StageOps& ops, const P2pKind& kind,
                                     const Passes& passes) {
  const auto& recorded = ops.of(kind.type);
  const auto live = static_cast<std::size_t>(std::count_if(
      recorded.begin(), recorded.end(), [&](OpIndex op) { return was_launched(lane, kind, passes, op); }));
  const bool is_edge = ops.stage() == 0 || ops.stage() == lane.pp_size - 1;
  std::vector<OpIndex> with_peer;
  const auto served = served_passes(lane, kind, passes, is_edge, live, with_peer);
  if (!served) {
    return Error{fmt::format("stage {}: {} {} ops were launched for {} {} ops, but each pass needs one{}",
                             ops.stage(), live, to_string(kind.type), passes.by_seq.size(),
                             to_string(kind.compute),
                             is_edge ? " (the first and last stage may have none, or one fewer)" : "")};
  }
  std::size_t counter = 0;
  std::vector<P2pOp> matched;
  for (const OpIndex op : recorded) {
    P2pOp entry{op, std::nullopt, std::nullopt, std::nullopt};
    if (was_launched(lane, kind, passes, op)) {
      const OpIndex compute = (*served)[counter++];
      entry.compute = compute;
      const auto seq_id = static_cast<std::size_t>(lane.ops[compute].seq_id);
      if (kind.is_recv && seq_id > 0) entry.previous_compute = passes.by_seq[seq_id - 1];
      entry.peer_stage = peer_stage(lane, kind, compute);
    }
    matched.push_back(entry);
  }
  return matched;
}

// Where weight gradients are passes of their own, a stage has one for every backward pass.
Status check_weight_passes(const TemplateLane& lane, const StageOps& ops, const Passes& backwards) {
  const auto is_weight = [](const TraceOp& op) { return op.type == OpType::kBackwardWeight; };
  if (std::none_of(lane.ops.begin(), lane.ops.end(), is_weight)) return Ok{};
  const std::size_t weights = ops.of(OpType::kBackwardWeight).size();
  if (weights == backwards.by_seq.size()) return Ok{};
  return Error{fmt::format(
      "stage {} has {} backward-weight ops for {} backward-compute ops; record one for each on every stage",
      ops.stage(), weights, backwards.by_seq.size())};
}

// One op a model chunk: that for which `better(candidate, chosen)` holds against all others.
template <typename Better>
std::map<std::int16_t, OpIndex> choose_by_chunk(const TemplateLane& lane, const std::vector<OpIndex>& ops,
                                                Better better) {
  std::map<std::int16_t, OpIndex> chosen;
  for (const OpIndex op : ops) {
    const auto [entry, is_new] = chosen.try_emplace(lane.ops[op].mc, op);
    if (!is_new && better(op, entry->second)) entry->second = op;
  }
  return chosen;
}

using Gates = std::vector<std::pair<OpIndex, OpIndex>>;

// Pairs the collective and the pass of each chunk; both orders of the pair occur, so the caller says which
// waits.
Result<Gates> pair_by_chunk(const TemplateLane& lane, const std::map<std::int16_t, OpIndex>& collectives,
                            const std::map<std::int16_t, OpIndex>& passes, std::string_view pass_name) {
  Gates pairs;
  for (const auto& [mc, collective] : collectives) {
    const auto pass = passes.find(mc);
    if (pass == passes.end()) {
      return Error{fmt::format("{} has mc {}, but stage {} has no {} for that model chunk",
                               lane.ops[collective].name(), mc, lane.ops[collective].stage, pass_name)};
    }
    pairs.emplace_back(collective, pass->second);
  }
  return pairs;
}

Status add_gates(const TemplateLane& lane, const StageOps& ops, StageOrder& order) {
  const auto seq_above = [&](OpIndex a, OpIndex b) { return lane.ops[a].seq_id > lane.ops[b].seq_id; };
  const auto seq_below = [&](OpIndex a, OpIndex b) { return lane.ops[a].seq_id < lane.ops[b].seq_id; };
  const auto starts_before = [&](OpIndex a, OpIndex b) { return lane.start_s[a] < lane.start_s[b]; };
  const auto ends_after = [&](OpIndex a, OpIndex b) { return lane.end_s[a] > lane.end_s[b]; };
  GOODPUT_TRY(const Gates params,
              pair_by_chunk(lane, choose_by_chunk(lane, ops.of(OpType::kParamsAllGather), seq_above),
                            choose_by_chunk(lane, ops.of(OpType::kForwardCompute), starts_before),
                            "forward-compute"));
  for (const auto& [gather, forward] : params) order.params_gates.emplace_back(forward, gather);
  // Without overlap every reduction follows the whole backward pass and chunks do not matter.
  if (!order.separate_all_reduce) return Ok{};
  const OpType gradients =
      ops.of(OpType::kBackwardWeight).empty() ? OpType::kBackwardCompute : OpType::kBackwardWeight;
  GOODPUT_TRY(order.gradient_gates,
              pair_by_chunk(lane, choose_by_chunk(lane, ops.of(OpType::kGradsReduceScatter), seq_below),
                            choose_by_chunk(lane, ops.of(gradients), ends_after), to_string(gradients)));
  return Ok{};
}

Result<StageOrder> order_of_stage(const TemplateLane& lane, std::int16_t stage) {
  const StageOps ops(lane, stage);
  StageOrder order;
  order.compute = ops.merged({OpType::kForwardCompute, OpType::kBackwardCompute, OpType::kBackwardWeight});
  GOODPUT_TRY(const Passes forwards, collect_passes(lane, ops, OpType::kForwardCompute));
  GOODPUT_TRY(const Passes backwards, collect_passes(lane, ops, OpType::kBackwardCompute));
  for (std::size_t k = 0; k < kP2pKinds.size(); ++k) {
    const bool is_forward = kP2pKinds[k].compute == OpType::kForwardCompute;
    GOODPUT_TRY(std::vector<P2pOp> matched,
                match_p2p(lane, ops, kP2pKinds[k], is_forward ? forwards : backwards));
    order.p2p.push_back({k, std::move(matched)});
  }
  GOODPUT_TRY_STATUS(check_weight_passes(lane, ops, backwards));
  order.dp = ops.merged({OpType::kParamsAllGather, OpType::kGradsReduceScatter});
  order.reduce_scatters = ops.of(OpType::kGradsReduceScatter);
  std::sort(order.reduce_scatters.begin(), order.reduce_scatters.end());  // op indices ascend with seq_id
  order.last_compute = *std::max_element(order.compute.begin(), order.compute.end(),
                                         [&](OpIndex a, OpIndex b) { return lane.end_s[a] < lane.end_s[b]; });
  GOODPUT_TRY(order.gc, ops.single(OpType::kGc));
  GOODPUT_TRY(order.layernorm, ops.single(OpType::kLayernormGradsAllReduce));
  GOODPUT_TRY(order.clip, ops.single(OpType::kOptimizerClipMainGrad));
  GOODPUT_TRY(order.optimizer, ops.required(OpType::kOptimizer));
  GOODPUT_TRY(order.embedding, ops.single(OpType::kEmbeddingGradsAllReduce));
  GOODPUT_TRY(order.separate_all_reduce, ops.single(OpType::kSeparateGradsAllReduce));
  if (order.embedding && stage != 0 && stage != lane.pp_size - 1) {
    return Error{fmt::format("{}: only the first and the last stage reduce embedding gradients",
                             lane.ops[*order.embedding].name())};
  }
  GOODPUT_TRY_STATUS(add_gates(lane, ops, order));
  return order;
}

}  // namespace

Result<std::vector<StageOrder>> order_from_recording(const TemplateLane& lane) {
  std::vector<StageOrder> orders;
  for (std::int32_t stage = 0; stage < lane.pp_size; ++stage) {
    GOODPUT_TRY(StageOrder order, order_of_stage(lane, static_cast<std::int16_t>(stage)));
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace goodput::megatron
