#include "sim/live/slowdown_shape.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "sim/base/errors.h"

namespace goodput {
namespace {

constexpr double kSlow = 0.02;          // excess from which on somebody is slow
constexpr double kLeastExcess = 0.005;  // of the slowest worker: below it there is no pattern to see

// The excess of each worker, and what can be said of it.
class ExcessMap {
 public:
  ExcessMap(std::span<const double> slowdown, std::int32_t dp_size, std::int32_t pp_size)
      : dp_(static_cast<std::size_t>(dp_size)), pp_(static_cast<std::size_t>(pp_size)) {
    for (const double worker : slowdown) excess_.push_back(std::max(0.0, worker - 1));
    sorted_ = excess_;
    std::ranges::sort(sorted_);
    for (const double excess : excess_) sum_ += excess;
  }

  [[nodiscard]] double largest() const { return sorted_.back(); }
  [[nodiscard]] double second() const { return sorted_.size() > 1 ? sorted_[sorted_.size() - 2] : 0; }
  [[nodiscard]] double median() const { return sorted_[(sorted_.size() - 1) / 2]; }
  [[nodiscard]] double sum() const { return sum_; }
  [[nodiscard]] double at(std::size_t worker) const { return excess_[worker]; }
  [[nodiscard]] std::size_t cells() const { return excess_.size(); }
  [[nodiscard]] std::size_t cells_above(double excess) const {
    return static_cast<std::size_t>(sorted_.end() - std::ranges::lower_bound(sorted_, excess));
  }

  // The share that whole columns have.
  [[nodiscard]] double column_share() const {
    std::vector<double> least(pp_, std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < excess_.size(); ++i) least[i % pp_] = std::min(least[i % pp_], excess_[i]);
    const double base = std::ranges::min(least);
    double columns = 0;
    for (const double column : least) columns += static_cast<double>(dp_) * (column - base);
    return sum_ > 0 ? columns / sum_ : 0;
  }

  // The largest excess of each replica, ascending.
  [[nodiscard]] std::vector<double> slowest_of_replicas() const {
    std::vector<double> slowest(dp_);
    for (std::size_t i = 0; i < excess_.size(); ++i)
      slowest[i / pp_] = std::max(slowest[i / pp_], excess_[i]);
    std::ranges::sort(slowest);
    return slowest;
  }

  struct Variance {
    double between_replicas = 0;
    double total = 0;

    [[nodiscard]] bool is_of_replicas(double share) const {
      return total > 0 && between_replicas >= share * total;
    }
  };
  [[nodiscard]] Variance variance() const {
    const double mean = sum_ / static_cast<double>(cells());
    std::vector<double> replica(dp_);
    for (std::size_t i = 0; i < cells(); ++i) replica[i / pp_] += excess_[i] / static_cast<double>(pp_);
    Variance variance;
    for (const double x : replica)
      variance.between_replicas += (x - mean) * (x - mean) * static_cast<double>(pp_);
    for (const double x : excess_) variance.total += (x - mean) * (x - mean);
    return variance;
  }

 private:
  std::size_t dp_;
  std::size_t pp_;
  std::vector<double> excess_;  // by worker
  std::vector<double> sorted_;
  double sum_ = 0;
};

// Of a job of one replica, where a column is a worker.
SlowdownShape lone_replica(const ExcessMap& map) {
  if (map.cells() == 1) return SlowdownShape::kOther;
  return map.second() <= 0.5 * map.largest() ? SlowdownShape::kWorkers : SlowdownShape::kStages;
}

}  // namespace

SlowdownShape slowdown_shape(std::span<const double> worker_slowdown, std::int32_t dp_size,
                             std::int32_t pp_size, double slowdown) {
  GOODPUT_CHECK(!worker_slowdown.empty() && worker_slowdown.size() == static_cast<std::size_t>(dp_size) *
                                                                          static_cast<std::size_t>(pp_size),
                "there must be one slowdown per worker");
  const ExcessMap map(worker_slowdown, dp_size, pp_size);
  if (std::max(slowdown - 1, map.largest()) < kSlow) return SlowdownShape::kNone;
  if (map.largest() < kLeastExcess) return SlowdownShape::kOther;
  if (dp_size == 1) return lone_replica(map);
  if (map.column_share() >= 0.5) return SlowdownShape::kStages;
  const std::vector<double> replicas = map.slowest_of_replicas();
  const auto slow = std::ranges::count_if(replicas, [&](double x) { return x >= 0.3 * map.largest(); });
  const bool stands_out = dp_size > 2 || replicas.front() <= 0.15 * map.largest();
  if (slow <= std::max(1, dp_size / 4) && stands_out) return SlowdownShape::kWorkers;
  return map.variance().is_of_replicas(0.4) ? SlowdownShape::kSequence : SlowdownShape::kOther;
}

SlowdownShape slowdown_shape_over(std::span<const std::vector<double>> maps, std::int32_t dp_size,
                                  std::int32_t pp_size, double slowdown) {
  GOODPUT_CHECK(!maps.empty(), "there must be at least one map");
  std::vector<double> mean(maps.front().size());
  for (const std::vector<double>& map : maps) {
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += map[i] / static_cast<double>(maps.size());
  }
  const SlowdownShape of_mean = slowdown_shape(mean, dp_size, pp_size, slowdown);
  if (maps.size() < 3 || of_mean == SlowdownShape::kNone) return of_mean;

  double above_mean = 0;
  double sum = 0;
  ExcessMap::Variance variance;
  for (const std::vector<double>& slowdowns : maps) {
    const ExcessMap map(slowdowns, dp_size, pp_size);
    sum += map.sum();
    for (std::size_t i = 0; i < mean.size(); ++i) above_mean += std::max(0.0, slowdowns[i] - mean[i]);
    variance.between_replicas += map.variance().between_replicas;
    variance.total += map.variance().total;
  }
  const double varying = sum > 0 ? above_mean / sum : 0;
  if (varying < 0.15) return of_mean == SlowdownShape::kSequence ? SlowdownShape::kWorkers : of_mean;
  if (of_mean == SlowdownShape::kStages && varying < 0.45) return of_mean;
  const ExcessMap map(mean, dp_size, pp_size);
  const std::size_t few = std::max<std::size_t>(1, map.cells() / 8);
  const bool few_stand_out =
      map.cells_above(0.5 * map.largest()) <= few && map.median() <= 0.1 * map.largest();
  if (varying < 0.6 && few_stand_out) return SlowdownShape::kWorkers;
  const double most = pp_size > 1 ? 0.8 : 0.65;
  return varying < most && variance.is_of_replicas(0.3) ? SlowdownShape::kSequence : SlowdownShape::kOther;
}

}  // namespace goodput
