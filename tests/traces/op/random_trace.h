// Traces of random rows, each in the range that a row may have: for round trips through files.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <random>

#include "sim/base/float32.h"
#include "sim/ops/op_trace.h"

namespace goodput {

enum class TimeKind { kFloat32, kFloat64, kShortFloat64 };

// kShortFloat64: float64 values of few decimals, the hardest to tell from float32 in a text.
inline double random_time(std::mt19937_64& random, TimeKind kind) {
  const double value = static_cast<double>(random() % 1'000'000'000) / 1e7;
  if (kind == TimeKind::kFloat64) return value + 1e-13 * static_cast<double>(random() % 1000);
  if (kind == TimeKind::kShortFloat64) return static_cast<double>(random() % 1000) / 10;
  return round_to_float32(value);
}

inline std::int64_t random_integer(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  if (random() % 4 == 0) return random() % 2 == 0 ? low : high;
  return low + static_cast<std::int64_t>(random() % 100);
}

inline OpTrace random_trace(std::uint64_t seed, std::size_t rows, TimeKind kind) {
  constexpr std::int64_t kMax16 = std::numeric_limits<std::int16_t>::max() - 1;
  constexpr std::int64_t kMax32 = std::numeric_limits<std::int32_t>::max() - 1;
  constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();
  std::mt19937_64 random(seed);
  OpTrace trace;
  for (std::size_t i = 0; i < rows; ++i) {
    OpRow row;
    row.dp_rank = random_integer(random, 0, kMax32);
    row.stage = random_integer(random, 0, kMax16);
    row.rank = random_integer(random, 0, kMax32);
    row.step = random_integer(random, -kMax64 - 1, kMax64);
    row.optype = static_cast<OpType>(random() % kNdtimelineTypeCount);
    row.start_s = random_time(random, kind) * (random() % 2 == 0 ? 1 : -1);
    row.duration_s = random_time(random, kind);
    row.seq_id = random_integer(random, 0, kMax32);
    row.mc = random_integer(random, kUnset, kMax16);
    row.mb_id = random_integer(random, kUnset, kMax32);
    row.gmc = random_integer(random, kUnset, kMax32);
    REQUIRE_FALSE(trace.append(row));
  }
  return trace;
}

[[nodiscard]] inline bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

inline void check_equal(const OpTrace& a, const OpTrace& b) {
  REQUIRE(a.size() == b.size());
  CHECK(a.dp_rank == b.dp_rank);
  CHECK(a.stage == b.stage);
  CHECK(a.rank == b.rank);
  CHECK(a.step == b.step);
  CHECK(a.optype == b.optype);
  CHECK(std::equal(a.start_s.begin(), a.start_s.end(), b.start_s.begin(), b.start_s.end(), same_bits));
  CHECK(std::equal(a.duration_s.begin(), a.duration_s.end(), b.duration_s.begin(), b.duration_s.end(),
                   same_bits));
  CHECK(a.seq_id == b.seq_id);
  CHECK(a.mc == b.mc);
  CHECK(a.mb_id == b.mb_id);
  CHECK(a.gmc == b.gmc);
}

}  // namespace goodput
