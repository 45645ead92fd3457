// The points of a sweep, numbered from 0, and what each changes of the scenario.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/sweep/sweep_axis.h"
#include "models/sweep/sweep_config.h"
#include "sim/base/errors.h"
#include "sim/config/changes.h"

namespace goodput {

class SweepPoints {
 public:
  SweepPoints() = default;  // none
  // Of the axes of `sweep`. `seed` draws a Latin hypercube. Fails, before anything is made, where there are
  // more than kMostSweepPoints, and where axes contradict each other. Errors have a pointer from `sweep`.
  static Result<SweepPoints> make(const SweepConfig& sweep, std::uint64_t seed);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  // What varies, each once: axes in their order.
  [[nodiscard]] const std::vector<std::string>& parameters() const { return parameters_; }
  // JSON by parameter. REQUIRES: point < size().
  [[nodiscard]] std::vector<std::string> values(std::uint64_t point) const;
  // Points, ascending, that have every value of every axis between them: of a grid those that differ from the
  // first point in one axis.
  [[nodiscard]] std::vector<std::uint64_t> covering() const;
  // The nodes follow from the plan's (SweepAxis::is_spares()).
  [[nodiscard]] bool has_spares() const;

  // Of the scenario, after those of the sweep as a whole: pointers that vary, then those that follow.
  // `plan_nodes`: of the scenario with the changes so far; asked only where something follows from it.
  // Fails where an expression has no value; that Error has no place.
  using PlanNodes = std::function<Result<std::int32_t>(const std::vector<config::Change>&)>;
  [[nodiscard]] Result<std::vector<config::Change>> changes(std::uint64_t point,
                                                            const PlanNodes& plan_nodes) const;

  // Which of `count` shards a point belongs to: by what it changes, so that points which are added to a sweep
  // leave the others where they are.
  [[nodiscard]] std::uint64_t shard(std::uint64_t point, std::uint64_t count) const;

 private:
  Status add_settings();
  Status check_names() const;
  Status check_twice() const;
  Status count_points(const SweepConfig& sweep);
  Status check_repeats() const;
  void draw_latin(std::uint64_t seed);
  [[nodiscard]] bool follows_plan() const;
  using ValueOf = std::function<std::string(const std::string&)>;  // of a variable, JSON
  static Result<std::string> follow(const SweepSetting& setting, const ValueOf& value_of);

  std::vector<SweepAxis> axes_{};
  SweepDesign design_ = SweepDesign::kGrid;
  std::uint64_t size_ = 0;
  std::vector<std::string> parameters_{};
  std::vector<std::string> files_{};           // by parameter: SweepAxis::file
  std::vector<SweepSetting> settings_{};       // of all axes
  std::vector<std::vector<double>> shares_{};  // of a Latin hypercube: by axis, then point
};

}  // namespace goodput
