// The types of operation a training step consists of.
//
// A type is a row of a table (sim/ops/op_type_table.h). The first rows of every table are NDTimeline's, which
// the analysis knows by name; a trace may bring types of its own along.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace goodput {

// The row of a type in its table.
enum class OpType : std::uint8_t {
#define GOODPUT_OP_TYPE(enumerator, name, label, op_class, ideal) enumerator,
#include "sim/ops/op_types.def"
#undef GOODPUT_OP_TYPE
};

enum class OpClass : std::uint8_t {
  kCompute,     // on the GPU
  kP2p,         // a message, either end
  kCollective,  // among several ranks
  kHost,        // on the CPU, while the GPU waits
  kOther,
};

// What an op would take without stragglers, pooled over recorded ops (whatif: ideal values).
enum class IdealStatistic : std::uint8_t { kMean, kMedian };

struct OpTypeInfo {
  std::string_view name;   // as in traces
  std::string_view label;  // the group it is reported under: a send and its receive share one
  OpClass op_class;
  IdealStatistic ideal;
};

inline constexpr std::array kNdtimelineTypes = {
#define GOODPUT_OP_TYPE(enumerator, name, label, op_class, ideal) \
  OpTypeInfo{name, label, OpClass::op_class, IdealStatistic::ideal},
#include "sim/ops/op_types.def"
#undef GOODPUT_OP_TYPE
};
inline constexpr std::size_t kNdtimelineTypeCount = kNdtimelineTypes.size();

[[nodiscard]] constexpr std::size_t index_of(OpType type) {
  return static_cast<std::size_t>(type);
}
// REQUIRES: a type of NDTimeline.
[[nodiscard]] constexpr std::string_view to_string(OpType type) {
  return kNdtimelineTypes.at(index_of(type)).name;
}

// NDTimeline's type of exactly this name, if there is one.
[[nodiscard]] constexpr std::optional<OpType> find_op_type(std::string_view name) {
  for (std::size_t i = 0; i < kNdtimelineTypeCount; ++i) {
    if (kNdtimelineTypes[i].name == name) return static_cast<OpType>(i);
  }
  return std::nullopt;
}

// A pass over a model chunk.
[[nodiscard]] constexpr bool is_pass(OpType type) {
  return type == OpType::kForwardCompute || type == OpType::kBackwardCompute ||
         type == OpType::kBackwardWeight;
}
// A message between neighboring stages, either end. REQUIRES: a type of NDTimeline.
[[nodiscard]] constexpr bool is_message(OpType type) {
  return kNdtimelineTypes.at(index_of(type)).op_class == OpClass::kP2p;
}
// A pass that receives from one neighbor and sends to the other.
[[nodiscard]] constexpr bool is_pass_compute(OpType type) {
  return type == OpType::kForwardCompute || type == OpType::kBackwardCompute;
}

}  // namespace goodput
