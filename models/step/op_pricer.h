// Prices of a cost model in whole nanoseconds: rounded once, here, so that all engines and both granularities
// agree.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "models/step/interference.h"
#include "models/step/layer_work.h"
#include "sim/base/tier.h"
#include "sim/base/units.h"
#include "sim/machine/cost_model.h"

namespace goodput {

// What communication takes when it has the links to itself, and what of it goes through a GPU's NIC.
struct Transfer {
  SimDuration time{};
  double nic_bytes = 0;
  double memory_bytes = 0;  // read and written in GPU memory

  Transfer& operator+=(const Transfer& other) {
    time += other.time;
    nic_bytes += other.nic_bytes;
    memory_bytes += other.memory_bytes;
    return *this;
  }
  // To what other work does not hide; the bytes with it.
  void shorten(SimDuration left);
};

// Nanoseconds that add up to at most that many seconds (104 days) are exact in float64, too.
inline constexpr double kLongestStepS = 9e6;

// Keeps a reference to the cost model.
class OpPricer {
 public:
  explicit OpPricer(const CostModel& cost, const Interference& interference = {})
      : cost_(cost), interference_(interference) {}

  [[nodiscard]] SimDuration kernels(std::span<const Kernel> sequence);
  [[nodiscard]] Transfer collective(const CollectiveCall& call);
  // The collectives of a part, as far as what runs beside them does not hide them, and its kernels.
  [[nodiscard]] Transfer part(const PartWork& work);

  // How much longer a computation and an overlapped transfer take than the computation alone. `alone`: the
  // part of the transfer that does not overlap.
  [[nodiscard]] Transfer beside(Transfer transfer, SimDuration computation, SimDuration alone = {}) const;
  [[nodiscard]] double share_taken(const Transfer& transfer) const {
    return interference_.share_taken(to_seconds(transfer.time), transfer.memory_bytes);
  }
  [[nodiscard]] const Interference& interference() const { return interference_; }

  // What was priced elsewhere.
  void add(double seconds, Tier tier);

  // All that was priced, added up. Prices are those of the cost model only while it is kLongestStepS or less.
  [[nodiscard]] double priced_s() const { return priced_s_; }
  [[nodiscard]] Tier tier() const { return tier_; }  // the lowest of all

 private:
  [[nodiscard]] SimDuration round(Cost cost);

  const CostModel& cost_;
  Interference interference_;
  double priced_s_ = 0;
  Tier tier_ = Tier::kMeasured;
  std::vector<std::pair<CollectiveCall, Cost>> asked_;  // a step asks for the same few again and again
};

}  // namespace goodput
