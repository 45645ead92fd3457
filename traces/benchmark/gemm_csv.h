// CSV files with times of matrix multiplications: those of nvbench, and lists of cuBLAS and other benchmarks.
//
// The header must have m, n, k, and a time or a rate whose unit is in its name ("time_us", "GPU Time (sec)",
// "latency(ms)", "tflops"). Columns may have any order, separated by commas, semicolons or tabs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "traces/io/byte_source.h"

namespace goodput {

// Of (m,k) by (k,n). Texts are as in the file, and empty if it has no such column.
struct GemmCsvRow {
  std::size_t line = 0;
  std::int64_t m = 0, n = 0, k = 0;
  std::string dtype{}, layout{}, gpu{};
  double microseconds = 0;
  std::int64_t samples = 0;  // 0: not stated
};

struct GemmCsv {
  std::size_t header_line = 0;
  std::vector<GemmCsvRow> rows{};
  bool has_dtype = false;
  std::size_t skipped = 0;                // rows that the benchmark did not run, or that have no time
  std::optional<std::size_t> cut_line{};  // of a last row that is not complete and not among the rows
};

// Whether a file that begins like this is such a CSV.
[[nodiscard]] bool is_gemm_csv(std::string_view head);

// REQUIRES: is_gemm_csv() of the beginning.
Result<GemmCsv> read_gemm_csv(ByteSource& source);

}  // namespace goodput
