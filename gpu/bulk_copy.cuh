// Hopper's bulk asynchronous copies between global and shared memory, and the mbarrier that tells of their
// end: thin names for mbarrier.* and cp.async.bulk of the PTX ISA (8.0, sm_90).
//
// All addresses and sizes are multiples of 16 bytes, the barrier's address of 8. What a bulk copy brings is
// seen by who has seen the barrier's phase end; the source of a bulk store may be overwritten after
// bulk_wait_read, the store is seen by others after the kernel.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace goodput::gpu {

// Whether what is being compiled can use the functions below.
#if defined(GOODPUT_SIMT) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900)
inline constexpr bool kHasBulkCopy = true;
#else
inline constexpr bool kHasBulkCopy = false;
#endif

// What the L2 cache is told of a load: nothing, or to give up its lines before others, for what is read once.
enum class LoadHint { kNone, kEvictFirst };

#if defined(GOODPUT_SIMT)

__device__ inline void barrier_init(std::uint64_t* barrier, unsigned arrivals) {
  simt::barrier_init(barrier, arrivals);
}
__device__ inline void fence_barriers() {}
__device__ inline void barrier_expect(std::uint64_t* barrier, unsigned bytes) {
  simt::barrier_arrive_expect_tx(barrier, bytes);
}
__device__ inline void barrier_wait(std::uint64_t* barrier, unsigned parity) {
  while (!simt::barrier_try_wait(barrier, parity)) {
  }
}
template <LoadHint kHint = LoadHint::kNone>
__device__ inline void bulk_load(void* shared, const void* global, unsigned bytes, std::uint64_t* barrier) {
  simt::bulk_load(shared, global, bytes, barrier);
}
__device__ inline void bulk_store(void* global, const void* shared, unsigned bytes) {
  simt::bulk_store(global, shared, bytes);
}
__device__ inline void bulk_commit() {
  simt::bulk_commit_group();
}
template <int kPending>
__device__ inline void bulk_wait_read() {
  simt::bulk_wait_group_read(kPending);
}

#else  // compiled for older devices too, but called by nobody there

__device__ inline unsigned shared_address(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

// Ready for use after fence_barriers().
__device__ inline void barrier_init(std::uint64_t* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals)
               : "memory");
}

// The barriers that this thread initialised are ready for it and for the copy engine; other threads need a
// __syncwarp or more.
__device__ inline void fence_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// One arrival, and `bytes` more to come before the phase ends.
__device__ inline void barrier_expect(std::uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

// Until the phase of that parity has ended.
__device__ inline void barrier_wait(std::uint64_t* barrier, unsigned parity) {
  unsigned ended = 0;
  while (ended == 0) {
    asm volatile(
        "{\n"
        "  .reg .pred ended;\n"
        "  mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
        "  selp.u32 %0, 1, 0, ended;\n"
        "}\n"
        : "=r"(ended)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
  }
}

// A policy is one instruction more a load.
template <LoadHint kHint = LoadHint::kNone>
__device__ inline void bulk_load(void* shared, const void* global, unsigned bytes, std::uint64_t* barrier) {
  if constexpr (kHint == LoadHint::kEvictFirst) {
    std::uint64_t policy = 0;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, "
        "[%3], %4;" ::"r"(shared_address(shared)),
        "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(shared_address(barrier)), "l"(policy)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            shared_address(shared)),
        "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
  }
}

// Belongs to this thread's open group.
__device__ inline void bulk_store(void* global, const void* shared, unsigned bytes) {
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(global)),
      "r"(shared_address(shared)), "r"(bytes)
      : "memory");
}

__device__ inline void bulk_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Until all but the newest kPending groups of this thread have read their source.
template <int kPending>
__device__ inline void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

#endif

}  // namespace goodput::gpu
