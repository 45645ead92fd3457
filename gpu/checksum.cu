#include "gpu/checksum.h"
#include "gpu/kernel.cuh"

namespace goodput::gpu {
namespace {

using Word = unsigned long long;

constexpr int kThreads = 256;
constexpr std::int64_t kWordBytes = sizeof(Word);
constexpr std::int64_t kPairBytes = 2 * kWordBytes;  // what a thread loads at once
constexpr Word kStep = 0x9e3779b97f4a7c15ULL;

__device__ inline Word mix(Word word) {
  word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  word = (word ^ (word >> 27U)) * 0x94d049bb133111ebULL;
  return word ^ (word >> 31U);
}

// Of word `index`.
__device__ inline Word term(Word word, std::int64_t index) {
  return mix(word + static_cast<Word>(index + 1) * kStep);
}

// Byte by byte: for the end of a block, and for blocks at odd addresses.
__device__ inline Word load_word(const unsigned char* data, std::int64_t index, std::int64_t bytes) {
  const std::int64_t begin = index * kWordBytes;
  const auto here =
      static_cast<int>(min(static_cast<long long>(bytes - begin), static_cast<long long>(kWordBytes)));
  Word word = 0;
  for (int i = 0; i < here; ++i) word |= static_cast<Word>(data[begin + i]) << static_cast<unsigned>(8 * i);
  return word;
}

// `parts` blocks of threads for every block of memory, one after the other.
__global__ void __launch_bounds__(kThreads)
    add_words(const Block* __restrict__ blocks, unsigned parts, Word* __restrict__ sums) {
  const Block block = blocks[blockIdx.x / parts];
  const auto* const data = static_cast<const unsigned char*>(block.data);
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(data) % kPairBytes == 0;
  const std::int64_t pairs = is_aligned ? block.bytes / kPairBytes : 0;
  const std::int64_t words = (block.bytes + kWordBytes - 1) / kWordBytes;
  const std::int64_t first = std::int64_t{blockIdx.x % parts} * kThreads + threadIdx.x;
  const std::int64_t stride = std::int64_t{parts} * kThreads;

  Word sum = 0;
  for (std::int64_t pair = first; pair < pairs; pair += stride) {
    const uint4 loaded = __ldcs(reinterpret_cast<const uint4*>(data) + pair);
    sum += term(static_cast<Word>(loaded.y) << 32U | loaded.x, 2 * pair);
    sum += term(static_cast<Word>(loaded.w) << 32U | loaded.z, 2 * pair + 1);
  }
  for (std::int64_t word = 2 * pairs + first; word < words; word += stride) {
    sum += term(load_word(data, word, block.bytes), word);
  }
  if (first == 0) sum += mix(static_cast<Word>(block.bytes));
  sum = warp_sum(sum);
  if (lane_id() == 0) atomicAdd(sums + blockIdx.x / parts, sum);
}

}  // namespace

void checksum_blocks(const Block* blocks, std::int32_t count, std::int64_t most_bytes, int multiprocessors,
                     std::uint64_t* sums, cudaStream_t stream) {
  if (count == 0) return;
  static_assert(sizeof(Word) == sizeof(std::uint64_t));
  auto* const words = reinterpret_cast<Word*>(sums);
  GOODPUT_CUDA(cudaMemsetAsync(words, 0, static_cast<std::size_t>(count) * sizeof(Word), stream));
  // As many as keep the device busy, and no more than have something to do in the largest block.
  const unsigned resident = resident_blocks(add_words, ~0U, kThreads, 0, multiprocessors);
  const unsigned busy = blocks_for(resident, count);
  const unsigned useful = blocks_for(most_bytes, kThreads * kPairBytes);
  const unsigned parts = std::max(1U, std::min(busy, useful));
  launch(add_words, {static_cast<unsigned>(count) * parts, kThreads}, stream, blocks, parts, words);
}

}  // namespace goodput::gpu
