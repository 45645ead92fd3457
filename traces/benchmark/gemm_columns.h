// What the columns of a CSV of GEMM times are, by their names.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

struct GemmColumns {
  std::size_t m = 0, n = 0, k = 0;
  std::size_t value = 0;    // a time or a rate
  double microseconds = 0;  // of a time: what its unit is
  double flops = 0;         // of a rate: what its unit is per second
  std::optional<std::size_t> dtype{}, layout{}, gpu{}, batch{}, samples{}, skipped{};
  std::vector<std::size_t> variants{};  // that tell kernels or benchmarks of one shape apart
  std::optional<std::size_t> rate{};    // a rate beside the time
  double rate_flops = 0;                // what its unit is per second
  std::size_t count = 0;                // of all columns
};

// Lower-case words of a name: "gpu", "time", "sec" of "GPU Time (sec)" and of "gpuTime_sec".
[[nodiscard]] std::vector<std::string> name_words(std::string_view name);

// Whether these are the names of columns m, n and k, and perhaps others.
[[nodiscard]] bool has_gemm_shape(std::span<const std::string_view> names);

// Fails without a time or rate, without its unit, and with several of them.
Result<GemmColumns> gemm_columns(std::span<const std::string_view> names);

}  // namespace goodput
