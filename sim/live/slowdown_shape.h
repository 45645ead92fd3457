// What the map of workers' slowdowns looks like: machines, a partition of the model, or lengths of sequences
// (Fig. 14 of "Understanding Stragglers in Large Model Training Using What-if Analysis", OSDI'25).
//
// A map is a table of replicas by stages; what counts is each cell's excess, its slowdown less 1. A machine
// is a cell, or some of a replica whose host has several stages, in every step. An uneven partition is a
// column: the stage is slow in every replica, in every step. Lengths of sequences are drawn anew by every
// replica in every step: rows, each by another amount, others in the next step. Thresholds were chosen on
// synthetic jobs with one straggler each; what fits none of these is kOther (pauses of garbage collection).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/live/step_result.h"

namespace goodput {

// Of one step, `slowdown` times as long as an ideal one: `worker_slowdown` by dp_rank * pp_size + stage. In
// this order:
//   none      neither the step nor a worker alone is slower than 1.02
//   stages    half of the excess is what the least slow replica of each stage has above the least slow stage
//   workers   at most one replica (a quarter of many) has a cell of 0.3 of the largest excess
//   sequence  replicas differ: 0.4 of the variance of the excess is between them
// One step cannot tell a replica with long sequences from a slow host: of two replicas the other has to be
// below 0.15 of the largest excess for `workers`.
// REQUIRES: worker_slowdown.size() == dp_size * pp_size > 0.
[[nodiscard]] SlowdownShape slowdown_shape(std::span<const double> worker_slowdown, std::int32_t dp_size,
                                           std::int32_t pp_size, double slowdown);

// Of several steps of one job, `slowdown` being the mean. How much the maps vary tells: the share of the
// excess that single steps have above the mean map.
//   below 0.15            as the mean map of one step, where rows are machines
//   below 0.45            stages, where the mean map has that
//   below 0.6             workers that became slow on the way: few cells (an eighth) have half of the largest
//                         excess, and the median cell at most a tenth
//   below 0.8 (pp 1: 0.65) sequence, where 0.3 of the variance is between the replicas of a step
// Fewer than three steps do not tell how maps vary: then the mean map as of one step.
// REQUIRES: maps of one size, as above; at least one.
[[nodiscard]] SlowdownShape slowdown_shape_over(std::span<const std::vector<double>> maps,
                                                std::int32_t dp_size, std::int32_t pp_size, double slowdown);

}  // namespace goodput
