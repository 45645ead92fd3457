// What scenarios that differ a little have in common, read and computed once: recordings, slow-downs, hashes
// of files, plans whose steps are timed. Files stay as they were then. For one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/job/timed_plan.h"
#include "sim/base/errors.h"
#include "sim/config/library.h"
#include "sim/nodes/spot_trace.h"
#include "tools/simulate/scenario_files.h"

namespace goodput {

// Values by name; those asked for last are found first.
template <typename T>
class RecentlyUsed {
 public:
  // Null: it is not there. Valid until trim().
  [[nodiscard]] const T* find(const std::string& name) {
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->first != name) continue;
      entries_.splice(entries_.begin(), entries_, entry);
      return &entries_.front().second;
    }
    return nullptr;
  }
  const T& add(std::string name, T value) {
    entries_.emplace_front(std::move(name), std::move(value));
    return entries_.front().second;
  }
  // The value, which `make`, () -> Result<T>, makes where it is not there.
  template <typename Make>
  Result<const T*> at(const std::string& name, const Make& make) {
    if (const T* found = find(name)) return found;
    GOODPUT_TRY(T made, make());
    return &add(name, std::move(made));
  }
  // Leaves no more than these.
  void trim(std::size_t most) {
    while (entries_.size() > most) entries_.pop_back();
  }

 private:
  std::list<std::pair<std::string, T>> entries_;
};

struct SharedInputs {
  // A plan with its routing, and where that came from.
  struct Plan {
    std::unique_ptr<const TimedPlan> timed{};
    std::optional<ScenarioFile> routing_file{};
    std::optional<config::Source> routing_model{};
    std::vector<ScenarioFile> rank_files{};
  };

  RecentlyUsed<SpotTrace> traces{};
  RecentlyUsed<std::vector<double>> slowdowns{};
  RecentlyUsed<std::uint64_t> hashes{};
  RecentlyUsed<Plan> plans{};

  // Forgets what was not asked for lately. What was handed out before may not be used any more.
  void trim() {
    constexpr std::size_t kMostKept = 32;
    traces.trim(kMostKept);
    slowdowns.trim(kMostKept);
    hashes.trim(kMostKept);
    plans.trim(kMostKept);
  }
};

}  // namespace goodput
