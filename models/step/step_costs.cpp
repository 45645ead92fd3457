#include "models/step/step_costs.h"

#include <algorithm>
#include <cmath>

#include "models/step/gpu_parameters.h"
#include "models/step/zero_groups.h"

namespace goodput {
namespace {

// Adam in mixed precision, a parameter: reads and writes master weight and two moments, writes the 16-bit
// weight. The gradient is read twice besides, the first time for the norm.
constexpr double kOptimizerBytes = 26;
// The optimizer updates a tensor at a time. A layer of GPT in Megatron-LM (v2.6,
// megatron/model/transformer.py) has two norms and four linear layers (queries with keys and values,
// attention's output, up, down), each with a weight and a bias.
constexpr std::int32_t kTensorsPerLayer = 2 * (2 + 4);
// Beside the layers, on a stage: assumed for all stages, though only the first (embedding of words and of
// positions) and the last (weight and bias of the final norm) have them.
constexpr std::int32_t kOtherTensors = 2;

SimDuration sum(const std::vector<PartCost>& parts) {
  SimDuration total{};
  for (const PartCost& part : parts) total += *std::max_element(part.by_rank.begin(), part.by_rank.end());
  return total;
}

// Of the ring, direct and point-to-point algorithms: what one GPU sends to other nodes.
double bytes_to_other_nodes(const CollectiveCall& call) {
  const double nodes = call.group.nodes();
  if (nodes <= 1) return 0;
  const double near = std::min(call.group.per_node, call.group.size);
  const double ring_pass = call.bytes / near * (nodes - 1) / nodes;
  switch (call.kind) {
    case Collective::kAllReduce:
      return 2 * ring_pass;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return ring_pass;
    case Collective::kAllToAll:
      return call.imbalance * call.bytes * (call.group.size - near) / call.group.size;
    case Collective::kSendRecv:
      return call.bytes;
  }
  GOODPUT_CHECK(false, "no such collective");
}

// How long a pass leaves the links to others than those that gather and scatter shards.
SimDuration beside_shards(const std::vector<PartCost>& parts) {
  SimDuration total{};
  for (const PartCost& part : parts) {
    total -= part.hidden;
    if (part.part != LayerPart::kParamsGather && part.part != LayerPart::kGradientsScatter)
      total += *std::max_element(part.by_rank.begin(), part.by_rank.end());
  }
  return std::max(SimDuration{}, total);
}

SimDuration computation(const std::vector<PartCost>& parts) {
  SimDuration total{};
  for (const PartCost& part : parts) {
    if (!info(part.part).is_communication) total += part.by_rank.front();
  }
  return total;
}

// That a faster library for mixtures of experts makes faster.
bool is_of_experts(LayerPart part) {
  return part == LayerPart::kExperts || part == LayerPart::kDispatch || part == LayerPart::kCombine;
}

SimDuration faster(SimDuration time, double speedup) {
  return speedup == 1 ? time : from_seconds(to_seconds(time) / speedup);
}

class Pricer {
 public:
  Pricer(const TrainingPlan& plan, const PipelineSchedule& schedule, const CostModel& cost,
         const StepRouting& routing)
      : plan_(plan),
        schedule_(schedule),
        shape_(schedule_shape(plan.parallel)),
        cost_(cost),
        routing_(routing),
        work_(plan.model, plan.parallel, plan.cluster.gpus_per_node, routing.slots),
        zero_(zero_groups(plan, schedule, routing.slots)),
        layers_(layers_by_position(plan, schedule.positions(shape_))) {}

