// Where the ranks of a run of nccl-tests are.
#pragma once

#include <cstdint>
#include <string>

#include "sim/base/errors.h"
#include "traces/benchmark/nccl_tests.h"

namespace goodput {

struct BenchmarkRanks {
  std::int64_t ranks = 0;     // of one group
  std::int64_t per_node = 0;  // of these
  std::int64_t groups = 1;    // that ran at the same time
  std::int64_t on_host = 0;   // ranks of all groups
  std::string gpu{};
};

// Fails if ranks are missing or listed twice, if hosts have different numbers of ranks or different GPUs, and
// if groups are not alike. Errors name a line.
Result<BenchmarkRanks> benchmark_ranks(const NcclTestsTable& table);

}  // namespace goodput
