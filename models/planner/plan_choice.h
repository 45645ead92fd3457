// The candidates of a plan search: what each chooses where a base plan leaves room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "models/plan/training_plan.h"
#include "models/planner/plan_space.h"
#include "sim/base/errors.h"

namespace goodput {

// One candidate. Small: there are many.
struct PlanChoice {
  std::int32_t dp = 1;
  std::int32_t pp = 1;
  std::int32_t tp = 1;
  std::int32_t cp = 1;
  std::int32_t ep = 1;
  std::int32_t etp = 0;  // 0: tp
  std::int32_t vpp = 1;
  std::int32_t micro_batch = 1;
  std::uint8_t zero = 0;
  Recompute recompute = Recompute::kNone;
  std::int16_t schedule = 0;  // position in schedules()

  friend bool operator==(const PlanChoice&, const PlanChoice&) = default;
};

struct PlanChoices {
  std::vector<PlanChoice> choices;  // the simplest first: few GPUs a replica, nothing recomputed, no sharding
  std::int64_t of_other_sizes = 0;  // dp x pp x tp x cp that `space` names and that are not `gpus`
  std::int64_t of_other_batches = 0;  // dp that `space` names and that do not divide the global batch
  std::set<std::int32_t> odd_dp;      // dp of `gpus` that do not divide the global batch, named or not
};

// Every choice of plans for exactly `gpus` GPUs. Lists of `space` are taken as they are, in ascending order.
// Where one is empty:
//   tp           divides the GPUs of a node, the model's heads and hidden sizes
//   cp           powers of two that leave a GPU kShortestPart tokens of a sequence
//   pp, dp       what is left of the GPUs, up to a layer a stage; dp divides the global batch
//   ep           divides the experts and dp x cp x tp / etp
//   etp          as in the base plan; if that leaves it open: tp, and 1 with sequence parallelism
//   micro_batch  divides what a replica has of the batch, up to kLongestMicroBatch tokens a GPU
//   schedule     1f1b and zb-h1; interleaved with several chunks; dualpipe where experts are on several GPUs;
//                each where it takes the stages and the micro-batches. Without a pipeline: 1f1b. gpipe, zb-v,
//                v-half and dualpipev only if `space` names them
//   vpp          of interleaved: divides the layers of a stage; where stages have no equal number of them,
//                would take at most a twentieth more layers to fill all positions
//   recompute    all that differ for the model
//   zero         0 and 1; 2 where a replica has one micro-batch, for it is 1 where it has more; 3 without a
//                pipeline, for it gathers all parameters for every micro-batch. 0 where there is nobody to
//                share with
// Fails on more than kMostChoices.
[[nodiscard]] Result<PlanChoices> list_choices(const TrainingPlan& base, std::int64_t gpus,
                                               const PlanSpace& space);

inline constexpr std::int64_t kShortestPart = 4096;
inline constexpr std::int64_t kLongestMicroBatch = 131'072;
inline constexpr std::size_t kMostChoices = 2'000'000;

// Makes plans of choices: the rest is as in `base`, but layers that do not spread evenly over the positions
// of the pipeline are spread by spread_layers().
class PlanMaker {
 public:
  // Keeps references. REQUIRES: the plans that are asked for are of `choices`.
  PlanMaker(const TrainingPlan& base, const std::vector<PlanChoice>& choices);

  [[nodiscard]] ParallelPlan plan(const PlanChoice& choice) const;

 private:
  using Pipeline = std::tuple<std::int16_t, std::int32_t, std::int32_t>;  // schedule, pp, vpp
  static Pipeline pipeline_of(const PlanChoice& choice) { return {choice.schedule, choice.pp, choice.vpp}; }
  [[nodiscard]] std::int32_t positions(const PlanChoice& choice) const;

  const TrainingPlan& base_;
  std::map<Pipeline, std::vector<std::int32_t>> splits_;  // where positions do not divide the layers
};

}  // namespace goodput
