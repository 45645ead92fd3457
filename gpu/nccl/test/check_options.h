// The command line of nccl_test and nccl_loopback.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace goodput::gpu::testing {

struct CheckOptions {
  std::int32_t ranks = 0;  // 0: not said
  std::chrono::milliseconds deadline{60'000};
  std::string only;
  std::string id_file;  // not empty: the environment says which rank this process is
  bool list = false;
  bool help = false;
};

// Throws std::invalid_argument, with the option.
[[nodiscard]] CheckOptions parse_check_options(int argc, const char* const* argv);

[[nodiscard]] std::string check_usage(const std::string& program);

}  // namespace goodput::gpu::testing
