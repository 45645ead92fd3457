// What is costly to make of a step and never changes again, for the steps that were asked for lately.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/live/step_result.h"

namespace goodput {

// A step without what has an entry a worker.
struct StepDigest {
  StepTotals totals;
  std::int32_t dp_size = 1;
  std::int32_t pp_size = 1;
  std::int64_t gpus = 1;
  WorkerPlace worst;                               // the worker that alone costs most
  std::vector<std::vector<WorkerPlace>> suspects;  // of each of `causes`: the first few workers it is about
  std::vector<StepCause> causes;                   // without their workers
  std::vector<double> by_stage;
  std::vector<LabelledSlowdown> by_optype;
};

[[nodiscard]] StepDigest digest_of(const StepResult& result);

// Thread-safe. A full cache is emptied: what pages show next is in it again after one of them.
template <typename Value>
class StepCache {
 public:
  using Key = std::pair<std::string, StepId>;

  explicit StepCache(std::size_t most) : most_(most) {}

  [[nodiscard]] std::optional<Value> find(const Key& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return std::nullopt;
    return found->second;
  }
  void add(Key key, Value value) {
    const std::lock_guard lock(mutex_);
    if (entries_.size() >= most_) entries_.clear();
    entries_.insert_or_assign(std::move(key), std::move(value));
  }

 private:
  std::size_t most_;
  mutable std::mutex mutex_;
  std::map<Key, Value> entries_;
};

struct PageCache {
  StepCache<StepDigest> digests{4000};
  StepCache<std::string> maps{16};  // as SVG, a megabyte each for 8,192 workers
};

}  // namespace goodput
