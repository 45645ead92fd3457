// What `goodput placement` is asked about a loss of nodes: options, read and checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/migration/node_mapping.h"
#include "models/migration/reconfiguration.h"
#include "sim/base/errors.h"
#include "sim/base/hash.h"
#include "sim/base/units.h"
#include "tools/cli/command.h"
#include "tools/cli/options.h"

namespace goodput {

struct LossOptions {
  std::string after_loss{};  // node positions
  std::optional<std::int64_t> lose{};
  std::optional<std::int64_t> joined{};
  std::string mapping{};    // a name; empty: greedy
  std::string migration{};  // a file, or a JSON object
  std::string model{};
  std::optional<std::int64_t> bytes_per_parameter{};  // none: 14
  std::optional<std::int64_t> expert_bytes{};

  void configure(Options& options);
  [[nodiscard]] bool is_wanted() const { return !after_loss.empty() || lose.has_value(); }
  // The first option that has no effect without a loss; "" if there is none.
  [[nodiscard]] std::string_view needs_loss() const;
};

// How many bytes move.
struct StateBytes {
  Bytes expert{};  // of one, in one layer
  Bytes dense{};   // what a node holds besides; 0: not counted
};

struct LossRequest {
  std::vector<std::int32_t> lost{};  // nodes, ascending; empty: all sets of `lose` nodes
  std::int32_t lose = 0;             // number of lost nodes
  std::int32_t joined = 0;           // nodes that replace them
  MappingRule mapping = MappingRule::kGreedy;
  ReconfigurationTiming timing{};
  std::optional<StateBytes> bytes{};  // none: transfers have no known time

  void add_to(Hash& hash) const;
};

// Errors: what contradicts itself, is out of range or cannot be read. REQUIRES: options.is_wanted().
[[nodiscard]] Result<LossRequest> read_loss_request(const LossOptions& options, std::int32_t nodes,
                                                    std::int32_t experts, const CommandContext& context);

}  // namespace goodput
