// K0 and K1: how many of a rank's slots go to each expert, and which of them each slot is.
//
// A slot is a token's choice, numbered token * top_k + choice. Slots keep their order among those of the same
// expert, without atomics: a block numbers its slots, then one scan an expert adds up the blocks.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/report.h"
#include "models/dispatch/dispatch.h"

namespace goodput::gpu {

inline constexpr int kSlotsPerBlock = 2048;

// Views of device memory.
struct SlotCounts {
  std::uint16_t* rank_in_block;  // slots: how many of the block's earlier slots have the same expert
  std::int32_t* block_begin;     // blocks x experts: slots of the expert in lower blocks
  moe::Tokens* counts;           // experts
};

// `expert_of`: slots; -1 is a dropped slot. Any other number that is no expert counts as dropped too, and the
// lowest such slot is reported.
void count_slots(const std::int32_t* expert_of, std::int64_t slots, std::int32_t experts,
                 const SlotCounts& result, DeviceReport* report, cudaStream_t stream);

}  // namespace goodput::gpu
