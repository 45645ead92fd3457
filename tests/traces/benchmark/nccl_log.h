// Logs as nccl-tests writes them, for tests.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace goodput::testing {

struct LoggedTime {
  std::int64_t bytes = 0;
  double microseconds = 0;
};

// What nccl-tests 2.17 makes of a number: as many decimals as fit into its column.
inline std::string fitted(double value, std::size_t width) {
  for (const int decimals : {2, 1, 0}) {
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (text.size() <= width) return text;
  }
  return fmt::format("{:.1e}", value);
}

inline std::string rank_lines(std::int64_t ranks, std::int64_t per_node, std::string_view gpu) {
  std::string text;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    text += fmt::format("#  Rank {:2} Group  0 Pid   {} on node{} device {:2} [0000:{:02x}:00] {}\n", rank,
                        100 + rank, rank / per_node, rank % per_node, rank % per_node, gpu);
  }
  return text;
}

inline constexpr std::string_view kNewColumns =
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw  "
    " busbw  "
    "#wrong \n";

// A log of version 2.17. `factor`: of the bus bandwidth. The times in place are 1 us longer.
inline std::string nccl_log(std::string_view test, std::string_view ranks, double factor,
                            const std::vector<LoggedTime>& times, std::string_view type = "float") {
  std::string text = fmt::format(
      "# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807\n"
      "# Collective test starting: {}_perf\n# nThread 1 nGpus 1 minBytes 8 maxBytes 8\n#\n# Using "
      "devices\n{}#\n{}",
      test, ranks, kNewColumns);
  const auto columns = [factor](std::int64_t bytes, double microseconds) {
    const double rate = 1e-3 * static_cast<double>(bytes) / microseconds;
    return fmt::format("  {:>7}  {:>6}  {:>6}", fitted(microseconds, 7), fitted(rate, 6),
                       fitted(rate * factor, 6));
  };
  for (const LoggedTime& time : times) {
    text += fmt::format("{:12}  {:12}  {:>8}  {:>6}      -1{}       0{}     N/A\n", time.bytes,
                        time.bytes / 4, type, "sum", columns(time.bytes, time.microseconds),
                        columns(time.bytes, time.microseconds + 1));
  }
  return text + fmt::format(
                    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1 \n#\n"
                    "# Collective test concluded: {}_perf\n",
                    test);
}

}  // namespace goodput::testing
