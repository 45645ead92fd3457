// Launch files to a plan or a model of ours.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/launch/launch_draft.h"
#include "models/launch/launch_format.h"
#include "models/plan/training_plan.h"
#include "models/shape/model_shape.h"
#include "sim/base/errors.h"
#include "sim/config/changes.h"
#include "sim/config/library.h"

namespace goodput::launch {

inline constexpr std::string_view kAssumedCluster = "dgx-h100";

// What the files do not say, or the user wants otherwise.
struct ImportRequest {
  std::vector<std::string> files{};
  std::string model_file{};   // of the model to take; empty: the files describe it
  std::string model_name{};   // what the plan calls it; empty: the plan contains it
  std::string recipe_file{};  // a plan that the files override
  std::string recipe_name{};
  std::string cluster{};  // a name or an absolute path; empty: kAssumedCluster, with a note
  std::optional<std::int64_t> gpus{};
  std::optional<std::int64_t> global_batch{};
  std::optional<std::int64_t> sequence_length{};
  std::vector<config::Change> changes{};  // "/model/vocab" = "50257"
  std::map<std::string, std::string> environment{};
  std::vector<std::string> approximated{};
  bool wants_model_only = false;  // the layout is not read back, and may be missing
};

struct MissingValue {
  std::string pointer;  // "/model/heads"
  std::string what;     // "the number of attention heads"
};

struct ImportedLaunch {
  std::vector<std::string> titles{};  // of the formats, by file
  LaunchDraft draft{};
  std::vector<MissingValue>
      missing{};                // what the user must give; not empty: there is no text yet, and no error
  bool is_model = false;        // the files describe a model only
  bool describes_plan = false;  // the text is a plan
  TrainingPlan plan{};          // its model too; of a model: only that
  std::string text{};           // the plan or model file, as JSON
};

// Errors have the place in the launch file where one is to blame.
Result<ImportedLaunch> import_launch(const ImportRequest& request, const config::Library& library);

}  // namespace goodput::launch
