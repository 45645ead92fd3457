#include "sim/engine/lane_kernels.h"

#include <algorithm>
#include <cstring>

#include "sim/base/target_clones.h"

// One body for several vector widths.
#define GOODPUT_VECTOR_CLONES GOODPUT_TARGET_CLONES("arch=x86-64-v4", "arch=x86-64-v3", "default")
#define GOODPUT_INLINE inline __attribute__((always_inline))

namespace goodput::lanes {
namespace {

// std::max takes references, which keeps gcc from emitting the max instruction.
GOODPUT_INLINE double later(double a, double b) {
  return a > b ? a : b;
}
GOODPUT_INLINE double earlier(double a, double b) {
  return a < b ? a : b;
}

struct Row {
  const double* row;
  GOODPUT_INLINE double operator[](std::size_t i) const { return row[i]; }
};
struct Constant {
  double value;
  GOODPUT_INLINE double operator[](std::size_t) const { return value; }
};

template <typename Visit>
GOODPUT_INLINE void with(Values values, Visit visit) {
  if (values.row != nullptr)
    visit(Row{values.row});
  else
    visit(Constant{values.constant});
}

// The replicas replica_at(0), replica_at(1), ...
template <typename ReplicaAt>
GOODPUT_INLINE void synchronize(double* row, std::size_t steps, std::size_t replicas, ReplicaAt replica_at) {
  if (steps == 1) {
    double latest = row[replica_at(0)];
    for (std::size_t i = 1; i < replicas; ++i) latest = later(latest, row[replica_at(i)]);
    for (std::size_t i = 0; i < replicas; ++i) row[replica_at(i)] = latest;
    return;
  }
  double* __restrict first = row + replica_at(0) * steps;
  for (std::size_t i = 1; i < replicas; ++i) {
    const double* __restrict other = row + replica_at(i) * steps;
    for (std::size_t s = 0; s < steps; ++s) first[s] = later(first[s], other[s]);
  }
  for (std::size_t i = 1; i < replicas; ++i) std::copy_n(first, steps, row + replica_at(i) * steps);
}

}  // namespace

GOODPUT_VECTOR_CLONES
void latest(double* __restrict out, const double* const* rows, std::size_t count, std::size_t n) {
  const double* a = rows[0];
  if (count == 1) {
    std::memcpy(out, a, n * sizeof(double));
    return;
  }
  const double* b = rows[1];
  if (count == 2) {
    for (std::size_t i = 0; i < n; ++i) out[i] = later(a[i], b[i]);
    return;
  }
  const double* c = rows[2];
  for (std::size_t i = 0; i < n; ++i) out[i] = later(later(a[i], b[i]), c[i]);
  for (std::size_t k = 3; k < count; ++k) {
    const double* row = rows[k];
    for (std::size_t i = 0; i < n; ++i) out[i] = later(out[i], row[i]);
  }
}

GOODPUT_VECTOR_CLONES
void add(double* out, const double* in, Values values, std::size_t n) {
  with(values, [&](auto value) {
#pragma GCC ivdep
    for (std::size_t i = 0; i < n; ++i) out[i] = in[i] + value[i];
  });
}

GOODPUT_VECTOR_CLONES
void meet_pair(double* __restrict a, double* __restrict b, Values a_values, Values b_values, std::size_t n) {
  with(a_values, [&](auto a_value) {
    with(b_values, [&](auto b_value) {
#pragma GCC ivdep
      for (std::size_t i = 0; i < n; ++i) {
        const double met = later(a[i], b[i]);
        a[i] = met + a_value[i];
        b[i] = met + b_value[i];
      }
    });
  });
}

GOODPUT_VECTOR_CLONES
void raise(double* __restrict into, const double* __restrict row, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) into[i] = later(into[i], row[i]);
}

GOODPUT_VECTOR_CLONES
void lower(double* __restrict into, const double* __restrict row, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) into[i] = earlier(into[i], row[i]);
}

GOODPUT_VECTOR_CLONES
void blend(double* __restrict out, const unsigned char* __restrict mask, const double* __restrict row,
           double otherwise, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = mask[i] != 0 ? row[i] : otherwise;
}

GOODPUT_VECTOR_CLONES
void synchronize_replicas(double* row, std::size_t steps, std::size_t replicas) {
  synchronize(row, steps, replicas, [](std::size_t i) { return i; });
}

GOODPUT_VECTOR_CLONES
void synchronize_blocks(double* row, std::size_t steps, std::span<const std::uint32_t> members,
                        std::span<const std::uint32_t> offsets) {
  for (std::size_t block = 0; block + 1 < offsets.size(); ++block) {
    const std::uint32_t* of_block = members.data() + offsets[block];
    synchronize(row, steps, offsets[block + 1] - offsets[block],
                [of_block](std::size_t i) { return std::size_t{of_block[i]}; });
  }
}

}  // namespace goodput::lanes
