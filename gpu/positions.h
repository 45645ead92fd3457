// K3: where every slot's row goes in the send buffer. Two kernels:
//   walk_surplus  the rows of the tokens that leave the rank, by expert, in order: a warp a piece of them;
//   place         a thread a slot.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/count_slots.h"
#include "gpu/schedule.h"

namespace goodput::gpu {

// `positions`: slots; the row of the send buffer, -1 for slots that are dropped, whose expert does not exist
// or gets no tokens. Rows of the same destination and expert keep the order of their slots. `surplus_rows`:
// slots, to work with.
void place_slots(const PlacementView& placement, const ScheduleView& schedule, const SlotCounts& counts,
                 const std::int32_t* expert_of, std::int64_t slots, std::int32_t* surplus_rows,
                 std::int32_t* positions, cudaStream_t stream);

}  // namespace goodput::gpu
