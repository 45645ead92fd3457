#include "models/step/step_costs.h"

#include <algorithm>
#include <cmath>

#include "models/step/fp8_casts.h"
#include "models/step/gpu_parameters.h"
#include "models/step/zero_groups.h"

namespace goodput {
namespace {

// The optimizer updates a tensor at a time. A layer of GPT in Megatron-LM (v2.6,
// megatron/model/transformer.py) has two norms and four linear layers (queries with keys and values,
// attention's output, up, down), each with a weight and a bias.
constexpr std::int32_t kTensorsPerLayer = 2 * (2 + 4);
// Beside the layers, on a stage: assumed for all stages, though only the first (embedding of words and of
// positions) and the last (weight and bias of the final norm) have them.
constexpr std::int32_t kOtherTensors = 2;

SimDuration sum(const std::vector<PartCost>& parts) {
  SimDuration total{};
  for (const PartCost& part : parts) total += part.time;
  return total;
}

// How long a pass leaves the links to others than those that gather and scatter shards.
SimDuration beside_shards(const std::vector<PartCost>& parts) {
  SimDuration total{};
  for (const PartCost& part : parts) {
    total -= part.hidden;
    if (part.part != LayerPart::kParamsGather && part.part != LayerPart::kGradientsScatter)
      total += part.time;
  }
  return std::max(SimDuration{}, total);
}

class Pricer {
 public:
  Pricer(const TrainingPlan& plan, const PipelineSchedule& schedule, const CostModel& cost,
         const StepRouting& routing, const BlockPrices& blocks)
      : plan_(plan),
        schedule_(schedule),
        shape_(schedule_shape(plan.parallel)),
        pricer_(cost, interference_of(plan)),
        routing_(routing),
        blocks_(blocks),
        work_(plan.model, plan.parallel, plan.cluster.gpus_per_node, routing.slots),
        zero_(zero_groups(plan, schedule, routing.slots)),
        layers_(layers_by_position(plan, schedule.positions(shape_))) {
    pricer_.add(blocks.priced_s(), blocks.tier());
    result_.ranks = blocks.ranks();
    for (std::int32_t position = 0; position < positions(); ++position)
      held_.push_back(parameters_at(plan, routing.slots, layers_, position, pipeline_ends(schedule, shape_)));
  }

  StepCosts price() && {
    if (pricer_.priced_s() <= kLongestStepS) price_all();  // or sums of times would leave 63 bits
    result_.priced_s = pricer_.priced_s();
    result_.tier = pricer_.tier();
    return std::move(result_);
  }

 private:
  void price_all() {
    for (std::int32_t position = 0; position < positions(); ++position) {
      result_.chunks.push_back(price_chunk(position));
    }
    price_sends();
    for (std::int32_t stage = 0; stage < shape_.stages; ++stage) result_.stages.push_back(price_stage(stage));
    if (plan_.model.tied_head && pipeline_ends(schedule_, shape_) == PipelineEnds::kApart) {
      result_.embedding_reduction = collective(
          {Collective::kAllReduce, work_.scope().vocab_rows() * plan_.model.hidden * gradient_bytes(),
           between(0, shape_.stages - 1)});
    }
    if (plan_.parallel.overlap_grad_reduce) {
      result_.separate_reduction =
          collective({Collective::kAllReduce, gradient_bytes(), work_.groups().data}).time;
    }
  }

  [[nodiscard]] std::int32_t positions() const { return static_cast<std::int32_t>(layers_.size()); }
  [[nodiscard]] double gradient_bytes() const { return plan_.parallel.gradient_bytes; }

  Transfer collective(const CollectiveCall& call) { return pricer_.collective(call); }

