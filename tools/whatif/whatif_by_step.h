// What every worker costs in every step: keys of the JSON result, a table, and a strip of heat maps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/analysis/analysis.h"
#include "sim/base/json_fwd.h"
#include "tools/chart/heatmap.h"

namespace goodput {

// Appends slowdown_by_worker, _dp_rank and _stage to the entries of `per_step`, an object by step.
// REQUIRES for all: the analysis kept WhatIf::worker_step_slowdown.
void add_slowdowns_by_step(const Analysis& analysis, OrderedJson& per_step);

// Writes a row a step and worker (traces/op/worker_table.h).
Status write_slowdowns_by_step(const Analysis& analysis, const std::string& path,
                               std::string_view final_path);

// A heat map a step: of the steps in `list` (12,20-23), or of all; of many, as many as a reader takes in,
// evenly spread. Fails when the list is malformed or names no analysed step.
[[nodiscard]] Result<HeatmapStrip> step_heatmaps(const Analysis& analysis, const std::string& list);

// Of every worker, for people: `rank 12, host node3`.
[[nodiscard]] std::vector<std::string> worker_notes(const WorkerGrid& grid);

}  // namespace goodput
