// What a step costs as one vector of numbers: the same entries for all plans of a pipeline shape.
//
// Passes are whole, but where two run in turn layer by layer (DualPipe, DualPipeV): there a pair has the
// longest paths through both, so that nothing is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "models/schedule/schedule.h"
#include "models/step/op_cost.h"
#include "models/step/step_costs.h"

namespace goodput {

class StepLayout {
 public:
  // REQUIRES: schedule.check(shape).
  StepLayout(const PipelineSchedule& schedule, const ScheduleShape& shape);

  [[nodiscard]] std::size_t size() const { return pairs_begin() + kOfPair * pairs_.size(); }
  [[nodiscard]] std::int32_t positions() const { return positions_; }
  [[nodiscard]] bool has_pairs() const { return !pairs_.empty(); }

  // Entries. Of a pair: its PairLengths, row by row, then the longest of them.
  [[nodiscard]] std::size_t entry_of(OpCost cost) const { return cost.index(positions_); }
  [[nodiscard]] std::size_t entry_of(const Pass& pass, std::int32_t position) const;
  [[nodiscard]] std::size_t entry_of_pair(std::int32_t forward, std::int32_t backward) const;
  static constexpr std::size_t kLongestOfPair = 4;

  // In whole nanoseconds, by entry. REQUIRES: costs of such a plan; no more than one rank, or a slowest one
  // (BlockPrices::have_slowest_rank) and neither pairs nor passes for weights alone; has_pairs(): priced
  // layer by layer.
  [[nodiscard]] std::vector<double> values(const StepCosts& costs) const;

  // The same for any plan, but passes for weights, where ranks do not meet, take as long as the rank with
  // least to do takes, and a pair as long as one of its passes.
  [[nodiscard]] std::vector<double> least_values(const StepCosts& costs) const;

 private:
  static constexpr std::size_t kOfPosition = 4;  // passes
  static constexpr std::size_t kOfPair = 5;

  [[nodiscard]] std::vector<double> values_but_pairs(const StepCosts& costs) const;
  [[nodiscard]] std::size_t passes_begin() const {
    return OpCost::kKinds * static_cast<std::size_t>(positions_);
  }
  [[nodiscard]] std::size_t pairs_begin() const {
    return passes_begin() + kOfPosition * static_cast<std::size_t>(positions_);
  }

  std::int32_t stages_;
  std::int32_t positions_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t>
      pairs_;  // by positions of forward and backward
};

}  // namespace goodput
