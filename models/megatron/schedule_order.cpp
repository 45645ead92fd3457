#include "models/megatron/schedule_order.h"

#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace goodput::megatron {
namespace {

OpType type_of(Pass::Kind kind) {
  switch (kind) {
    case Pass::Kind::kForward:
      return OpType::kForwardCompute;
    case Pass::Kind::kBackward:
      return OpType::kBackwardCompute;
    case Pass::Kind::kBackwardWeight:
      return OpType::kBackwardWeight;
  }
  GOODPUT_CHECK(false, "unknown kind of pass");
}

class Planner {
 public:
  Planner(const PipelineSchedule& schedule, const ScheduleShape& shape, const StepFeatures& features)
      : schedule_(schedule),
        shape_(shape),
        features_(features),
        chunks_(schedule.chunks(shape)),
        positions_(schedule.positions(shape)) {
    for (std::int32_t stage = 0; stage < shape.stages; ++stage) {
      for (std::int32_t chunk = 0; chunk < chunks_; ++chunk) {
        const ChunkPlace place = schedule.place(shape, stage, chunk);
        stage_at_[{place.pipeline, place.position}] = stage;
      }
    }
    legs_.resize(static_cast<std::size_t>(positions_));
    for (std::size_t i = 1; i < legs_.size(); ++i) {
      const auto position = static_cast<std::int32_t>(i);
      legs_[i] = legs_[i - 1] + (stage_at_[{0, position}] == stage_at_[{0, position - 1}] ? 1 : 0);
    }
  }

  PlannedOps plan() && {
    result_.passes = schedule_.all_passes(shape_);
    for (stage_ = 0; stage_ < shape_.stages; ++stage_) {
      seq_ids_.fill(0);
      StageOrder order;
      add_passes(order);
      add_hand_overs(order);
      add_p2p(order);
      add_data_parallel(order);
      add_tail(order);
      result_.stages.push_back(std::move(order));
    }
    return std::move(result_);
  }

 private:
  OpIndex add(OpType type, std::int32_t chunk = kUnset, std::int32_t micro_batch = kUnset) {
    TraceOp op;
    op.type = type;
    op.seq_id = seq_ids_[index_of(type)]++;
    op.stage = static_cast<std::int16_t>(stage_);
    op.mc = static_cast<std::int16_t>(chunk);
    op.mb_id = micro_batch;
    if (chunk != kUnset) {
      const ChunkPlace place = schedule_.place(shape_, stage_, chunk);
      op.gmc = place.pipeline * positions_ + place.position;
    }
    result_.ops.push_back(op);
    return static_cast<OpIndex>(result_.ops.size() - 1);
  }

  void add_passes(StageOrder& order) {
    for (const Pass& pass : result_.passes[static_cast<std::size_t>(stage_)]) {
      order.compute.push_back(add(type_of(pass.kind), pass.chunk, pass.micro_batch));
    }
    order.last_compute = order.compute.back();
  }

  // The stage of the peer of a pass, if the pipeline goes on there.
  [[nodiscard]] std::optional<std::int32_t> peer_of(const TraceOp& pass, const P2pKind& kind) const {
    const auto peer = stage_at_.find({pass.gmc / positions_, pass.gmc % positions_ + kind.chunk_step});
    return peer == stage_at_.end() ? std::nullopt : std::optional(peer->second);
  }

  // Passes that get their input from a pass of the same stage.
  void add_hand_overs(StageOrder& order) {
    if (legs_.back() == 0) return;
    std::map<std::tuple<OpType, std::int32_t, std::int32_t>, OpIndex> passes;
    for (const OpIndex op : order.compute) {
      const TraceOp& pass = result_.ops[op];
      passes[{pass.type, pass.gmc, pass.mb_id}] = op;
    }
    for (const P2pKind& kind : kP2pKinds) {
      if (!kind.is_recv) continue;
      for (const OpIndex op : order.compute) {
        const TraceOp& pass = result_.ops[op];
        if (pass.type != kind.compute || peer_of(pass, kind) != stage_) continue;
        order.hand_overs.emplace_back(op, passes.at({pass.type, pass.gmc + kind.chunk_step, pass.mb_id}));
      }
    }
  }

