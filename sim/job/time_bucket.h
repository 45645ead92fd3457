// The kinds of time that a job's life consists of (sim/job/time_buckets.def).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace goodput {

enum class TimeBucket : std::uint8_t {
#define GOODPUT_TIME_BUCKET(enumerator, name, meaning) enumerator,
#include "sim/job/time_buckets.def"
#undef GOODPUT_TIME_BUCKET
};

struct TimeBucketInfo {
  std::string_view name;
  std::string_view meaning;
};
inline constexpr std::array kTimeBuckets = {
#define GOODPUT_TIME_BUCKET(enumerator, name, meaning) TimeBucketInfo{name, meaning},
#include "sim/job/time_buckets.def"
#undef GOODPUT_TIME_BUCKET
};

inline constexpr std::size_t kTimeBucketCount = kTimeBuckets.size();
[[nodiscard]] constexpr std::size_t index(TimeBucket bucket) {
  return static_cast<std::size_t>(bucket);
}
[[nodiscard]] constexpr const TimeBucketInfo& info(TimeBucket bucket) {
  return kTimeBuckets[index(bucket)];
}

}  // namespace goodput
