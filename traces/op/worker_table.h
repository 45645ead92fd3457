// Slowdowns of every worker in every step as a table: a row a step and worker, in this order, for programs
// that look at many steps of large jobs.
//
// Columns: step, dp_rank, stage, rank, host (empty: unknown), and as ratios to the ideal step slowdown (of
// the worker alone), slowdown_dp_rank and slowdown_stage (of its replica and of its stage alone).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

inline constexpr std::array<std::string_view, 8> kWorkerTableColumns = {
    "step", "dp_rank", "stage", "rank", "host", "slowdown", "slowdown_dp_rank", "slowdown_stage"};

// Refers to what others own.
struct WorkerTable {
  std::span<const std::int64_t> steps;
  std::size_t stages = 1;
  std::span<const std::int32_t> ranks;  // of worker dp * stages + stage
  std::span<const std::string> hosts;   // the same, or empty
  // By step, then by worker, replica or stage.
  std::span<const std::vector<double>> of_worker;
  std::span<const std::vector<double>> of_dp_rank;
  std::span<const std::vector<double>> of_stage;

  [[nodiscard]] std::string_view host(std::size_t worker) const {
    return hosts.empty() ? std::string_view() : std::string_view(hosts[worker]);
  }
};

// Whether a table can be written under this name: .csv, .csv.gz or, where it is built in, .parquet.
[[nodiscard]] Status check_worker_table_path(std::string_view final_path);

// Writes to `path` what `final_path`, the name it is going to have, asks for.
Status write_worker_table(const WorkerTable& table, const std::string& path, std::string_view final_path);

// Declared always, defined only when built with Parquet (GOODPUT_HAVE_PARQUET).
Status write_worker_parquet(const WorkerTable& table, const std::string& path);

}  // namespace goodput
