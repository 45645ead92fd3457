// How many tokens the router of every MoE layer sent to every expert, at the iterations that were recorded.
//
// Counts are assignments: a token that goes to its top two experts counts twice. Recordings with a row for
// every rank or micro-batch are summed over both when they are read (traces/routing/routing_reader.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace goodput {

class RoutingTrace {
 public:
  RoutingTrace() = default;

  // `loads` is dense: iterations x layers x experts. `layers` are the numbers that the recording gives them.
  // REQUIRES: iterations and layers ascend strictly; at least one of each and one expert; no load is negative
  // and those of one layer and iteration add up to less than 2^63.
  RoutingTrace(std::vector<std::int64_t> iterations, std::vector<std::int64_t> layers, std::int32_t experts,
               std::vector<std::int64_t> loads);

  [[nodiscard]] const std::vector<std::int64_t>& iterations() const { return iterations_; }
  [[nodiscard]] const std::vector<std::int64_t>& layers() const { return layers_; }
  [[nodiscard]] std::int32_t experts() const { return experts_; }

  // Tokens by expert. Both arguments are positions in iterations() and layers(), not the numbers found there.
  [[nodiscard]] std::span<const std::int64_t> loads(std::size_t iteration, std::size_t layer) const;

  // All tokens that were routed at once: the sum of loads().
  [[nodiscard]] std::int64_t total(std::size_t iteration, std::size_t layer) const;

  // Position of the latest iteration recorded at or before `step`: the last one holds for ever, and before
  // the first there is the first.
  [[nodiscard]] std::size_t index_at(std::int64_t step) const;

  // Position of exactly this number; nothing when it was not recorded.
  [[nodiscard]] std::optional<std::size_t> find_layer(std::int64_t layer) const;

  friend bool operator==(const RoutingTrace&, const RoutingTrace&) = default;

 private:
  std::vector<std::int64_t> iterations_;
  std::vector<std::int64_t> layers_;
  std::int32_t experts_ = 0;
  std::vector<std::int64_t> loads_;
};

}  // namespace goodput
