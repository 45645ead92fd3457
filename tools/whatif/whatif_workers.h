// Where the workers stand, how fast they are, and what each costs in every step, as compact arrays: what a
// page of a job draws.
#pragma once

#include <cstddef>

#include "sim/analysis/analysis.h"
#include "sim/base/json_fwd.h"

namespace goodput {

// Of larger jobs, steps that follow each other are averaged: a page of 1024 workers stays below 1.5 MB.
inline constexpr std::size_t kMostStepCells = 150'000;

// Appends "workers" and "worker_steps" (docs/formats/whatif.md); of one step at least, at most `most_cells`
// numbers of it. REQUIRES: the analysis kept WhatIf::worker_step_slowdown.
void add_workers_json(const Analysis& analysis, OrderedJson& json, std::size_t most_cells = kMostStepCells);

}  // namespace goodput
