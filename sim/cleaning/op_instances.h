// The rows of a trace by step, whatever is wrong with them: what the rules of the cleaning pass look at.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/ops/op_trace.h"

namespace goodput {

// (stage, type, seq_id) as one number, which orders ops as an index does.
using OpKey = std::uint64_t;

[[nodiscard]] inline OpKey op_key(OpType type, std::int16_t stage, std::int32_t seq_id) {
  return static_cast<OpKey>(stage) << 40U | static_cast<OpKey>(index_of(type)) << 32U |
         static_cast<std::uint32_t>(seq_id);
}
[[nodiscard]] inline std::int16_t stage_of(OpKey op) {
  return static_cast<std::int16_t>(op >> 40U);
}
[[nodiscard]] inline OpType type_of(OpKey op) {
  return static_cast<OpType>(op >> 32U & 0xffU);
}
[[nodiscard]] inline std::int32_t seq_id_of(OpKey op) {
  return static_cast<std::int32_t>(op & 0xffffffffU);
}
// `<optype>_<seq_id>_<stage>`
[[nodiscard]] std::string op_name(OpKey op);

struct InstanceRow {
  OpKey op = 0;
  std::int32_t dp_rank = 0;
  std::uint32_t row = 0;  // of the trace
};

[[nodiscard]] inline bool same_op(const InstanceRow& a, const InstanceRow& b) {
  return a.op == b.op && a.dp_rank == b.dp_rank;
}

struct StepInstances {
  std::int64_t step = 0;
  std::vector<InstanceRow> rows;  // by (dp_rank, op, row)
};

// By step, ascending.
[[nodiscard]] std::vector<StepInstances> list_instances(const OpTrace& trace);

// First index from `begin` on whose row is of another dp_rank: the end of a lane.
[[nodiscard]] std::size_t end_of_lane(std::span<const InstanceRow> rows, std::size_t begin);

}  // namespace goodput
