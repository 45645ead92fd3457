#include "gpu/bench/traffic.h"

#include <algorithm>
#include <cstdint>

namespace goodput::gpu::bench {
namespace {

constexpr std::int64_t kPositionBytes = 4;
constexpr std::int64_t kWeightBytes = 4;
constexpr int kLeastSets = 4;
constexpr int kMostSets = 16;

// Rows read or written of every token.
std::int64_t token_rows(const LayerShape& shape, std::int64_t rows_a_token) {
  return shape.tokens * rows_a_token * shape.row_bytes();
}

}  // namespace

std::string name_of(const LayerShape& shape) {
  return "T=" + std::to_string(shape.tokens) + " d=" + std::to_string(shape.hidden) +
         " k=" + std::to_string(shape.top_k);
}

std::int64_t scatter_bytes(const LayerShape& shape) {
  return token_rows(shape, 1 + shape.top_k);
}

std::int64_t combine_bytes(const LayerShape& shape) {
  return token_rows(shape, shape.top_k + 1) + shape.slots() * (kPositionBytes + kWeightBytes);
}

std::int64_t scatter_backward_bytes(const LayerShape& shape) {
  return token_rows(shape, shape.top_k + 1) + shape.slots() * kPositionBytes;
}

std::int64_t combine_backward_bytes(const LayerShape& shape) {
  return token_rows(shape, 1 + 2 * shape.top_k) + shape.slots() * (kPositionBytes + 2 * kWeightBytes);
}

std::int64_t regroup_bytes(std::int64_t rows, std::int64_t row_bytes) {
  return 2 * rows * row_bytes;
}

std::string name_of(const CopyFlow& flow) {
  return std::to_string(flow.reads) + " read : " + std::to_string(flow.writes) + " write";
}

std::int64_t place_stride(std::int64_t place_bytes) {
  return place_bytes + 17 * 256;
}

double floor_us(std::int64_t bytes, double gb_per_s) {
  return static_cast<double>(bytes) / (gb_per_s * 1e3);
}

double gb_per_s(std::int64_t bytes, double us) {
  return static_cast<double>(bytes) / (us * 1e3);
}

double share_of_ceiling(double floor, double us) {
  return floor / us;
}

const char* name_of(CacheState state) {
  return state == CacheState::kCold ? "cold" : "L2-hot";
}

int sets_for(std::int64_t bytes) {
  if (bytes >= kColdBytes) return 1;
  const std::int64_t enough = bytes <= 0 ? kMostSets : (kColdBytes + bytes - 1) / bytes;
  return static_cast<int>(std::clamp<std::int64_t>(enough, kLeastSets, kMostSets));
}

CacheState cache_state(std::int64_t bytes, int sets) {
  return bytes * sets >= kColdBytes ? CacheState::kCold : CacheState::kHot;
}

}  // namespace goodput::gpu::bench
