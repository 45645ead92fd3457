// The inner loops of the TimingEngine: element-wise max and add over the lanes of one op.
//
// Every loop computes the same IEEE operations in the same order on every machine; only the vector width
// differs. REQUIRES for all: rows do not overlap unless a comment says so; entries are no NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace goodput::lanes {

// Per-lane values of an op: a row, or (row == nullptr) one number for all lanes.
struct Values {
  const double* row = nullptr;
  double constant = 0;
};

// out = max of `count` rows. REQUIRES: count >= 1.
void latest(double* out, const double* const* rows, std::size_t count, std::size_t n);

// out = in + values; `out` may be `in`.
void add(double* out, const double* in, Values values, std::size_t n);

// Two peers meet: both become max(a, b) plus their own values.
void meet_pair(double* a, double* b, Values a_values, Values b_values, std::size_t n);

// into = max(into, row); into = min(into, row).
void raise(double* into, const double* row, std::size_t n);
void lower(double* into, const double* row, std::size_t n);

// out = row where mask is not 0, else `otherwise`.
void blend(double* out, const unsigned char* mask, const double* row, double otherwise, std::size_t n);

// The lanes of each step take their maximum over the replicas: row[r * steps + s] = max over r.
void synchronize_replicas(double* row, std::size_t steps, std::size_t replicas);

// The same within blocks of replicas: members[offsets[b]] .. members[offsets[b + 1] - 1] are those of block
// b.
void synchronize_blocks(double* row, std::size_t steps, std::span<const std::uint32_t> members,
                        std::span<const std::uint32_t> offsets);

}  // namespace goodput::lanes