  // Messages of a leg of the pipeline follow each other; those of different legs come from different stages.
  void add_p2p(StageOrder& order) {
    for (std::size_t kind = 0; kind < kP2pKinds.size(); ++kind) {
      using Leg = std::pair<std::int32_t, std::int32_t>;  // of a pipeline
      std::map<Leg, P2pStream> by_leg;
      std::map<Leg, OpIndex> previous;
      for (const OpIndex compute : order.compute) {
        const TraceOp pass = result_.ops[compute];
        if (pass.type != kP2pKinds[kind].compute) continue;
        const Leg leg = {pass.gmc / positions_, legs_[static_cast<std::size_t>(pass.gmc % positions_)]};
        const auto before = previous.find(leg);
        const std::optional<std::int32_t> peer = peer_of(pass, kP2pKinds[kind]);
        if ((peer && *peer != stage_) || (!peer && shape_.chunks > 1)) {
          P2pOp p2p{add(kP2pKinds[kind].type, pass.mc, pass.mb_id), compute, std::nullopt, std::nullopt};
          p2p.peer_stage = peer;
          if (kP2pKinds[kind].is_recv && before != previous.end() && !features_.receives_ahead) {
            p2p.previous_compute = before->second;
          }
          by_leg[leg].ops.push_back(p2p);
        }
        previous[leg] = compute;
      }
      for (auto& [leg, stream] : by_leg) {
        stream.kind = kind;
        order.p2p.push_back(std::move(stream));
      }
    }
  }

  // The first pass of a chunk that is of this type, or its last that makes gradients.
  [[nodiscard]] OpIndex first_forward(const StageOrder& order, std::int32_t chunk) const {
    for (const OpIndex op : order.compute) {
      if (result_.ops[op].mc == chunk && result_.ops[op].type == OpType::kForwardCompute) return op;
    }
    GOODPUT_CHECK(false, "the schedule must have a forward pass for every model chunk");
  }
  [[nodiscard]] OpIndex last_backward(const StageOrder& order, std::int32_t chunk) const {
    for (auto op = order.compute.rbegin(); op != order.compute.rend(); ++op) {
      if (result_.ops[*op].mc == chunk && result_.ops[*op].type != OpType::kForwardCompute) return *op;
    }
    GOODPUT_CHECK(false, "the schedule must have a backward pass for every model chunk");
  }

  void add_data_parallel(StageOrder& order) {
    for (std::int32_t chunk = 0; features_.gathers_params && chunk < chunks_; ++chunk) {
      order.dp.push_back(add(OpType::kParamsAllGather, chunk));
      order.params_gates.emplace_back(first_forward(order, chunk), order.dp.back());
    }
    if (!features_.reduces_gradients) return;
    // The last chunk's gradients are complete first.
    for (std::int32_t chunk = chunks_ - 1; chunk >= 0; --chunk) {
      order.dp.push_back(add(OpType::kGradsReduceScatter, chunk));
      order.reduce_scatters.push_back(order.dp.back());
      if (features_.overlaps_reduction) {
        order.gradient_gates.emplace_back(order.dp.back(), last_backward(order, chunk));
      }
    }
    if (features_.overlaps_reduction) order.separate_all_reduce = add(OpType::kSeparateGradsAllReduce);
  }

  void add_tail(StageOrder& order) {
    order.gc = add(OpType::kGc);
    order.layernorm = add(OpType::kLayernormGradsAllReduce);
    if (features_.reduces_embedding && (stage_ == 0 || stage_ == shape_.stages - 1)) {
      order.embedding = add(OpType::kEmbeddingGradsAllReduce);
    }
    order.clip = add(OpType::kOptimizerClipMainGrad);
    order.optimizer = add(OpType::kOptimizer);
  }

  const PipelineSchedule& schedule_;
  const ScheduleShape& shape_;
  const StepFeatures& features_;
  std::int32_t chunks_;
  std::int32_t positions_;
  std::int32_t stage_ = 0;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> stage_at_;  // by (pipeline, position)
  std::vector<std::int32_t> legs_;  // by position: hand-overs within a stage before it
  std::array<std::int32_t, kNdtimelineTypeCount> seq_ids_{};
  PlannedOps result_;
};

}  // namespace

PlannedOps order_from_schedule(const PipelineSchedule& schedule, const ScheduleShape& shape,
                               const StepFeatures& features) {
  return Planner(schedule, shape, features).plan();
}

}  // namespace goodput::megatron
