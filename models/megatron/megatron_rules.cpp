#include "models/megatron/megatron_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace goodput::megatron {
namespace {

// Collects edges and groups; reads like the rules.
class Rules {
 public:
  Rules(std::span<const TraceOp> ops, const std::vector<StageOrder>& stages) : ops_(ops), stages_(stages) {
    spec_.op_count = ops.size();
    overlaps_ = std::any_of(ops.begin(), ops.end(),
                            [](const TraceOp& op) { return op.type == OpType::kSeparateGradsAllReduce; });
  }

  Result<OpGraphSpec> apply() {
    for (const StageOrder& stage : stages_) {
      run_in_order(stage.compute);
      for (const auto& [pass, before] : stage.hand_overs) after(pass, before);
      connect_p2p(stage);
      hold_first_backward(stage);
      connect_data_parallel(stage);
      GOODPUT_TRY_STATUS(connect_tail(stage));
    }
    GOODPUT_TRY_STATUS(group_p2p());
    group_collectives();
    return std::move(spec_);
  }

 private:
  // `op` starts after `before` has ended.
  void after(OpIndex op, OpIndex before) { spec_.edges.emplace_back(before, op); }
  void run_in_order(const std::vector<OpIndex>& stream) {
    for (std::size_t i = 1; i < stream.size(); ++i) after(stream[i], stream[i - 1]);
  }

  // Sends follow their pass, passes follow their receive, and a receive is posted only after the pass of its
  // direction before it.
  void connect_p2p(const StageOrder& stage) {
    for (const P2pStream& stream : stage.p2p) {
      for (std::size_t i = 0; i < stream.ops.size(); ++i) {
        const P2pOp& p2p = stream.ops[i];
        if (i > 0) after(p2p.op, stream.ops[i - 1].op);
        if (!p2p.compute) continue;
        if (kP2pKinds[stream.kind].is_recv)
          after(*p2p.compute, p2p.op);
        else
          after(p2p.op, *p2p.compute);
        if (p2p.previous_compute) after(p2p.op, *p2p.previous_compute);
      }
    }
  }

  // The steady state begins when the last warm-up forward but one is done: not before are the first
  // backward's receive and send issued.
  void hold_first_backward(const StageOrder& stage) {
    const auto first = std::find_if(stage.compute.begin(), stage.compute.end(),
                                    [&](OpIndex op) { return ops_[op].type == OpType::kBackwardCompute; });
    if (first - stage.compute.begin() < 2) return;
    for (const P2pStream& stream : stage.p2p) {
      if (kP2pKinds[stream.kind].compute != OpType::kBackwardCompute) continue;
      for (const P2pOp& p2p : stream.ops) {
        if (ops_[p2p.op].seq_id == 0) after(p2p.op, *(first - 2));
      }
    }
  }

  void connect_data_parallel(const StageOrder& stage) {
    run_in_order(stage.dp);
    for (const auto& [forward, gather] : stage.params_gates) after(forward, gather);
    if (!overlaps_) return;
    for (const auto& [scatter, backward] : stage.gradient_gates) after(scatter, backward);
  }

  // After the passes: gc, the gradient reductions, clipping, the optimizer, as far as the job records them.
  Status connect_tail(const StageOrder& stage) {
    std::vector<OpIndex> chain = {stage.last_compute};
    const auto append = [&chain](std::optional<OpIndex> op) {
      if (op) chain.push_back(*op);
    };
    append(stage.gc);
    const std::size_t first_reduction = chain.size();
    append(stage.layernorm);
    append(stage.embedding);
    if (overlaps_) {
      if (!stage.separate_all_reduce || stage.reduce_scatters.empty()) {
        return Error{
            fmt::format("stage {} has no {}, which other stages record", ops_[stage.optimizer].stage,
                        stage.separate_all_reduce ? "grads-reduce-scatter" : "separate-grads-all-reduce")};
      }
      chain.push_back(*stage.separate_all_reduce);
      after(chain[first_reduction], stage.reduce_scatters.back());
    } else {
      chain.insert(chain.end(), stage.reduce_scatters.begin(), stage.reduce_scatters.end());
    }
    append(stage.clip);
    chain.push_back(stage.optimizer);
    run_in_order(chain);
    return Ok{};
  }

  // Of one kind, in order: the ops of a stage that talk to `peer`.
  [[nodiscard]] std::vector<OpIndex> launched(std::size_t stage, OpType type, std::size_t peer) const {
    std::vector<OpIndex> ops;
    for (const P2pStream& stream : stages_[stage].p2p) {
      if (kP2pKinds[stream.kind].type != type) continue;
      for (const P2pOp& p2p : stream.ops) {
        if (p2p.peer_stage && static_cast<std::size_t>(*p2p.peer_stage) == peer) ops.push_back(p2p.op);
      }
    }
    return ops;
  }

