// One training step nobody need have run: a model, how it is cut up, the machines, and who prices the ops.
//
// configs/plans/*.json (format: docs/formats/plans.md). Strict: unknown keys and values out of range are
// errors that name file and JSON pointer.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/cost/cost_inputs.h"
#include "models/cost/efficiency.h"
#include "models/cost/roofline.h"
#include "models/plan/expert_slots.h"
#include "models/plan/parallel_plan.h"
#include "models/shape/model_shape.h"
#include "models/stack/software_stack.h"
#include "models/stack/step_family.h"
#include "sim/base/errors.h"
#include "sim/config/config.h"
#include "sim/machine/cluster.h"

namespace goodput {

inline constexpr config::Kind kPlanFiles{"plans", "plan"};
// Plans that launch files change: the recipes of Megatron-Bridge.
inline constexpr config::Kind kRecipeFiles{"recipes", "recipe"};

// How tokens spread over the experts of a layer: expert ranks by popularity, share ~ 1 / rank^skew (Zipf), in
// an order drawn per layer from the seed. 0: balanced.
struct ExpertLoad {
  double skew = 0;
};

// Steps of this family take so many times as long as they are predicted to: for questions of the kind what
// if.
struct FamilyError {
  StepFamily family;
  double factor = 1;
};

struct TrainingPlan {
  std::string file;                     // for messages; empty: not from a file
  std::string pointer;                  // where in the file it stands; empty: it is all of it
  std::vector<config::Source> sources;  // files that were read for it
  config::KeyNotes unused;              // keys of these that have no effect or a new name
  config::Library library;              // where it looks for files by name
  ModelShape model;
  ParallelPlan parallel;
  std::set<std::string> parallel_keys;  // that the plan's own "parallel" gives
  ClusterSpec cluster;
  RooflineParameters lone_kernels;      // the cluster's "efficiency"
  SoftwareStack stack;                  // the software that trains
  StatedEfficiency efficiency;          // in place of lone_kernels in the stack, key by key
  RooflineParameters roofline;          // what these three come to (settle_efficiency)
  std::string cost_model = "roofline";  // a name of models/cost/cost_models.def
  std::string calibration;              // path or name of a calibration; empty: the cost model's default
  ExpertLoad expert_load;
  std::optional<FamilyError> assumed_error;  // by which prices are off; none: they are right
  double memory_margin = 0;                  // share of a GPU's memory that has to stay free, 0 .. 1

  // Of the value at `at` ("/parallel/ep").
  [[nodiscard]] Error error(std::string_view at, std::string what) const;
};

// Reads the plan and the model and cluster files it names, and checks that they fit together
// (check_training_plan). `changes` are made before anything is read.
Result<TrainingPlan> read_training_plan(const std::string& path, const config::Library& library = {},
                                        const std::vector<config::Change>& changes = {});

// The rules between fields: sizes that must divide, parallelism against GPUs, schedule against shape. One
// line that names the field ("PLAN /parallel/ep: ..."). Whether it fits into memory is not its business
// (models/step/memory_model.h).
Status check_training_plan(const TrainingPlan& plan, ExpertSlots slots = {});

// One of these rules by itself: a step of more ops would take minutes and all memory. The pointer is from the
// plan. REQUIRES: a schedule that there is.
Status check_step_size(const TrainingPlan& plan);
// Another one: GPUs can hold whole experts (ExpertSlots), in groups of `ep`.
Status check_whole_experts(const ParallelPlan& plan);

[[nodiscard]] StepFamily family_of(const TrainingPlan& plan, const ParallelPlan& parallel);

// What the plan's prices are multiplied with, according to assumed_error; 1: they are right.
[[nodiscard]] double price_factor(const TrainingPlan& plan);

// Changes the plan's software: plan.roofline, and the stack's defaults for keys that the plan's "parallel"
// does not give.
void use_stack(TrainingPlan& plan, const SoftwareStack& stack);

// Sets parallel.etp if the plan does not say it. A stack's default does not apply to a model without experts,
// nor to ranks that tensor parallelism gives the same tokens. An ep that divides the ranks of a stage only if
// each GPU holds whole experts makes it 1. Reading a plan does.
void settle_experts(TrainingPlan& plan);

// Sets plan.roofline. Reading a plan does.
void settle_efficiency(TrainingPlan& plan);

// What the plan's cost model is made from (models/cost/cost_models.h).
[[nodiscard]] CostInputs cost_inputs(const TrainingPlan& plan);

// A cluster and what a lone kernel reaches of it: configs/clusters/*.json.
struct ClusterConfig {
  ClusterSpec cluster;
  RooflineParameters lone_kernels;
};
Result<ClusterConfig> read_cluster(const std::string& path);

// The fields of the files, for reading, echoing and describing them (docs/formats/plans.md, clusters.md). Of
// a plan's file the keys of `goodput synth` are checked only (models/plan/synth_plan.h).
[[nodiscard]] config::Fields config_fields(TrainingPlan& plan);
[[nodiscard]] config::Fields config_fields(ClusterConfig& config);
[[nodiscard]] Status config_finish(TrainingPlan& plan);

}  // namespace goodput
