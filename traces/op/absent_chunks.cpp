#include "traces/op/absent_chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/ops/op_type.h"

namespace goodput {
namespace {

bool has_chunk(OpType type) {
  return is_pass_compute(type) || type == OpType::kParamsAllGather || type == OpType::kGradsReduceScatter;
}

// Sets `value` where it is unset; whether it was.
template <typename Value>
bool fill(Value& value, std::int64_t derived) {
  if (value != kUnset || derived >= std::numeric_limits<Value>::max()) return false;
  value = static_cast<Value>(derived);
  return true;
}

}  // namespace

std::string fill_absent_chunks(OpTrace& trace, int vpp_size) {
  if (trace.size() == 0) return {};
  const std::int64_t stages = *std::ranges::max_element(trace.stage) + std::int64_t{1};
  const bool has_one_chunk = vpp_size == 1 && *std::ranges::max_element(trace.mc) <= 0;
  std::size_t filled = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const OpType type = trace.optype[i];
    if (!has_chunk(type)) continue;
    bool any = has_one_chunk && fill(trace.mc[i], 0);
    if (is_pass_compute(type)) {
      if (has_one_chunk) any |= fill(trace.mb_id[i], trace.seq_id[i]);
      if (trace.mc[i] != kUnset) any |= fill(trace.gmc[i], trace.mc[i] * stages + trace.stage[i]);
    }
    filled += any ? 1 : 0;
  }
  if (filled == 0) return {};
  return fmt::format("mc, mb_id or gmc derived for {} rows that leave them out", filled);
}

}  // namespace goodput