  ChunkCosts price_chunk(std::int32_t position) {
    ChunkCosts chunk;
    position_ = static_cast<std::size_t>(position);
    if (position == 0) append(chunk.forward, blocks_.embedding().forward);
    const LayerRange range = layers_[position_];
    for (std::int32_t i = 0; i < range.count; ++i) {
      const std::int32_t layer = range.first + i;
      add_layer(chunk.forward, layer, blocks_.layer(layer).forward, {.gathers = true});
    }
    if (position == positions() - 1) add_heads(chunk);
    for (std::int32_t i = range.count - 1; i >= 0; --i) {
      const std::int32_t layer = range.first + i;
      const BlockPrice& price = blocks_.layer(layer);
      const ShardTraffic scatters{.scatters = true, .is_last = i == 0};
      add_layer(chunk.backward, layer, price.backward, {true, true, i == 0});
      add_layer(chunk.backward_input, layer, price.backward_input, {.gathers = true});
      add_layer(chunk.backward_weight, layer, price.backward_weight, scatters);
    }
    if (position == 0) {
      append(chunk.backward, blocks_.embedding().backward);
      append(chunk.backward_input, blocks_.embedding().backward_input);
    }
    price_data_parallel(chunk, held_[position_], range);
    return chunk;
  }

  static void append(std::vector<PartCost>& parts, const BlockPass& pass) {
    parts.insert(parts.end(), pass.parts.begin(), pass.parts.end());
  }

  // Once for the next token, once for every further token that is predicted.
  void add_heads(ChunkCosts& chunk) {
    for (std::int32_t head = 0; head <= plan_.model.mtp_layers; ++head) {
      append(chunk.forward, blocks_.head().forward);
      append(chunk.backward, blocks_.head().backward);
      append(chunk.backward_input, blocks_.head().backward_input);
      append(chunk.backward_weight, blocks_.head().backward_weight);
    }
  }

  // ZeRO-3: nobody holds all parameters of a layer, nor all their gradients.
  struct ShardTraffic {
    bool gathers = false;   // parameters, in front of the layer
    bool scatters = false;  // gradients, behind it
    bool is_last = false;   // last layer of the pass
  };

  // Where they overlap, a layer's parameters are gathered behind the layer before it, which takes as long as
  // this one, and its gradients are reduced behind the layer after it. If overlap has a cost, both share the
  // links, and the gradient reduction of the last layer does not overlap.
  void add_layer(std::vector<PartCost>& parts, std::int32_t layer, const BlockPass& pass,
                 ShardTraffic traffic) {
    const auto id = static_cast<std::int16_t>(layer);
    const bool shares_links = pricer_.interference().is_modelled();
    SimDuration computation = pass.computation;  // that can still overlap with transfers
    const auto add_traffic = [&](LayerPart part, Collective kind, double bytes_each, bool is_hidden) {
      Transfer transfer = over_copies(kind, bytes_each, parameters_of(plan_, routing_.slots, {layer, 1}));
      const SimDuration whole = transfer.time;
      if (is_hidden) transfer = pricer_.beside(transfer, computation);
      if (shares_links && is_hidden) computation = std::max(SimDuration{}, computation - whole);
      parts.push_back({part, id, transfer.time, transfer.time, transfer.nic_bytes, whole - transfer.time});
    };
    const bool is_sharded = plan_.parallel.zero == 3 && !plan_.parallel.stays_gathered();
    if (is_sharded && traffic.gathers) {  // the first of a pass has nothing in front of it
      add_traffic(LayerPart::kParamsGather, Collective::kAllGather, plan_.parallel.number_bytes(),
                  plan_.parallel.overlap_param_gather && !parts.empty());
    }
    for (const PartCost& part : pass.parts) {
      parts.push_back(part);
      parts.back().layer = id;
    }
    if (is_sharded && traffic.scatters) {
      add_traffic(LayerPart::kGradientsScatter, Collective::kReduceScatter, gradient_bytes(),
                  plan_.parallel.overlap_grad_reduce && !(shares_links && traffic.is_last));
    }
  }

