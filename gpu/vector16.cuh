// 16 bytes of elements as a lane reads and writes them, at once or, where addresses do not allow it, one by
// one.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "gpu/element.h"

namespace goodput::gpu {

enum class Access { kVector, kElement };

template <class T>
struct Vector16 {
  static constexpr int kSize = 16 / static_cast<int>(sizeof(T));
  T at[kSize];
};

// Elements [16/sizeof(T) * index, ...) of a row of `size` elements; zeros beyond its end.
template <Access kAccess, class T>
__device__ inline Vector16<T> load_vector(const T* row, std::int64_t index, std::int64_t size) {
  constexpr int kSize = Vector16<T>::kSize;
  Vector16<T> vector;
  if constexpr (kAccess == Access::kVector) {
    const uint4 word = __ldcs(reinterpret_cast<const uint4*>(row) + index);
    std::memcpy(&vector, &word, sizeof vector);
  } else {
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      const std::int64_t at = index * kSize + i;
      vector.at[i] = at < size ? row[at] : T{};
    }
  }
  return vector;
}

template <Access kAccess, class T>
__device__ inline void store_vector(T* row, std::int64_t index, std::int64_t size,
                                    const Vector16<T>& vector) {
  constexpr int kSize = Vector16<T>::kSize;
  if constexpr (kAccess == Access::kVector) {
    uint4 word;
    std::memcpy(&word, &vector, sizeof vector);
    __stcs(reinterpret_cast<uint4*>(row) + index, word);
  } else {
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      const std::int64_t at = index * kSize + i;
      if (at < size) row[at] = vector.at[i];
    }
  }
}

}  // namespace goodput::gpu
