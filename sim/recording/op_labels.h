// The groups of ops under which a slowdown is reported: by op type, by pipeline stage, by data-parallel rank.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/recording/instance_set.h"
#include "sim/recording/recording.h"

namespace goodput {

struct OpLabel {
  std::string name;
  InstanceBox box;  // all its instances
};

[[nodiscard]] std::vector<OpLabel> dp_labels(const Recording& recording);     // "0", "1", ...
[[nodiscard]] std::vector<OpLabel> stage_labels(const Recording& recording);  // "0", "1", ...

enum class FirstOps : std::uint8_t {
  kAsTheirType,
  kApart,  // under "first-op": their launch delay is that of the whole step (data loading)
};

// The labels of the types that occur, alphabetically.
[[nodiscard]] std::vector<OpLabel> optype_labels(const Recording& recording, FirstOps first_ops);

// All instances of one pipeline stage in one replica.
[[nodiscard]] InstanceBox box_of_worker(const Recording& recording, std::size_t dp_rank, std::size_t stage);

// All instances of some workers (dp * pp_size + stage): a box a stage, however many workers there are.
[[nodiscard]] InstanceSet set_of_workers(const Recording& recording, std::span<const std::size_t> workers);

[[nodiscard]] std::vector<std::string> names(const std::vector<OpLabel>& labels);

}  // namespace goodput