  // Between all GPUs that hold the same parameters, or share them out: dense ones and experts.
  Transfer over_copies(Collective kind, double bytes_each, const GpuParameters& held) {
    Transfer transfer = collective({kind, bytes_each * held.dense, zero_.dense.shards});
    if (routing_.replicas.empty() || routing_.replicas[position_].empty()) {
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
    for (const ReplicaGroup& replicas : routing_.replicas[position_]) {
      const Transfer one = collective({kind, bytes, replicas.group});
      transfer.time += one.time * replicas.experts;
      transfer.nic_bytes += one.nic_bytes * replicas.experts;
    }
    // They are of all layers at the position: with ZeRO-3, which goes layer by layer, each has its share.
    const double of_layer = parameters_of_expert(plan_.model) * routing_.slots.per_gpu;
    const std::int64_t here = std::llround(held.experts / of_layer);
    const std::int64_t all = expert_layers();
    if (here == all) return transfer;
    transfer.time = transfer.time * here / all;
    transfer.nic_bytes *= static_cast<double>(here) / static_cast<double>(all);
    return transfer;
  }

  [[nodiscard]] std::int64_t expert_layers() const {  // at the position
    const LayerRange range = layers_[position_];
    std::int64_t layers = 0;
    for (std::int32_t i = 0; i < range.count; ++i) layers += work_.has_experts(range.first + i) ? 1 : 0;
    return layers;
  }

  // Once a step. With ZeRO-3 that gathers layer by layer, only parameters outside layers and the sums between
  // instances remain: the shards of all micro-batches are added up first.
  void price_data_parallel(ChunkCosts& chunk, GpuParameters held, LayerRange range) {
    const ParallelPlan& plan = plan_.parallel;
    GpuParameters in_layers;
    if (plan.zero == 3 && !plan.stays_gathered()) {
      in_layers = parameters_of(plan_, routing_.slots, range);
      held.dense -= in_layers.dense;
      held.experts -= in_layers.experts;
    }
    chunk.gradient_reduction = over_copies(
        plan.zero == 0 ? Collective::kAllReduce : Collective::kReduceScatter, gradient_bytes(), held);
    chunk.gradient_reduction += over_instances(held);
    if (plan.zero >= 1) chunk.params_gather = over_copies(Collective::kAllGather, plan.number_bytes(), held);
    slowed_by_.emplace_back();
    if (plan.overlap_grad_reduce) hide(chunk.gradient_reduction, sum(chunk.backward), held.layers);
    if (plan.overlap_param_gather) hide(chunk.params_gather, sum(chunk.forward), held.layers);
    Transfer between = over_instances(in_layers);
    if (plan.overlap_grad_reduce) hide(between, beside_shards(chunk.backward), held.layers);
    chunk.gradient_reduction += between;
  }

  // What sticks out when a collective runs bucket by bucket beside a pass: one layer's share at least, and
  // what the pass over the other layers is too short for.
  // With several chunks per stage, the rest of all but one overlaps with passes over other chunks, which the
  // graph models. Overlapped collectives slow passes down; this time is added after the last pass.
  void hide(Transfer& collective, SimDuration pass, std::int32_t layers) {
    const std::int64_t buckets = std::max(1, layers);
    const Transfer whole = collective;
    collective.shorten(std::max(collective.time / buckets, collective.time - pass * (buckets - 1) / buckets));
    const SimDuration overlapped = whole.time - collective.time / schedule_.chunks(shape_);
    slowed_by_.back() += from_seconds(pricer_.share_taken(whole) * to_seconds(overlapped));
  }

  // Tensor-parallel peers hold the same activations: between nodes each sends its share of them (Megatron-LM,
  // scatter-gather optimization). Within a stage nothing is sent.
  void price_sends() {
    const std::vector<std::int32_t> stages = stages_by_position(schedule_, shape_);
    const double bytes = plan_.parallel.number_bytes() * work_.scope().norm_tokens() * plan_.model.hidden;
    const bool has_copies = !plan_.parallel.sequence_parallel;
    for (std::size_t position = 0; position + 1 < stages.size(); ++position) {
      if (stages[position] == stages[position + 1]) continue;
      const GpuGroup pair = between(stages[position], stages[position + 1]);
      const double shares = has_copies && pair.nodes() > 1 ? plan_.parallel.tp : 1;
      result_.chunks[position].send_onward = collective({Collective::kSendRecv, bytes / shares, pair});
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
    GpuParameters held;
    for (std::int32_t chunk = 0; chunk < schedule_.chunks(shape_); ++chunk)
      held += held_[static_cast<std::size_t>(schedule_.place(shape_, stage, chunk).position)];
    const ParallelPlan& plan = plan_.parallel;
    if (plan.sequence_parallel && plan.tp > 1) {
      const double norms = 2.0 * held.layers * plan_.model.hidden * (plan_.model.biases.norm ? 2 : 1);
      costs.layernorm_reduction =
          collective({Collective::kAllReduce, norms * gradient_bytes(), work_.groups().tensor}).time;
    }
    const double owned =
        plan.zero >= 1 ? owned_parameters(plan_, routing_.slots, schedule_, held) : held.dense + held.experts;
    const std::int32_t tensors = kTensorsPerLayer * held.layers + kOtherTensors;
    costs.clip = collective({Collective::kAllReduce, 4, everyone()}).time;
    for (std::int32_t chunk = 0; chunk < schedule_.chunks(shape_); ++chunk)
      costs.optimizer += slowed_by_[static_cast<std::size_t>(schedule_.place(shape_, stage, chunk).position)];
    costs.optimizer += optimizer(owned, tensors) + from_seconds(1e-6 * plan_.roofline.step_us);
    const Fp8Casts casts(plan);
    if (casts.bytes > 0 && !casts.weights_each_pass)
      costs.optimizer += memory(casts.bytes * in_layers(stage), casts.kernels * tensors);
    return costs;
  }

  // Parameters of the stage's layers: the embedding and the output head are not cast to 8 bits.
  [[nodiscard]] double in_layers(std::int32_t stage) const {
    double parameters = 0;
    for (std::int32_t chunk = 0; chunk < schedule_.chunks(shape_); ++chunk) {
      const auto position = static_cast<std::size_t>(schedule_.place(shape_, stage, chunk).position);
      const GpuParameters held = parameters_of(plan_, routing_.slots, layers_[position]);
      parameters += held.dense + held.experts;
    }
    return parameters;
  }

  // Reads and writes the optimizer's state, writes the weight, and reads the gradient twice, the first time
  // for its norm. If offloaded: sends the gradient to the host and the weight back, and updates at the
  // bandwidth of the link.
  SimDuration optimizer(double parameters, std::int32_t tensors) {
    const ParallelPlan& plan = plan_.parallel;
    const double updated = 2 * plan.state_bytes() + plan.number_bytes();
    if (!plan.offload_optimizer) return memory((2 * gradient_bytes() + updated) * parameters, tensors);
    const double moved = gradient_bytes() + plan.number_bytes();
    const double on_host =
        (moved + updated + gradient_bytes()) * parameters / plan_.cluster.gpu.host_link.value;
    pricer_.add(on_host, Tier::kAssumed);
    const SimDuration norm = memory(gradient_bytes() * parameters, tensors);
    return pricer_.priced_s() <= kLongestStepS ? norm + from_seconds(on_host) : SimDuration{};
  }

  SimDuration memory(double bytes, std::int32_t launches) {
    Kernel kernel;
    kernel.bytes = bytes;
    kernel.launches = launches;
    return pricer_.kernels({&kernel, 1});
  }
  [[nodiscard]] GpuGroup everyone() const {
    const auto gpus = static_cast<std::int32_t>(plan_.parallel.gpus());
    return {gpus, std::min(gpus, plan_.cluster.gpus_per_node)};
  }

  const TrainingPlan& plan_;
  const PipelineSchedule& schedule_;
  ScheduleShape shape_;
  OpPricer pricer_;
  const StepRouting& routing_;
  const BlockPrices& blocks_;
  LayerWork work_;
  ZeroGroups zero_;
  std::vector<LayerRange> layers_;   // by position
  std::vector<GpuParameters> held_;  // the same
  std::size_t position_ = 0;         // whose chunk is being priced
  std::vector<SimDuration>
      slowed_by_;  // total slowdown of passes by overlapped collectives of a step; by position
  StepCosts result_;
};

}  // namespace

StepCosts compute_step_costs(const TrainingPlan& plan, const PipelineSchedule& schedule,
                             const CostModel& cost, const StepRouting& routing, const BlockPrices& blocks) {
  return Pricer(plan, schedule, cost, routing, blocks).price();
}

}  // namespace goodput
