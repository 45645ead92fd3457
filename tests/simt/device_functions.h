// CUDA's device functions that concern one thread, with its names: integer and float intrinsics, atomics,
// cached and streaming accesses. The latter check that the address is aligned to the type, which the device
// insists on.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "tests/simt/machine.h"

namespace simt {

// The dynamic shared memory of the block.
inline void* dynamic_shared() {
  return machine().shared().data();
}

// The special register %globaltimer, which CUDA has no function for.
inline std::int64_t global_timer_ns() {
  return machine().clock_ns();
}

template <class T>
void check_aligned(const T* address, const char* what) {
  if (reinterpret_cast<std::uintptr_t>(address) % alignof(T) != 0)
    machine().fail(std::string(what) + ": the address is not aligned to " + std::to_string(alignof(T)) +
                   " bytes");
}

template <class T>
T load_aligned(const T* address, const char* what) {
  check_aligned(address, what);
  return *address;
}

template <class T>
void store_aligned(T* address, std::common_type_t<T> value, const char* what) {
  check_aligned(address, what);
  *address = value;
}

// Through memory, so that no compiler contracts what surrounds it.
inline float rounded(float value) {
  asm("" : "+m"(value));
  return value;
}

// What was at `address` before `change` of it was put there.
template <class T, class Change>
T atomic(T* address, Change change) {
  static_assert(std::is_same_v<T, int> || std::is_same_v<T, unsigned> ||
                std::is_same_v<T, unsigned long long>);
  check_aligned(address, "atomic");
  const T old = *address;
  *address = change(old);
  return old;
}

}  // namespace simt

inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
inline int __ffs(int x) {
  return __builtin_ffs(x);
}
inline int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
inline int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= (x >> bit & 1U) << (31 - bit);
  return reversed;
}

inline unsigned __float_as_uint(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float __uint_as_float(unsigned bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline int __float_as_int(float value) {
  return static_cast<int>(__float_as_uint(value));
}
inline float __int_as_float(int bits) {
  return __uint_as_float(static_cast<unsigned>(bits));
}
inline float __fmaf_rn(float a, float b, float c) {
  return std::fma(a, b, c);
}
inline float __fmul_rn(float a, float b) {
  return simt::rounded(a * b);
}
inline float __fadd_rn(float a, float b) {
  return simt::rounded(a + b);
}
inline float __fsub_rn(float a, float b) {
  return simt::rounded(a - b);
}

#define SIMT_MIN_MAX(T)       \
  constexpr T min(T a, T b) { \
    return b < a ? b : a;     \
  }                           \
  constexpr T max(T a, T b) { \
    return a < b ? b : a;     \
  }
SIMT_MIN_MAX(int)
SIMT_MIN_MAX(unsigned)
SIMT_MIN_MAX(long)
SIMT_MIN_MAX(unsigned long)
SIMT_MIN_MAX(long long)
SIMT_MIN_MAX(unsigned long long)
#undef SIMT_MIN_MAX
// A NaN loses against a number, as on the device.
inline float min(float a, float b) {
  return std::fmin(a, b);
}
inline float max(float a, float b) {
  return std::fmax(a, b);
}

// Integers wrap around.
template <class T>
T atomicAdd(T* address, std::common_type_t<T> value) {
  using Unsigned = std::make_unsigned_t<T>;
  return simt::atomic(address, [value](T old) {
    return static_cast<T>(static_cast<Unsigned>(old) + static_cast<Unsigned>(value));
  });
}
template <class T>
T atomicMin(T* address, std::common_type_t<T> value) {
  return simt::atomic(address, [value](T old) { return value < old ? value : old; });
}
template <class T>
T atomicMax(T* address, std::common_type_t<T> value) {
  return simt::atomic(address, [value](T old) { return old < value ? value : old; });
}
template <class T>
T atomicOr(T* address, std::common_type_t<T> value) {
  return simt::atomic(address, [value](T old) { return old | value; });
}
template <class T>
T atomicAnd(T* address, std::common_type_t<T> value) {
  return simt::atomic(address, [value](T old) { return old & value; });
}
template <class T>
T atomicExch(T* address, std::common_type_t<T> value) {
  return simt::atomic(address, [value](T) { return value; });
}
template <class T>
T atomicCAS(T* address, std::common_type_t<T> expected, std::common_type_t<T> value) {
  return simt::atomic(address, [expected, value](T old) { return old == expected ? value : old; });
}

template <class T>
T __ldg(const T* address) {
  return simt::load_aligned(address, "__ldg");
}
template <class T>
T __ldcs(const T* address) {
  return simt::load_aligned(address, "__ldcs");
}
template <class T>
T __ldcg(const T* address) {
  return simt::load_aligned(address, "__ldcg");
}
template <class T>
void __stcs(T* address, std::common_type_t<T> value) {
  simt::store_aligned(address, value, "__stcs");
}
template <class T>
void __stcg(T* address, std::common_type_t<T> value) {
  simt::store_aligned(address, value, "__stcg");
}
template <class T>
void __stwt(T* address, std::common_type_t<T> value) {
  simt::store_aligned(address, value, "__stwt");
}

inline long long clock64() {
  return simt::machine().look_at_cycles();
}

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __nanosleep(unsigned) {}
[[noreturn]] inline void __trap() {
  simt::machine().fail("__trap");
}