  StepCosts price() && {
    for (std::int32_t position = 0; position < positions(); ++position) {
      result_.chunks.push_back(price_chunk(position));
    }
    price_sends();
    for (std::int32_t stage = 0; stage < shape_.stages; ++stage) result_.stages.push_back(price_stage(stage));
    if (plan_.model.tied_head && shape_.stages > 1) {
      result_.embedding_reduction = collective(
          {Collective::kAllReduce, work_.scope().vocab_rows() * plan_.model.hidden * gradient_bytes(),
           between(0, shape_.stages - 1)});
    }
    if (plan_.parallel.overlap_grad_reduce) {
      result_.separate_reduction =
          collective({Collective::kAllReduce, gradient_bytes(), work_.groups().data}).time;
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::int32_t positions() const { return static_cast<std::int32_t>(layers_.size()); }
  [[nodiscard]] double gradient_bytes() const { return plan_.parallel.gradient_bytes; }

  SimDuration round(Cost cost) {
    result_.tier = lowest(result_.tier, cost.tier);
    result_.priced_s += cost.seconds;
    return result_.priced_s <= kLongestStepS ? from_seconds(cost.seconds) : SimDuration{};
  }
  Transfer collective(const CollectiveCall& call) {
    if (call.group.size == 1 || call.bytes == 0) return {};
    return {round(cost_.collective(call)), bytes_to_other_nodes(call)};
  }
  Transfer price(const PartWork& work) {
    Transfer total;
    for (const CollectiveCall& call : work.collectives) total += collective(call);
    if (!work.beside.empty()) shorten(total, total.time - round(cost_.kernels(work.beside)));
    if (!work.kernels.empty()) total.time += round(cost_.kernels(work.kernels));
    return total;
  }
  // To what other work does not hide; the bytes with it.
  static void shorten(Transfer& transfer, SimDuration left) {
    const SimDuration time = std::max(SimDuration{}, left);
    if (transfer.time > SimDuration{}) transfer.nic_bytes *= to_seconds(time) / to_seconds(transfer.time);
    transfer.time = time;
  }

  // The parts of a layer, each priced for all ranks; `make` lists them for one share.
  template <typename Make>
  void add_parts(std::vector<PartCost>& parts, std::int32_t layer, const std::vector<ExpertShare>& shares,
                 Make make) {
    const std::size_t begin = parts.size();
    for (std::size_t rank = 0; rank < shares.size(); ++rank) {
      const std::vector<PartWork> works = make(shares[rank]);
      for (std::size_t i = 0; i < works.size(); ++i) {
        if (rank == 0) parts.push_back({works[i].part, static_cast<std::int16_t>(layer)});
        if (rank > 0 && works[i].part != LayerPart::kExperts && works[i].part != LayerPart::kExpertsTp)
          continue;
        Transfer cost = price(works[i]);
        if (is_of_experts(works[i].part)) cost.time = faster(cost.time, routing_.moe_speedup);
        parts[begin + i].by_rank.push_back(cost.time);
        parts[begin + i].nic_bytes = cost.nic_bytes;
      }
    }
    if (shares.size() > 1) result_.ranks = static_cast<std::int32_t>(shares.size());
  }

  ChunkCosts price_chunk(std::int32_t position) {
    ChunkCosts chunk;
    if (position == 0) {
      add_parts(chunk.forward, -1, {{}}, [&](const auto&) { return work_.embedding_forward(); });
    }
    const LayerRange range = layers_[static_cast<std::size_t>(position)];
    for (std::int32_t i = 0; i < range.count; ++i) price_layer(chunk, range.first + i, /*backward=*/false);
    if (position == positions() - 1) price_head(chunk);
    for (std::int32_t i = range.count - 1; i >= 0; --i)
      price_layer(chunk, range.first + i, /*backward=*/true);
    if (position == 0) {
      for (auto* parts : {&chunk.backward, &chunk.backward_input}) {
        add_parts(*parts, -1, {{}}, [&](const auto&) { return work_.embedding_backward(); });
      }
    }
    price_data_parallel(chunk, parameters_at(plan_, routing_.slots, layers_, position), range);
    return chunk;
  }

  void price_layer(ChunkCosts& chunk, std::int32_t layer, bool backward) {
    std::vector<ExpertShare> shares = {work_.balanced_share()};
    if (work_.has_experts(layer)) shares = routing_.shares[static_cast<std::size_t>(layer)];
    if (!backward) {
      add_layer(chunk.forward, layer, shares, {.gathers = true},
                [&](const auto& share) { return work_.forward(layer, share); });
      return;
    }
    const auto add = [&](std::vector<PartCost>& parts, Gradients gradients) {
      add_layer(parts, layer, shares,
                {.gathers = has_activations(gradients), .scatters = has_weights(gradients)},
                [&](const auto& share) { return work_.backward(layer, share, gradients); });
    };
    add(chunk.backward, Gradients::kAll);
    add(chunk.backward_input, Gradients::kActivations);
    add(chunk.backward_weight, Gradients::kWeights);
  }

  // ZeRO-3: nobody holds all parameters of a layer, nor all their gradients.
  struct ShardTraffic {
    bool gathers = false;   // parameters, in front of the layer
    bool scatters = false;  // gradients, behind it
  };

  // Where they overlap, a layer's parameters are gathered behind the layer before it, which takes as long as
  // this one, and its gradients are reduced behind the layer after it.
  template <typename Make>
  void add_layer(std::vector<PartCost>& parts, std::int32_t layer, const std::vector<ExpertShare>& shares,
                 ShardTraffic traffic, Make make) {
    std::vector<PartCost> own;
    add_parts(own, layer, shares, make);
    const SimDuration beside = computation(own);
    const auto add_traffic = [&](LayerPart part, Collective kind, double bytes_each, bool is_hidden) {
      Transfer transfer = over_copies(kind, bytes_each, parameters_of(plan_, routing_.slots, {layer, 1}));
      const SimDuration whole = transfer.time;
      if (is_hidden) shorten(transfer, transfer.time - beside);
      parts.push_back({part,
                       static_cast<std::int16_t>(layer),
                       {transfer.time},
                       transfer.nic_bytes,
                       whole - transfer.time});
    };
    const bool is_sharded = plan_.parallel.zero == 3;
    if (is_sharded && traffic.gathers) {  // the first of a pass has nothing in front of it
      add_traffic(LayerPart::kParamsGather, Collective::kAllGather, kBytes16,
                  plan_.parallel.overlap_param_gather && !parts.empty());
    }
    parts.insert(parts.end(), own.begin(), own.end());
    if (is_sharded && traffic.scatters) {
      add_traffic(LayerPart::kGradientsScatter, Collective::kReduceScatter, gradient_bytes(),
                  plan_.parallel.overlap_grad_reduce);
    }
  }

  // Between all GPUs that hold the same parameters, or share them out: dense ones and experts.
  Transfer over_copies(Collective kind, double bytes_each, const GpuParameters& held) {
    Transfer transfer = collective({kind, bytes_each * held.dense, zero_.dense.shards});
    if (routing_.replicas.empty()) {
      transfer += collective({kind, bytes_each * held.experts, zero_.experts.shards});
    } else if (held.experts > 0) {
      transfer += over_replicas(kind, bytes_each, held);
    }
    return transfer;
  }

  // The sums of an instance's gradients, of which every GPU has its shard, are added up between instances.
  Transfer over_instances(const GpuParameters& held) {
    const auto add_up = [this](double parameters, const ShardedOver& over) {
      return collective(
          {Collective::kAllReduce, gradient_bytes() * parameters / over.shards.size, over.instances});
    };
    Transfer transfer = add_up(held.dense, zero_.dense);
    transfer += add_up(held.experts, zero_.experts);
    return transfer;
  }

  // The busiest GPU's experts one by one: groups of different experts share its NIC. That it may have to wait
  // for peers that are busy with another expert is left out.
  Transfer over_replicas(Collective kind, double bytes_each, const GpuParameters& held) {
    const double bytes = bytes_each * parameters_of_expert(plan_.model);
    Transfer transfer;
    for (const ReplicaGroup& replicas : routing_.replicas) {
      const Transfer one = collective({kind, bytes, replicas.group});
      transfer.time += one.time * replicas.experts;
      transfer.nic_bytes += one.nic_bytes * replicas.experts;
    }
    // They are of all layers, as if every stage had its share of them.
    const double of_layer = parameters_of_expert(plan_.model) * routing_.slots.per_gpu;
    const std::int64_t here = std::llround(held.experts / of_layer);
    const std::int64_t all = expert_layers();
    transfer.time = transfer.time * here / all;
    transfer.nic_bytes *= static_cast<double>(here) / static_cast<double>(all);
    return transfer;
  }

  [[nodiscard]] std::int64_t expert_layers() const {
    std::int64_t layers = 0;
    for (std::int32_t layer = 0; layer < plan_.model.layers + plan_.model.mtp_layers; ++layer)
      layers += work_.has_experts(layer) ? 1 : 0;
    return layers;
  }

  // Once for the next token, once for every further token that is predicted.
  void price_head(ChunkCosts& chunk) {
    for (std::int32_t head = 0; head <= plan_.model.mtp_layers; ++head) {
      add_parts(chunk.forward, -1, {{}}, [&](const auto&) { return work_.head_forward(); });
      const auto add = [&](std::vector<PartCost>& parts, Gradients gradients) {
        add_parts(parts, -1, {{}}, [&](const auto&) { return work_.head_backward(gradients); });
      };
      add(chunk.backward, Gradients::kAll);
      add(chunk.backward_input, Gradients::kActivations);
      add(chunk.backward_weight, Gradients::kWeights);
    }
  }

  // Once a step. With ZeRO-3 only what is in no layer is left, and the sums between instances: the shards of
  // all micro-batches are added up before.
  void price_data_parallel(ChunkCosts& chunk, GpuParameters held, LayerRange range) {
    const ParallelPlan& plan = plan_.parallel;
    GpuParameters in_layers;
    if (plan.zero == 3) {
      in_layers = parameters_of(plan_, routing_.slots, range);
      held.dense -= in_layers.dense;
      held.experts -= in_layers.experts;
    }
    chunk.gradient_reduction = over_copies(
        plan.zero == 0 ? Collective::kAllReduce : Collective::kReduceScatter, gradient_bytes(), held);
    chunk.gradient_reduction += over_instances(held);
    if (plan.zero >= 1) chunk.params_gather = over_copies(Collective::kAllGather, kBytes16, held);
    if (plan.overlap_grad_reduce) hide(chunk.gradient_reduction, sum(chunk.backward), held.layers);
    if (plan.overlap_param_gather) hide(chunk.params_gather, sum(chunk.forward), held.layers);
    Transfer between = over_instances(in_layers);
    if (plan.overlap_grad_reduce) hide(between, beside_shards(chunk.backward), held.layers);
    chunk.gradient_reduction += between;
  }

  // What sticks out when a collective runs bucket by bucket beside a pass: one layer's share at least, and
  // what the pass over the other layers is too short for.
  static void hide(Transfer& collective, SimDuration pass, std::int32_t layers) {
    const std::int64_t buckets = std::max(1, layers);
    shorten(collective,
            std::max(collective.time / buckets, collective.time - pass * (buckets - 1) / buckets));
  }

  // Tensor-parallel peers hold the same activations: between nodes each sends its share of them (Megatron-LM,
  // scatter-gather optimization).
  void price_sends() {
    const double bytes = kBytes16 * work_.scope().norm_tokens() * plan_.model.hidden;
    const bool has_copies = !plan_.parallel.sequence_parallel;
    for (std::int32_t position = 0; position + 1 < positions(); ++position) {
      const GpuGroup pair = between(position % shape_.stages, (position + 1) % shape_.stages);
      const double shares = has_copies && pair.nodes() > 1 ? plan_.parallel.tp : 1;
      result_.chunks[static_cast<std::size_t>(position)].send_onward =
          collective({Collective::kSendRecv, bytes / shares, pair});
    }
  }

  // A GPU of a stage and the one in its place on another.
  [[nodiscard]] GpuGroup between(std::int32_t a, std::int32_t b) const {
    if (a == b) return {1, 1};
    const std::int64_t per_stage = plan_.parallel.gpus() / plan_.parallel.pp;
    const auto node = [&](std::int64_t gpu) { return gpu / plan_.cluster.gpus_per_node; };
    // Some GPU of the stage has its counterpart on another node unless both stages are on one.
    const bool together = node(std::min(a, b) * per_stage) == node((std::max(a, b) + 1) * per_stage - 1);
    return {2, together ? 2 : 1};
  }

  StageCosts price_stage(std::int32_t stage) {
    StageCosts costs;
    const GpuParameters held = parameters_on(plan_, routing_.slots, schedule_, stage);
    const ParallelPlan& plan = plan_.parallel;
    if (plan.sequence_parallel && plan.tp > 1) {
      const double norms = 2.0 * held.layers * plan_.model.hidden * (plan_.model.biases ? 2 : 1);
      costs.layernorm_reduction =
          collective({Collective::kAllReduce, norms * gradient_bytes(), work_.groups().tensor}).time;
    }
    const double owned =
        plan.zero >= 1 ? owned_parameters(plan_, routing_.slots, schedule_, held) : held.dense + held.experts;
    const std::int32_t tensors = kTensorsPerLayer * held.layers + kOtherTensors;
    costs.clip = collective({Collective::kAllReduce, 4, everyone()}).time;
    costs.optimizer = memory((2 * gradient_bytes() + kOptimizerBytes) * owned, tensors) +
                      from_seconds(1e-6 * plan_.roofline.step_us);
    return costs;
  }

  SimDuration memory(double bytes, std::int32_t launches) {
    Kernel kernel;
    kernel.bytes = bytes;
    kernel.launches = launches;
    return round(cost_.kernels({&kernel, 1}));
  }
  [[nodiscard]] GpuGroup everyone() const {
    const auto gpus = static_cast<std::int32_t>(plan_.parallel.gpus());
    return {gpus, std::min(gpus, plan_.cluster.gpus_per_node)};
  }

  const TrainingPlan& plan_;
  const PipelineSchedule& schedule_;
  ScheduleShape shape_;
  const CostModel& cost_;
  const StepRouting& routing_;
  LayerWork work_;
  ZeroGroups zero_;
  std::vector<LayerRange> layers_;
  StepCosts result_;
};

}  // namespace

Transfer& Transfer::operator+=(const Transfer& other) {
  time += other.time;
  nic_bytes += other.nic_bytes;
  return *this;
}

StepCosts compute_step_costs(const TrainingPlan& plan, const PipelineSchedule& schedule,
                             const CostModel& cost, const StepRouting& routing) {
  return Pricer(plan, schedule, cost, routing).price();
}

}  // namespace goodput
