// The slowdowns of all workers in a step, in two bytes each before compression.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

// Slowdowns by worker, dp_rank * pp_size + stage.
struct WorkerMapValues {
  std::int32_t dp_size = 1;
  std::int32_t pp_size = 1;
  std::vector<double> slowdown;
};

// ln(S) in steps of 1e-4, of both signs: S from exp(-3.2767) = 0.038 to 26.5; what lies outside is told as
// the nearer end, and not a number stays that.
inline constexpr double kMapResolution = 1e-4;

[[nodiscard]] std::string map_blob(const WorkerMapValues& map);
Result<WorkerMapValues> read_map_blob(std::string_view blob);

}  // namespace goodput
