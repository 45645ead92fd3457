// What the points of a sweep come to: which ran, why others cannot be, which are best.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/scenario/trial_metrics.h"
#include "sim/base/tier.h"
#include "tools/sweep/store/point_rows.h"

namespace goodput {

// What points are compared by.
inline constexpr std::array kSweepMetrics = {TrialMetric::kCost, TrialMetric::kJct, TrialMetric::kDeadline,
                                             TrialMetric::kSamplesPerHour, TrialMetric::kGoodput};

// Points, in their order, and what they say.
class SweepSummary {
 public:
  // Points that say the same, of a policy or of all.
  struct Said {
    std::string policy{};  // empty: of the point as a whole
    std::string what{};
    std::uint64_t points = 0;
    std::uint64_t first = 0;  // the first of them
  };
  struct Best {
    TrialMetric metric = TrialMetric::kCost;
    Estimate estimate{};
    std::uint64_t point = 0;
    std::string policy{};
    bool is_finished = false;  // every trial reached the goal
  };

  // REQUIRES: in the order of the points.
  void add(const PointRows& rows);

  [[nodiscard]] std::uint64_t points() const { return points_; }
  [[nodiscard]] std::uint64_t ran() const { return ran_; }
  // Why points cannot be and policies cannot run, and what is to know of those that ran: what most points say
  // first.
  [[nodiscard]] std::vector<Said> errors() const { return by_points(errors_); }
  [[nodiscard]] std::vector<Said> refused() const { return by_points(refused_); }
  [[nodiscard]] std::vector<Said> warnings() const { return by_points(warnings_); }
  // Of kSweepMetrics those that some point has; of equal points the first. The cost of a job that reached its
  // goal is better than that of any that did not.
  [[nodiscard]] std::vector<Best> best() const;
  // Of all policies that ran.
  [[nodiscard]] std::optional<std::string> lowest_tier() const;

 private:
  using Saying = std::map<std::pair<std::string, std::string>, Said>;  // by policy and what
  static void count(const std::string& policy, const std::string& what, std::uint64_t point, Saying& all);
  static std::vector<Said> by_points(const Saying& all);
  void compare(const PolicyRows& policy, std::uint64_t point);

  std::uint64_t points_ = 0;
  std::uint64_t ran_ = 0;
  Saying errors_{};
  Saying refused_{};
  Saying warnings_{};
  std::array<std::optional<Best>, kSweepMetrics.size()> best_{};
  std::optional<Tier> lowest_tier_{};
};

}  // namespace goodput
