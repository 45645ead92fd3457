// The plans that a search keeps of one gate, while it times more of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/base/units.h"

namespace goodput {

// Of two plans the one that comes first is better.
struct TimedChoice {
  SimDuration step{};
  Bytes memory{};
  std::size_t choice = 0;

  friend auto operator<=>(const TimedChoice&, const TimedChoice&) = default;
};

// The `keep` best plans, at most one of each kind.
class GateStanding {
 public:
  using Kind = std::array<std::int64_t, 5>;  // plans of one kind compete with each other only

  explicit GateStanding(std::size_t keep) : keep_(keep) {}

  void add(const Kind& kind, const TimedChoice& timed);
  // Whether a plan that takes so long at the least may be kept. Once it may not, it never may again.
  [[nodiscard]] bool may_keep(const Kind& kind, double at_least_ns) const;
  // The best first.
  [[nodiscard]] std::vector<TimedChoice> best() const;

 private:
  std::size_t keep_;
  std::map<Kind, TimedChoice> of_kind_;
};

}  // namespace goodput
