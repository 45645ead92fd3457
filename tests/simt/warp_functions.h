// CUDA's barriers of a block and intrinsics of a warp, with its names. Beyond CUDA's they are strict: see
// machine.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "tests/simt/machine.h"

namespace simt {

template <class T>
std::uint64_t bits_of(T value) {
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T>
T value_of(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// What this lane gets when it reads `lane`'s value, or its own where that is no lane.
template <class T>
T shuffle(WarpOp op, unsigned mask, T value, int lane, int width, Site site) {
  if (width != kWarpLanes)
    machine().fail(std::string(name_of(op)) + ": width " + std::to_string(width) + ", only 32 is supported");
  const WarpExchange& all = machine().meet_warp(op, mask, bits_of(value), site);
  const int from = lane >= 0 && lane < kWarpLanes ? lane : machine().lane();
  return value_of<T>(all.values[static_cast<std::size_t>(from)]);
}

template <class T, class Fold>
T reduce(WarpOp op, unsigned mask, T value, Fold fold, Site site) {
  static_assert(std::is_same_v<T, unsigned> || std::is_same_v<T, int>);
  const WarpExchange& all = machine().meet_warp(op, mask, bits_of(value), site);
  T result = value_of<T>(all.values[0]);
  for (std::size_t lane = 1; lane < all.values.size(); ++lane)
    result = fold(result, value_of<T>(all.values[lane]));
  return result;
}

inline unsigned votes(WarpOp op, unsigned mask, int predicate, Site site) {
  return machine().meet_warp(op, mask, predicate != 0 ? 1 : 0, site).votes;
}

}  // namespace simt

inline void __syncthreads(simt::Site site = simt::Site::here()) {
  simt::machine().meet_block(simt::BlockOp::kSync, 0, site);
}

inline int __syncthreads_or(int predicate, simt::Site site = simt::Site::here()) {
  return simt::machine().meet_block(simt::BlockOp::kOr, predicate, site) != 0 ? 1 : 0;
}

inline int __syncthreads_and(int predicate, simt::Site site = simt::Site::here()) {
  const int not_set = predicate != 0 ? 0 : 1;
  return simt::machine().meet_block(simt::BlockOp::kAnd, not_set, site) == 0 ? 1 : 0;
}

inline int __syncthreads_count(int predicate, simt::Site site = simt::Site::here()) {
  return simt::machine().meet_block(simt::BlockOp::kCount, predicate, site);
}

inline void __syncwarp(unsigned mask = 0xffffffffU, simt::Site site = simt::Site::here()) {
  simt::machine().meet_warp(simt::WarpOp::kSync, mask, 0, site);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32, simt::Site site = simt::Site::here()) {
  return simt::shuffle(simt::WarpOp::kShfl, mask, value, lane & 31, width, site);
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 simt::Site site = simt::Site::here()) {
  const int from = simt::machine().lane() - static_cast<int>(std::min(delta, 32U));
  return simt::shuffle(simt::WarpOp::kShflUp, mask, value, from, width, site);
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   simt::Site site = simt::Site::here()) {
  const int from = simt::machine().lane() + static_cast<int>(std::min(delta, 32U));
  return simt::shuffle(simt::WarpOp::kShflDown, mask, value, from, width, site);
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,
                  simt::Site site = simt::Site::here()) {
  return simt::shuffle(simt::WarpOp::kShflXor, mask, value, simt::machine().lane() ^ lane_mask, width, site);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, simt::Site site = simt::Site::here()) {
  return simt::votes(simt::WarpOp::kBallot, mask, predicate, site);
}

inline int __any_sync(unsigned mask, int predicate, simt::Site site = simt::Site::here()) {
  return simt::votes(simt::WarpOp::kAny, mask, predicate, site) != 0 ? 1 : 0;
}

inline int __all_sync(unsigned mask, int predicate, simt::Site site = simt::Site::here()) {
  return simt::votes(simt::WarpOp::kAll, mask, predicate, site) == 0xffffffffU ? 1 : 0;
}

template <class T>
unsigned __match_any_sync(unsigned mask, T value, simt::Site site = simt::Site::here()) {
  const std::uint64_t own = simt::bits_of(value);
  const simt::WarpExchange& all = simt::machine().meet_warp(simt::WarpOp::kMatchAny, mask, own, site);
  unsigned equal = 0;
  for (unsigned lane = 0; lane < 32; ++lane) equal |= all.values[lane] == own ? 1U << lane : 0U;
  return equal;
}

template <class T>
T __reduce_min_sync(unsigned mask, T value, simt::Site site = simt::Site::here()) {
  const auto fold = [](T a, T b) { return std::min(a, b); };
  return simt::reduce(simt::WarpOp::kReduceMin, mask, value, fold, site);
}

template <class T>
T __reduce_max_sync(unsigned mask, T value, simt::Site site = simt::Site::here()) {
  const auto fold = [](T a, T b) { return std::max(a, b); };
  return simt::reduce(simt::WarpOp::kReduceMax, mask, value, fold, site);
}

// Wraps around, for int too.
template <class T>
T __reduce_add_sync(unsigned mask, T value, simt::Site site = simt::Site::here()) {
  const auto fold = [](T a, T b) {
    return static_cast<T>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
  };
  return simt::reduce(simt::WarpOp::kReduceAdd, mask, value, fold, site);
}

inline unsigned __reduce_or_sync(unsigned mask, unsigned value, simt::Site site = simt::Site::here()) {
  const auto fold = [](unsigned a, unsigned b) { return a | b; };
  return simt::reduce(simt::WarpOp::kReduceOr, mask, value, fold, site);
}

inline unsigned __reduce_and_sync(unsigned mask, unsigned value, simt::Site site = simt::Site::here()) {
  const auto fold = [](unsigned a, unsigned b) { return a & b; };
  return simt::reduce(simt::WarpOp::kReduceAnd, mask, value, fold, site);
}

inline unsigned __reduce_xor_sync(unsigned mask, unsigned value, simt::Site site = simt::Site::here()) {
  const auto fold = [](unsigned a, unsigned b) { return a ^ b; };
  return simt::reduce(simt::WarpOp::kReduceXor, mask, value, fold, site);
}
