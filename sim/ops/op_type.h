// The kinds of operation a training step consists of, and what the analysis knows about each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace goodput {

enum class OpType : std::uint8_t {
#define GOODPUT_OP_TYPE(enumerator, name, label, ideal) enumerator,
#include "sim/ops/op_types.def"
#undef GOODPUT_OP_TYPE
};

// What an op would take without stragglers, pooled over all recorded ops of its type (whatif: ideal values).
enum class IdealStatistic : std::uint8_t { kMean, kMedian };

struct OpTypeInfo {
  std::string_view name;   // as in NDTimeline traces
  std::string_view label;  // the group it is reported under: a send and its receive share one
  IdealStatistic ideal;
};

inline constexpr std::array kOpTypes = {
#define GOODPUT_OP_TYPE(enumerator, name, label, ideal) OpTypeInfo{name, label, IdealStatistic::ideal},
#include "sim/ops/op_types.def"
#undef GOODPUT_OP_TYPE
};
inline constexpr std::size_t kOpTypeCount = kOpTypes.size();

[[nodiscard]] constexpr std::size_t index_of(OpType type) {
  return static_cast<std::size_t>(type);
}
[[nodiscard]] constexpr const OpTypeInfo& info(OpType type) {
  return kOpTypes[index_of(type)];
}
[[nodiscard]] constexpr std::string_view to_string(OpType type) {
  return info(type).name;
}

// The type of exactly this name, if there is one.
[[nodiscard]] constexpr std::optional<OpType> find_op_type(std::string_view name) {
  for (std::size_t i = 0; i < kOpTypeCount; ++i) {
    if (kOpTypes[i].name == name) return static_cast<OpType>(i);
  }
  return std::nullopt;
}

// A pass over a model chunk.
[[nodiscard]] constexpr bool is_pass(OpType type) {
  return type == OpType::kForwardCompute || type == OpType::kBackwardCompute ||
         type == OpType::kBackwardWeight;
}
// A message between neighbouring stages, either end.
[[nodiscard]] constexpr bool is_message(OpType type) {
  return type == OpType::kForwardSend || type == OpType::kForwardRecv || type == OpType::kBackwardSend ||
         type == OpType::kBackwardRecv;
}
// A pass that receives from one neighbor and sends to the other.
[[nodiscard]] constexpr bool is_pass_compute(OpType type) {
  return type == OpType::kForwardCompute || type == OpType::kBackwardCompute;
}

}  // namespace goodput
