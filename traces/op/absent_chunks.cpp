#include "traces/op/absent_chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/ops/op_type.h"
#include "traces/op/ndtimeline_ids.h"

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

// The rows with ids from the order of their passes, of so many chunks a stage.
Result<OpTrace> with_derived_ids(OpTrace trace, int chunks) {
  std::ranges::fill(trace.seq_id, static_cast<std::int32_t>(kUnset));
  GOODPUT_TRY([[maybe_unused]] const DerivedIds derived, derive_ids(trace, chunks, IdGaps::kLeftToOthers));
  return trace;
}

// Fails when the passes are in an order of several chunks, and not in one of one chunk.
Status check_one_chunk(const OpTrace& trace) {
  constexpr int kMostChunks = 8;
  if (with_derived_ids(trace, 1)) return Ok{};
  for (int chunks = 2; chunks <= kMostChunks; ++chunks) {
    if (!with_derived_ids(trace, chunks)) continue;
    return Error{
        fmt::format("mc is absent from all rows, but the passes match a schedule with {} chunks per stage; "
                    "set vpp_size {} in the metadata",
                    chunks, chunks)};
  }
  return Ok{};
}

// Takes chunks and micro-batches of passes and buckets over from their order.
Status take_chunks(OpTrace& trace, int chunks) {
  GOODPUT_TRY(OpTrace derived, with_derived_ids(trace, chunks));
  if (derived.size() == trace.size()) {
    trace.mc = std::move(derived.mc);
    trace.mb_id = std::move(derived.mb_id);
    trace.gmc = std::move(derived.gmc);
  } else {
    trace = std::move(derived);  // peers and repeated rows are gone
  }
  return Ok{};
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
  return fmt::format("rows whose missing mc, mb_id or gmc was derived: {}", filled);
}

bool lacks_chunks(const OpTrace& trace) {
  return std::ranges::all_of(trace.mc, [](std::int16_t mc) { return mc == kUnset; });
}

Result<std::string> recover_chunks(OpTrace& trace, std::optional<int> vpp_size) {
  if (!vpp_size) GOODPUT_TRY_STATUS(check_one_chunk(trace));
  if (vpp_size.value_or(1) == 1) return std::string{};
  GOODPUT_TRY_STATUS(take_chunks(trace, *vpp_size));
  return fmt::format("mc, mb_id and gmc derived from the order of the passes ({} chunks per stage)",
                     *vpp_size);
}

}  // namespace goodput