  // The k-th live send of a stage to another meets the k-th live receive there. An op without a peer is a
  // group of its own.
  Status group_p2p() {
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      for (const P2pStream& stream : stages_[s].p2p) {
        for (const P2pOp& p2p : stream.ops) {
          if (!p2p.peer_stage) spec_.groups.push_back({{p2p.op}, kReplicasApart});
        }
      }
      for (const P2pKind& kind : kP2pKinds) {
        if (kind.is_recv) continue;
        for (const std::size_t peer : neighbours(s)) GOODPUT_TRY_STATUS(pair_up(s, kind, peer));
      }
    }
    return Ok{};
  }

  [[nodiscard]] std::set<std::size_t> neighbours(std::size_t stage) const {
    const std::size_t n = stages_.size();
    return {(stage + 1) % n, (stage + n - 1) % n};
  }

  Status pair_up(std::size_t stage, const P2pKind& kind, std::size_t peer) {
    const auto sends = launched(stage, kind.type, peer);
    const auto recvs = launched(peer, kind.peer, stage);
    if (sends.size() != recvs.size()) {
      return Error{fmt::format(
          "stage {} launches {} {} ops, but stage {} launches {} {} ops; each send needs one receive", stage,
          sends.size(), to_string(kind.type), peer, recvs.size(), to_string(kind.peer))};
    }
    for (std::size_t i = 0; i < sends.size(); ++i)
      spec_.groups.push_back({{sends[i], recvs[i]}, kReplicasApart});
    return Ok{};
  }

  void group_collectives() {
    OpGraphSpec::Group clip{{}, kReplicasTogether};
    OpGraphSpec::Group embedding{{}, kReplicasApart};
    for (const StageOrder& stage : stages_) {
      if (stage.clip) clip.members.push_back(*stage.clip);
      if (stage.embedding) embedding.members.push_back(*stage.embedding);
      for (const OpIndex op : stage.dp) spec_.groups.push_back({{op}, kReplicasTogether});
      if (stage.separate_all_reduce)
        spec_.groups.push_back({{*stage.separate_all_reduce}, kReplicasTogether});
    }
    if (!clip.members.empty()) spec_.groups.push_back(std::move(clip));
    if (!embedding.members.empty()) spec_.groups.push_back(std::move(embedding));
  }

  std::span<const TraceOp> ops_;
  const std::vector<StageOrder>& stages_;
  bool overlaps_ = false;
  OpGraphSpec spec_;
};

// The ops of a kind that were launched.
std::size_t launched(const StageOrder& stage, OpType type) {
  std::size_t count = 0;
  for (const P2pStream& stream : stage.p2p) {
    if (kP2pKinds[stream.kind].type != type) continue;
    for (const P2pOp& op : stream.ops) count += op.compute ? 1 : 0;
  }
  return count;
}

// Jobs that record messages without a peer do so at both ends of the pipeline. Where only the last recorded
// stage has a message for every pass, there was a stage after it.
Status check_last_stage(const std::vector<StageOrder>& stages) {
  const StageOrder& first = stages.front();
  const StageOrder& last = stages.back();
  if (launched(first, OpType::kForwardRecv) + launched(first, OpType::kBackwardSend) > 0) return Ok{};
  for (const OpType type : {OpType::kForwardSend, OpType::kBackwardRecv}) {
    const std::size_t messages = launched(last, type);
    if (messages == 0 || 2 * messages < last.compute.size()) continue;
    return Error{
        fmt::format("stage {} is the last one recorded but launches {} {} ops, which need a next stage; give "
                    "the files of the later stages too",
                    stages.size() - 1, messages, to_string(type))};
  }
  return Ok{};
}

}  // namespace

Result<OpGraphSpec> connect(std::span<const TraceOp> ops, const std::vector<StageOrder>& stages) {
  return Rules(ops, stages).apply();
}

Result<OpGraph> build_graph(const TemplateLane& lane) {
  GOODPUT_TRY(const std::vector<StageOrder> stages, order_from_recording(lane));
  GOODPUT_TRY_STATUS(check_last_stage(stages));
  GOODPUT_TRY(const OpGraphSpec spec, connect(lane.ops, stages));
  return OpGraph::build(spec, [&](std::uint32_t op) { return lane.ops[op].name(); });
}

}  // namespace goodput::megatron
