// What `goodput sweep` and `goodput merge` say in the end: as text for people, as JSON for programs.
#pragma once

#include <string>

#include "sim/base/json_fwd.h"
#include "tools/cli/command.h"
#include "tools/sweep/results/merge_sweep.h"
#include "tools/sweep/store/sweep_folder.h"
#include "tools/sweep/sweep_outcomes.h"
#include "tools/sweep/sweep_summary.h"

namespace goodput {

// Of a sweep of which all shards are done.
struct SweepReport {
  const std::string& dir;
  const SweepManifest& manifest;
  const Merged& merged;
  const SweepSummary& summary;
  const SweepOutcomes& outcomes;
};

[[nodiscard]] std::string sweep_text(const SweepReport& report);
// goodput.sweep/1 (docs/formats/sweeps.md).
[[nodiscard]] OrderedJson sweep_json(const SweepReport& report, const CommandContext& context);

// Of one whose other shards are still to come.
[[nodiscard]] std::string shard_text(Shard shard, std::uint64_t points, const SweepProgress& progress);
[[nodiscard]] OrderedJson shard_json(const std::string& dir, const SweepManifest& manifest, Shard shard,
                                     std::uint64_t points, const SweepProgress& progress,
                                     const CommandContext& context);

// Merges the sweep in the folder and says what came out. Fails, once everything is said, where no point can
// be.
Result<ExitCode> merge_and_report(const std::string& dir, const CommandContext& context);

}  // namespace goodput
