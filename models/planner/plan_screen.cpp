#include "models/planner/plan_screen.h"

#include <array>

namespace goodput {
namespace {

// Of what stands under /parallel in an error of check_training_plan().
struct RejectedField {
  std::string_view pointer;
  Rejection rejection;
};
constexpr std::array kRejectedFields = {
    RejectedField{"/parallel/tp", Rejection::kTensor},
    RejectedField{"/parallel/cp", Rejection::kSequence},
    RejectedField{"/parallel/ep", Rejection::kExperts},
    RejectedField{"/parallel/etp", Rejection::kExpertTensor},
    RejectedField{"/parallel/zero_instances", Rejection::kInstances},
    RejectedField{"/parallel/vpp", Rejection::kChunks},
};

// One for every position of the pipeline, at least.
bool has_layers(const TrainingPlan& plan) {
  const ParallelPlan& parallel = plan.parallel;
  if (std::int64_t{parallel.pp} * parallel.vpp > plan.model.layers) return false;
  const auto schedule = find_schedule(parallel.schedule);
  const ScheduleShape shape{.stages = parallel.pp, .chunks = parallel.vpp};
  return !schedule || (*schedule)->positions(shape) <= plan.model.layers;
}

std::optional<Rejection> rejection_at(const TrainingPlan& plan, std::string_view pointer) {
  const ParallelPlan& parallel = plan.parallel;
  for (const RejectedField& field : kRejectedFields) {
    if (pointer == field.pointer) return field.rejection;
  }
  if (pointer == "/parallel/sequence_length") {
    const std::int64_t shards = std::int64_t{parallel.cp} * parallel.tp;
    if (parallel.sequence_length % shards != 0) return Rejection::kSequence;
  }
  if (pointer == "/parallel/pp") {
    return has_layers(plan) ? Rejection::kStages : Rejection::kLayers;
  }
  if (pointer == "/parallel/global_batch") {
    const std::int64_t at_once = std::int64_t{parallel.dp} * parallel.micro_batch;
    if (parallel.global_batch % at_once != 0) return Rejection::kBatch;
    return check_step_size(plan) ? Rejection::kMicroBatches : Rejection::kOps;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(Rejection rejection) {
  static constexpr std::array kPhrases = {
#define GOODPUT_PLAN_REJECTION(enumerator, phrase) std::string_view(phrase),
#include "models/planner/rejections.def"
#undef GOODPUT_PLAN_REJECTION
  };
  return kPhrases[static_cast<std::size_t>(rejection)];
}

Result<std::optional<Rejection>> broken_rule(const TrainingPlan& plan) {
  const Status status = check_training_plan(plan);
  if (status) return std::optional<Rejection>{};
  const std::string& pointer = status.error().where.pointer;
  const auto rejection = rejection_at(plan, std::string_view(pointer).substr(plan.pointer.size()));
  if (!rejection) return status.error();
  return rejection;
}

}  // namespace goodput
