// K4 and K5: moving rows of activations, byte by byte as they are.
//
//   scatter_rows  to[map[item, j]] = from[item], every row read once and written up to top_k times
//   gather_rows   to[item] = from[map[item]]
//   regroup_map   the map of a received row to its place by expert
//
// Two ways, with the same result:
//   kVector  a warp a row, 16 bytes a lane; 4 or 2 where rows or addresses are no multiple of 16;
//   kBulk    (compute capability 9.0) the copy engine: a ring of pieces in shared memory, an mbarrier each;
//            rows and addresses must be multiples of 16 bytes;
//   kBulkEvictFirst  the same, and the L2 cache is told that what is loaded is needed once. To be measured
//            against kBulk: kAuto does not take it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/schedule.h"

namespace goodput::gpu {

enum class CopyPath : std::uint8_t { kAuto, kVector, kBulk, kBulkEvictFirst };

[[nodiscard]] const char* name_of(CopyPath path);  // "auto", "vector", "bulk", "bulk, evict first"
[[nodiscard]] constexpr bool is_bulk(CopyPath path) {
  return path == CopyPath::kBulk || path == CopyPath::kBulkEvictFirst;
}

// What of a device the copies depend on; from copy_device().
struct CopyDevice {
  int multiprocessors;
  bool has_bulk_copy;
};

// Of the current device, which it also prepares for the bulk path: to be asked once, outside of captures.
CopyDevice copy_device();

// REQUIRES: what is written does not overlap what is read.
struct Rows {
  const void* from;
  void* to;
  std::int64_t row_bytes;
  std::int64_t items;
};

// `map`: items x top_k rows of `to`; a negative one is no row.
// Both throw std::invalid_argument where `path` is a bulk one and cannot be, and where rows or addresses are
// no multiple of 2 bytes, and for a top_k beyond kMaxTopK.
void scatter_rows(const Rows& rows, const std::int32_t* map, std::int32_t top_k, CopyPath path,
                  const CopyDevice& device, cudaStream_t stream);
// `map`: items rows of `from`, none negative.
void gather_rows(const Rows& rows, const std::int32_t* map, CopyPath path, const CopyDevice& device,
                 cudaStream_t stream);

// `map`: `rows` received rows; the row of the regrouped buffer of each.
void regroup_map(const PlacementView& placement, const ScheduleView& schedule, std::int64_t rows,
                 std::int32_t* map, cudaStream_t stream);

}  // namespace goodput::gpu
