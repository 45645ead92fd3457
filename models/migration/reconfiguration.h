// How long it takes to detect a loss and to form new process groups: always the same, or different in each
// reconfiguration. Lazarus (arXiv 2407.04656, section 6.3) measured 10 to 20 s and 5 to 15 s.
#pragma once

#include <cstdint>

#include "models/migration/expert_migration.h"
#include "sim/base/random.h"
#include "sim/base/units.h"
#include "sim/config/config.h"

namespace goodput {

// A time that is uniformly distributed between two limits, or fixed if they are equal.
struct TimeRange {
  SimDuration least{};
  SimDuration most{};

  [[nodiscard]] bool is_fixed() const { return least == most; }
  [[nodiscard]] SimDuration middle() const { return least + (most - least) / 2; }
  // At least `least` and below `most`. A fixed time uses no random number.
  [[nodiscard]] SimDuration draw(RandomStream& random) const;

  friend bool operator==(const TimeRange&, const TimeRange&) = default;
  friend TimeRange operator+(const TimeRange& a, const TimeRange& b) {
    return {a.least + b.least, a.most + b.most};
  }
};

// Seconds: a number, or {"uniform": [10, 20]}.
[[nodiscard]] config::Value time_range(TimeRange& range, config::Range limits);

struct ReconfigurationTiming {
  TimeRange detect{MigrationTiming{}.detect, MigrationTiming{}.detect};
  TimeRange regroup{MigrationTiming{}.regroup, MigrationTiming{}.regroup};
  bool overlap = false;     // nodes regroup while the loss is being detected
  bool dense_state = true;  // nodes that join fetch all their state, not only experts
  MigrationTiming moves{};  // of the experts; its `detect` and `regroup` are not used
};
[[nodiscard]] config::Fields config_fields(ReconfigurationTiming& timing);

// From a loss until nodes have regrouped: the limits, and the mean over uniform times.
[[nodiscard]] TimeRange until_regrouped(const ReconfigurationTiming& timing);
[[nodiscard]] double mean_s_until_regrouped(const ReconfigurationTiming& timing);

struct ReconfigurationTimes {
  SimDuration detect{};
  SimDuration regroup{};  // after the detection
};

// The times of one run. The n-th reconfiguration gets the n-th number of both streams, whatever it needs them
// for, so that the times of a run do not depend on its other random numbers.
class ReconfigurationDraws {
 public:
  ReconfigurationDraws(std::uint64_t seed, std::uint64_t trial)
      : detect_(seed, "migration detect", trial), regroup_(seed, "migration regroup", trial) {}

  // Of the next reconfiguration. Without a loss there is no detection to overlap with.
  [[nodiscard]] ReconfigurationTimes next(const ReconfigurationTiming& timing, bool has_lost);

 private:
  RandomStream detect_;
  RandomStream regroup_;
};

}  // namespace goodput
