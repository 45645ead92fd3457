#include <cstdint>
#include <stdexcept>
#include <string>

#include "gpu/bulk_copy.cuh"
#include "gpu/dispatch_shape.h"
#include "gpu/kernel.cuh"
#include "gpu/row_copy.h"

namespace goodput::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpSize;
constexpr int kUnroll = 4;  // loads in flight of a lane

// kScatter: item -> up to kCopies rows of the target. kGather: item <- one row of the source.
enum class CopyKind { kScatter, kGather };

// A warp an item. `width` is a row in elements of Word.
template <class Word, int kCopies, CopyKind kKind>
__global__ void __launch_bounds__(kThreads)
    copy_rows(const Word* __restrict__ from, Word* __restrict__ to, const std::int32_t* __restrict__ map,
              std::int64_t items, std::int32_t top_k, std::int64_t width) {
  const std::int64_t step = std::int64_t{gridDim.x} * kWarps;
  for (std::int64_t item = std::int64_t{blockIdx.x} * kWarps + warp_id(); item < items; item += step) {
    std::int32_t row[kCopies];
#pragma unroll
    for (int j = 0; j < kCopies; ++j) row[j] = j < top_k ? __ldg(map + item * top_k + j) : -1;
    const Word* const source = from + (kKind == CopyKind::kGather ? std::int64_t{row[0]} : item) * width;

    for (std::int64_t first = lane_id(); first < width; first += kUnroll * kWarpSize) {
      Word word[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const std::int64_t at = first + u * kWarpSize;
        if (at < width) word[u] = __ldcs(source + at);
      }
#pragma unroll
      for (int j = 0; j < kCopies; ++j) {
        const std::int64_t target = kKind == CopyKind::kGather ? item : std::int64_t{row[j]};
        if (target < 0) continue;
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          const std::int64_t at = first + u * kWarpSize;
          if (at < width) __stcs(to + target * width + at, word[u]);
        }
      }
    }
  }
}

// The bulk path. A row is cut into pieces of equal size (the last may be shorter); a warp takes every n-th
// row, piece by piece, through its own ring of stages.
constexpr int kBulkWarps = 4;
constexpr int kStages = 6;
constexpr std::int64_t kMaxPiece = 8192;

struct Pieces {
  std::int64_t row_bytes;
  std::int64_t piece_bytes;
  std::int32_t per_row;
};

Pieces cut_rows(std::int64_t row_bytes) {
  const std::int64_t per_row = (row_bytes + kMaxPiece - 1) / kMaxPiece;
  const std::int64_t piece = ((row_bytes + per_row - 1) / per_row + 15) / 16 * 16;
  return {row_bytes, piece, static_cast<std::int32_t>((row_bytes + piece - 1) / piece)};
}

// Where a warp is in its rows.
struct PieceCursor {
  std::int64_t item;
  std::int32_t piece;

  __device__ std::int64_t offset(const Pieces& pieces) const { return piece * pieces.piece_bytes; }
  __device__ unsigned bytes(const Pieces& pieces) const {
    const std::int64_t left = pieces.row_bytes - offset(pieces);
    return static_cast<unsigned>(left < pieces.piece_bytes ? left : pieces.piece_bytes);
  }
  __device__ void advance(const Pieces& pieces, std::int64_t step) {
    if (++piece < pieces.per_row) return;
    piece = 0;
    item += step;
  }
};

// What a lane writes of an item: the row of the target, -1 for nothing.
template <CopyKind kKind>
__device__ std::int64_t target_of_lane(const std::int32_t* map, std::int64_t item, std::int64_t items,
                                       std::int32_t top_k) {
  if (item >= items || lane_id() >= top_k) return -1;
  return kKind == CopyKind::kGather ? item : std::int64_t{__ldg(map + item * top_k + lane_id())};
}

// For one load each; all lanes may wait for them when it returns.
__device__ void init_barriers(std::uint64_t* barriers) {
  if (lane_id() == 0) {
    for (int stage = 0; stage < kStages; ++stage) barrier_init(barriers + stage, 1);
    fence_barriers();
  }
  __syncwarp();
}

