// How long a block and its parts take: cold, as other points are measured, and sustained, after the GPU has
// settled at the clock that its power and cooling allow.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/calibrate/block.h"
#include "gpu/calibrate/sustained_sweep.h"
#include "gpu/graph.h"

namespace goodput::gpu::calibrate {

// Times parts by events between them. Runs of the block that are not timed go first, so that the device never
// waits for the host.
class PartTimer {
 public:
  // Runs the block. `stream` must outlive it.
  PartTimer(const Block& block, const Stream& stream);

  [[nodiscard]] bool is_captured() const { return graph_ != nullptr; }
  // Once more; waits for the stream.
  void time_once();
  // Medians so far. REQUIRES: time_once().
  [[nodiscard]] std::vector<PartTime> times() const;

 private:
  void run_untimed();

  const Block& block_;
  const Stream& stream_;
  std::unique_ptr<Graph> graph_;  // null: the block cannot be captured
  int untimed_;                   // runs before a timed one
  std::vector<Event> ends_;       // of the parts, behind the beginning
  std::vector<std::vector<double>> us_;
};

// Fills the block with what is timed. Both throw bench::DeadlinePassed and what the block throws.
[[nodiscard]] Visit visit_block(const Block& block, PointMeasurer& measurer, Checking checking);
// `power_w` may be empty. The whole block by the rule, then the parts, without a pause, for as long as
// counted.
[[nodiscard]] Visit visit_block_sustained(const Block& block, const SustainedRule& rule,
                                          const PowerReader& power_w, PointMeasurer& measurer,
                                          Checking checking);

}  // namespace goodput::gpu::calibrate
