// `goodput import plan FILE...`: launch files of training frameworks to plans and models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/cli/command.h"
#include "tools/cli/options.h"

namespace goodput {

struct ImportPlanOptions {
  std::vector<std::string> files;
  std::string out;
  std::string cluster, model, recipe;
  std::optional<std::int64_t> gpus, batch, sequence_length;
  std::vector<std::string> changes;      // POINTER=VALUE
  std::vector<std::string> environment;  // NAME=VALUE
  std::vector<std::string> approximated;
};

void add_import_plan_options(Options& plan, ImportPlanOptions& options);

Result<ExitCode> run_import_plan(const ImportPlanOptions& options, const CommandContext& context);

}  // namespace goodput