// Lane 0 loads, lane j < top_k stores the j-th copy. Shared memory: kBulkWarps x kStages pieces, then
// barriers.
template <CopyKind kKind, LoadHint kHint>
__global__ void __launch_bounds__(kBulkWarps* kWarpSize)
    copy_rows_bulk(const unsigned char* __restrict__ from, unsigned char* __restrict__ to,
                   const std::int32_t* __restrict__ map, std::int64_t items, std::int32_t top_k,
                   Pieces pieces) {
  if constexpr (kHasBulkCopy) {
    auto* const shared = dynamic_shared<unsigned char>();
    unsigned char* const ring = shared + warp_id() * kStages * pieces.piece_bytes;
    auto* const barriers =
        reinterpret_cast<std::uint64_t*>(shared + kBulkWarps * kStages * pieces.piece_bytes) +
        warp_id() * kStages;
    const std::int64_t step = std::int64_t{gridDim.x} * kBulkWarps;
    const std::int64_t first = std::int64_t{blockIdx.x} * kBulkWarps + warp_id();
    PieceCursor loading{first, 0};
    const auto load_next = [&](int stage) {
      if (loading.item >= items) return;
      if (lane_id() == 0) {
        const std::int64_t row =
            kKind == CopyKind::kGather ? std::int64_t{__ldg(map + loading.item)} : loading.item;
        const unsigned char* const source = from + row * pieces.row_bytes + loading.offset(pieces);
        const unsigned bytes = loading.bytes(pieces);
        barrier_expect(barriers + stage, bytes);
        bulk_load<kHint>(ring + stage * pieces.piece_bytes, source, bytes, barriers + stage);
      }
      loading.advance(pieces, step);
    };

    init_barriers(barriers);
    for (int stage = 0; stage < kStages; ++stage) load_next(stage);

    std::int64_t target = -1;
    std::int64_t next_target = target_of_lane<kKind>(map, first, items, top_k);
    int stage = 0;
    unsigned parity = 0;
    int read_stage = -1;  // the one before this: its stores have had the time of a piece to read it
    for (PieceCursor storing{first, 0}; storing.item < items; storing.advance(pieces, step)) {
      if (storing.piece == 0) {
        target = next_target;
        next_target = target_of_lane<kKind>(map, storing.item + step, items, top_k);
      }
      barrier_wait(barriers + stage, parity);
      if (target >= 0) {
        bulk_store(to + target * pieces.row_bytes + storing.offset(pieces), ring + stage * pieces.piece_bytes,
                   storing.bytes(pieces));
      }
      bulk_commit();
      bulk_wait_read<1>();
      __syncwarp();
      if (read_stage >= 0) load_next(read_stage);
      read_stage = stage;
      if (++stage == kStages) {
        stage = 0;
        parity ^= 1U;
      }
    }
    bulk_wait_read<0>();
  } else {
    __trap();  // copy_device() says where it can run
  }
}

std::size_t bulk_shared_bytes(std::int64_t piece_bytes) {
  return static_cast<std::size_t>(kBulkWarps * kStages) *
         (static_cast<std::size_t>(piece_bytes) + sizeof(std::uint64_t));
}

bool multiple_of(const Rows& rows, std::uintptr_t size) {
  return reinterpret_cast<std::uintptr_t>(rows.from) % size == 0 &&
         reinterpret_cast<std::uintptr_t>(rows.to) % size == 0 &&
         static_cast<std::uintptr_t>(rows.row_bytes) % size == 0;
}

CopyPath choose_path(const Rows& rows, CopyPath asked, const CopyDevice& device) {
  const bool possible = device.has_bulk_copy && multiple_of(rows, 16);
  if (is_bulk(asked) && !device.has_bulk_copy) {
    throw std::invalid_argument("row copy: bulk copies need compute capability 9.0 (and code built for it)");
  }
  if (is_bulk(asked) && !possible) {
    throw std::invalid_argument(
        "row copy: bulk copies need rows and addresses that are multiples of 16 bytes");
  }
  // An assumption, not measured: small pieces cost the copy engine more than lanes.
  constexpr std::int64_t kLeastBulkRow = 2048;
  if (asked == CopyPath::kAuto) {
    return possible && rows.row_bytes >= kLeastBulkRow ? CopyPath::kBulk : CopyPath::kVector;
  }
  return asked;
}

template <class Word, int kCopies, CopyKind kKind>
void launch_vector(const Rows& rows, const std::int32_t* map, std::int32_t top_k, const CopyDevice& device,
                   cudaStream_t stream) {
  const auto kernel = copy_rows<Word, kCopies, kKind>;
  const unsigned blocks =
      resident_blocks(kernel, blocks_for(rows.items, kWarps), kThreads, 0, device.multiprocessors);
  launch(kernel, {blocks, kThreads}, stream, static_cast<const Word*>(rows.from), static_cast<Word*>(rows.to),
         map, rows.items, top_k, rows.row_bytes / static_cast<std::int64_t>(sizeof(Word)));
}

template <CopyKind kKind, LoadHint kHint>
void launch_bulk(const Rows& rows, const std::int32_t* map, std::int32_t top_k, const CopyDevice& device,
                 cudaStream_t stream) {
  constexpr unsigned kBulkThreads = kBulkWarps * kWarpSize;
  const Pieces pieces = cut_rows(rows.row_bytes);
  const std::size_t shared_bytes = bulk_shared_bytes(pieces.piece_bytes);
  const auto kernel = copy_rows_bulk<kKind, kHint>;
  const unsigned blocks = resident_blocks(kernel, blocks_for(rows.items, kBulkWarps), kBulkThreads,
                                          shared_bytes, device.multiprocessors);
  launch(kernel, {blocks, kBulkThreads, shared_bytes}, stream, static_cast<const unsigned char*>(rows.from),
         static_cast<unsigned char*>(rows.to), map, rows.items, top_k, pieces);
}

