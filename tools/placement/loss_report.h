// What a loss of nodes does to a placement: which experts move to which nodes, and how long training stops.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/migration/expert_migration.h"
#include "models/migration/reconfiguration.h"
#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"
#include "tools/placement/loss_request.h"
#include "tools/placement/placement_report.h"

namespace goodput {

// Over the sets of lost nodes that every expert survives.
struct LossSpread {
  std::int64_t sets = 0;  // that were tried
  std::int64_t survived = 0;
  bool is_sampled = false;  // else these are all sets
  struct Range {
    double least = 0;
    double mean = 0;
    double most = 0;
  };
  // Without a survived set all are 0.
  Range experts{};  // moved
  Range transfer_s{};
};

struct LossReport {
  LossRequest request{};
  std::uint64_t seed = 0;
  std::int32_t nodes_before = 0;
  std::int32_t nodes_after = 0;
  std::int32_t min_replicas = 0;  // that the new placement really has
  std::int32_t min_replicas_before = 0;
  std::optional<Migration> migration{};              // --after-loss; it has no time if experts are lost
  SimDuration transfer{};                            // of that migration
  std::optional<LossSpread> spread{};                // --lose
  std::vector<std::int64_t> layers{};                // numbers, by position
  std::vector<std::vector<std::int32_t>> experts{};  // numbers, by layer and position
};

// `report`: the placement before the loss, of the same request. Errors: nodes that cannot hold the experts.
[[nodiscard]] Result<LossReport> report_loss(const PlacementReport& report, const LossRequest& loss);

// Of detection, regrouping, planning and transfer. REQUIRES: report.spread and known bytes.
[[nodiscard]] LossSpread::Range total_seconds(const LossReport& report);

[[nodiscard]] std::string loss_text(const LossReport& report);

// The member "migration" that docs/formats/placement.md describes.
[[nodiscard]] OrderedJson loss_json(const LossReport& report);

}  // namespace goodput
