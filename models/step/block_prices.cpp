#include "models/step/block_prices.h"

#include <algorithm>
#include <utility>

namespace goodput {
namespace {

using RankShares = std::vector<ExpertShare>;

// That a faster library for mixtures of experts makes faster.
bool is_of_experts(LayerPart part) {
  return part == LayerPart::kExperts || part == LayerPart::kDispatch || part == LayerPart::kCombine;
}

SimDuration faster(SimDuration time, double speedup) {
  return speedup == 1 ? time : from_seconds(to_seconds(time) / speedup);
}

class BlockPricer {
 public:
  BlockPricer(const CostModel& cost, const Interference& interference, double moe_speedup,
              Granularity granularity)
      : pricer_(cost, interference), moe_speedup_(moe_speedup), granularity_(granularity) {}

  BlockPass pass(std::int16_t layer, const std::vector<PartWork>& works) {
    return finished(first_rank(layer, works));
  }
  // `works`: of the first rank; `by_rank` lists what of them depends on the share, for one.
  template <typename ByRank>
  BlockPass pass(std::int16_t layer, const std::vector<PartWork>& works, const RankShares& shares,
                 const ByRank& by_rank) {
    BlockPass pass = first_rank(layer, works);
    for (std::size_t rank = 1; rank < shares.size(); ++rank) {
      auto part = pass.parts.begin();
      for (const PartWork& work : by_rank(shares[rank])) {
        while (part->part != work.part) ++part;
        if (part->by_rank.empty()) part->by_rank.push_back(part->time);
        const Transfer cost = price(work);
        part->by_rank.push_back(cost.time);
        part->time = std::max(part->time, cost.time);
        part->least = std::min(part->least, cost.time);
        part->nic_bytes = cost.nic_bytes;
        ++part;
      }
    }
    pass.has_slowest_rank = find_slowest_rank(pass.parts, shares.size());
    return finished(std::move(pass));
  }

  [[nodiscard]] const OpPricer& pricer() const { return pricer_; }

 private:
  BlockPass first_rank(std::int16_t layer, const std::vector<PartWork>& works) {
    BlockPass pass;
    for (const PartWork& work : works) {
      const Transfer cost = price(work);
      pass.parts.push_back({work.part, layer, cost.time, cost.time, cost.nic_bytes});
      if (!info(work.part).is_communication) pass.computation += cost.time;
    }
    return pass;
  }
  [[nodiscard]] BlockPass finished(BlockPass pass) const {
    if (granularity_ == Granularity::kOps) merge(pass.parts);
    return pass;
  }
  [[nodiscard]] Transfer price(const PartWork& work) {
    Transfer cost = pricer_.part(work);
    if (is_of_experts(work.part)) cost.time = faster(cost.time, moe_speedup_);
    return cost;
  }

  static bool find_slowest_rank(const std::vector<PartCost>& parts, std::size_t ranks) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto is_slowest = [&](const PartCost& part) {
        return part.by_rank.empty() || part.by_rank[rank] == part.time;
      };
      if (std::all_of(parts.begin(), parts.end(), is_slowest)) return true;
    }
    return false;
  }

  // The ranks meet in every layer with experts, so that each waits for the slowest.
  static void merge(std::vector<PartCost>& parts) {
    PartCost whole;
    for (const PartCost& part : parts) {
      whole.layer = part.layer;
      whole.time += part.time;
      whole.least += part.least;
      whole.nic_bytes += part.nic_bytes;
    }
    parts.assign(1, whole);
  }

  OpPricer pricer_;
  double moe_speedup_;
  Granularity granularity_;
};