// 16 bytes a lane with as many copies as there are; narrower words, the slow way, with all eight.
template <CopyKind kKind>
void copy(const Rows& rows, const std::int32_t* map, std::int32_t top_k, CopyPath asked,
          const CopyDevice& device, cudaStream_t stream) {
  check_top_k("row copy", top_k);
  if (!multiple_of(rows, 2)) {
    throw std::invalid_argument("row copy: rows and addresses must be multiples of 2 bytes");
  }
  constexpr bool kGathers = kKind == CopyKind::kGather;
  constexpr int kMost = kGathers ? 1 : kMaxTopK;
  const CopyPath path = choose_path(rows, asked, device);
  if (path == CopyPath::kBulk) {
    launch_bulk<kKind, LoadHint::kNone>(rows, map, top_k, device, stream);
  } else if (path == CopyPath::kBulkEvictFirst) {
    launch_bulk<kKind, LoadHint::kEvictFirst>(rows, map, top_k, device, stream);
  } else if (!multiple_of(rows, 4)) {
    launch_vector<std::uint16_t, kMost, kKind>(rows, map, top_k, device, stream);
  } else if (!multiple_of(rows, 16)) {
    launch_vector<std::uint32_t, kMost, kKind>(rows, map, top_k, device, stream);
  } else if (top_k == 1) {
    launch_vector<uint4, 1, kKind>(rows, map, top_k, device, stream);
  } else if (top_k == 2) {
    launch_vector<uint4, kGathers ? 1 : 2, kKind>(rows, map, top_k, device, stream);
  } else if (top_k <= 4) {
    launch_vector<uint4, kGathers ? 1 : 4, kKind>(rows, map, top_k, device, stream);
  } else {
    launch_vector<uint4, kMost, kKind>(rows, map, top_k, device, stream);
  }
}

// Whether the code that was built holds the kernel for this device. Not the device alone decides: code
// for 8.0 runs on later ones too, without the copies. The shared memory is a state of the kernel, so it is
// set once, for the largest piece.
template <class Kernel>
bool enable_bulk_copy(Kernel* kernel, int device) {
  constexpr int kCompiledFor = 90;
  const auto shared_bytes = static_cast<int>(bulk_shared_bytes(kMaxPiece));
  int available = 0;
  cudaFuncAttributes attributes{};
  GOODPUT_CUDA(cudaDeviceGetAttribute(&available, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  GOODPUT_CUDA(cudaFuncGetAttributes(&attributes, kernel));
  if (attributes.ptxVersion < kCompiledFor || available < shared_bytes) return false;
  GOODPUT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  return true;
}

// A thread a received row: the last message that begins at or before it is the one it is in.
__global__ void __launch_bounds__(kThreads) map_received(PlacementView placement, ScheduleView schedule,
                                                         std::int64_t rows, std::int32_t* __restrict__ map) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (row >= rows) return;
  int message = 0;
  for (int left = placement.ranks * placement.hosted; left > 1;) {
    const int half = left / 2;
    if (schedule.receive_begin[message + half] <= row) message += half;
    left -= half;
  }
  const int source = message / placement.hosted;
  const int expert = message % placement.hosted;
  map[row] = schedule.group_begin[expert * placement.ranks + source] +
             static_cast<std::int32_t>(row - schedule.receive_begin[message]);
}

}  // namespace

const char* name_of(CopyPath path) {
  switch (path) {
    case CopyPath::kAuto:
      return "auto";
    case CopyPath::kVector:
      return "vector";
    case CopyPath::kBulk:
      return "bulk";
    case CopyPath::kBulkEvictFirst:
      return "bulk, evict first";
  }
  return "";
}

CopyDevice copy_device() {
  int device = 0;
  CopyDevice found{};
  GOODPUT_CUDA(cudaGetDevice(&device));
  GOODPUT_CUDA(cudaDeviceGetAttribute(&found.multiprocessors, cudaDevAttrMultiProcessorCount, device));
  found.has_bulk_copy = enable_bulk_copy(copy_rows_bulk<CopyKind::kScatter, LoadHint::kNone>, device) &&
                        enable_bulk_copy(copy_rows_bulk<CopyKind::kGather, LoadHint::kNone>, device) &&
                        enable_bulk_copy(copy_rows_bulk<CopyKind::kScatter, LoadHint::kEvictFirst>, device) &&
                        enable_bulk_copy(copy_rows_bulk<CopyKind::kGather, LoadHint::kEvictFirst>, device);
  return found;
}

void scatter_rows(const Rows& rows, const std::int32_t* map, std::int32_t top_k, CopyPath path,
                  const CopyDevice& device, cudaStream_t stream) {
  copy<CopyKind::kScatter>(rows, map, top_k, path, device, stream);
}

void gather_rows(const Rows& rows, const std::int32_t* map, CopyPath path, const CopyDevice& device,
                 cudaStream_t stream) {
  copy<CopyKind::kGather>(rows, map, 1, path, device, stream);
}

void regroup_map(const PlacementView& placement, const ScheduleView& schedule, std::int64_t rows,
                 std::int32_t* map, cudaStream_t stream) {
  launch(map_received, {blocks_for(rows, kThreads), kThreads}, stream, placement, schedule, rows, map);
}

}  // namespace goodput::gpu
