// A plan as a launch file of a training framework.
//
// A format is a file that defines `launch_export_<name>()` and a line in launch_exports.def
// (sim/base/registry.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "models/plan/training_plan.h"
#include "sim/base/errors.h"

namespace goodput::launch {

struct LaunchExport {
  std::string_view name;       // "megatron"
  std::string_view title;      // of the framework: "Megatron-LM"
  std::string_view summary;    // for lists
  std::string_view file_name;  // in a folder of launch files: "launch-megatron.sh"
  std::string_view to_do;      // before it can start: "set MEGATRON_PATH, DATA_ARGS and OPTIMIZER_ARGS"
  // The plan is effective(plan) (models/launch/effective_plan.h), with the FFN size that it had. Leaves out
  // what it cannot express: export_launch() finds it. Its own errors are for better messages.
  Result<std::string> (*write)(const TrainingPlan& plan);
};

#define GOODPUT_LAUNCH_EXPORT(name) [[nodiscard]] LaunchExport launch_export_##name();
#include "models/launch/launch_exports.def"
#undef GOODPUT_LAUNCH_EXPORT

[[nodiscard]] std::span<const LaunchExport> launch_exports();
Result<LaunchExport> find_launch_export(std::string_view name);

// Text of a launch file from which import_launch() reads the plan's model and layout again: every key that
// has an effect has the same value. Models and stacks are looked up in plan.library. Errors name the first
// key that the format cannot express ("PLAN /parallel/loss: ...").
Result<std::string> export_launch(const TrainingPlan& plan, std::string_view format);

// How launchers count GPUs.
struct LaunchNodes {
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 1;
};
// Fails if the plan's GPUs are not a whole number of nodes.
Result<LaunchNodes> launch_nodes(const TrainingPlan& plan);

// "Llama 3 70B on 1024 GPUs"
[[nodiscard]] std::string launch_title(const TrainingPlan& plan);

}  // namespace goodput::launch