BlockPrice price_layer(BlockPricer& pricer, const LayerWork& work, std::int32_t layer,
                       const RankShares& shares, const std::optional<Cost>& schedule) {
  const auto id = static_cast<std::int16_t>(layer);
  const auto backward = [&](Gradients gradients) {
    return pricer.pass(id, work.backward(layer, shares.front(), gradients), shares,
                       [&](const ExpertShare& share) { return work.backward_by_rank(share, gradients); });
  };
  std::vector<PartWork> forward = work.forward(layer, shares.front());
  for (PartWork& part : forward) {
    if (part.part == LayerPart::kRouter) part.more = schedule;
  }
  return {
      pricer.pass(id, forward, shares, [&](const ExpertShare& share) { return work.forward_by_rank(share); }),
      backward(Gradients::kAll), backward(Gradients::kActivations), backward(Gradients::kWeights)};
}

BlockPrice price_embedding(BlockPricer& pricer, const LayerWork& work) {
  BlockPrice price;
  price.forward = pricer.pass(-1, work.embedding_forward());
  price.backward = pricer.pass(-1, work.embedding_backward());
  price.backward_input = price.backward;
  return price;
}

BlockPrice price_head(BlockPricer& pricer, const LayerWork& work) {
  return {pricer.pass(-1, work.head_forward()), pricer.pass(-1, work.head_backward(Gradients::kAll)),
          pricer.pass(-1, work.head_backward(Gradients::kActivations)),
          pricer.pass(-1, work.head_backward(Gradients::kWeights))};
}

}  // namespace

BlockPrices::BlockPrices(const TrainingPlan& plan, const CostModel& cost, const StepRouting& routing,
                         Granularity granularity) {
  const ModelShape& model = plan.model;
  const Interference interference = interference_of(plan);
  const LayerWork work(model, plan.parallel, plan.cluster.gpus_per_node, routing.slots);
  std::optional<Cost> schedule;
  if (routing.computes_schedules && model.moe)
    schedule = cost.dispatch_schedule(plan.parallel.ep, model.moe->experts);
  // How the kinds of layers differ: experts or none, multi-token prediction, loads.
  struct Kind {
    bool has_experts;
    bool is_mtp;
    const RankShares* shares;  // none: balanced
  };
  std::vector<Kind> kinds;
  const auto add_up = [this](const BlockPricer& pricer, BlockPrice& price) {
    price.priced_s = pricer.pricer().priced_s();
    tier_ = lowest(tier_, pricer.pricer().tier());
    for (const BlockPass* pass :
         {&price.forward, &price.backward, &price.backward_input, &price.backward_weight})
      have_slowest_rank_ = have_slowest_rank_ && pass->has_slowest_rank;
  };
  const auto price = [&](BlockPrice& into, auto&& price_block) {
    BlockPricer pricer(cost, interference, routing.moe_speedup, granularity);
    into = price_block(pricer);
    add_up(pricer, into);
  };
  price(embedding_, [&](BlockPricer& pricer) { return price_embedding(pricer, work); });
  price(head_, [&](BlockPricer& pricer) { return price_head(pricer, work); });
  priced_s_ = embedding_.priced_s + (1 + model.mtp_layers) * head_.priced_s;
  for (std::int32_t layer = 0; layer < model.layers + model.mtp_layers; ++layer) {
    const bool has_experts = work.has_experts(layer);
    const Kind kind{has_experts, layer >= model.layers,
                    has_experts ? &routing.shares[static_cast<std::size_t>(layer)] : nullptr};
    const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& other) {
      return kind.has_experts == other.has_experts && kind.is_mtp == other.is_mtp &&
             (!has_experts || *kind.shares == *other.shares);
    });
    kind_of_.push_back(static_cast<std::size_t>(known - kinds.begin()));
    if (known == kinds.end()) {
      kinds.push_back(kind);
      const RankShares shares = has_experts ? *kind.shares : RankShares{work.balanced_share()};
      if (shares.size() > 1) ranks_ = static_cast<std::int32_t>(shares.size());
      price(blocks_.emplace_back(),
            [&](BlockPricer& pricer) { return price_layer(pricer, work, layer, shares, schedule); });
    }
    priced_s_ += blocks_[kind_of_.back()].priced_s;
  }
}

}  // namespace goodput
