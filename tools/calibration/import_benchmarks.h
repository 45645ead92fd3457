// Logs of nccl-tests and CSVs of GEMM times as a calibration.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/cost/calibration.h"
#include "sim/base/errors.h"
#include "traces/benchmark/gemm_csv.h"
#include "traces/benchmark/nccl_tests.h"

namespace goodput {

// What the files need not say.
struct BenchmarkOptions {
  std::optional<MeasuredOp> op{};                // of tables of nccl-tests that do not say it
  MeasuredType dtype = MeasuredType::kUnstated;  // of CSVs without a column for it
  std::string gpu{};                             // empty: the files say it
};

struct BenchmarkCalibration {
  Calibration calibration;
  std::vector<std::string> notes;  // rows and tables that were not used, and limits of the tables
};

// Times of one size, from however many rows.
struct MeasuredRows {
  std::int64_t size = 0;
  std::vector<double> microseconds{};
  std::int64_t samples = 0;  // that the rows state; 0: they do not
};

// Lines of a file from which a table is.
struct TableSource {
  std::string file;
  std::size_t first = 0, last = 0;
  std::string program{};  // that wrote them: "nccl-tests 2.17.6"; empty: not known
};

// A table that is being gathered.
struct GatheredTable {
  MeasuredOp op = MeasuredOp::kGemm;
  MeasuredParams params{};
  std::vector<MeasuredRows> rows{};  // in ascending size
  std::vector<TableSource> sources{};
};

// "all_reduce.log:12-40", "all_reduce.log:12"
[[nodiscard]] std::string lines_text(const std::string& file, std::size_t first, std::size_t last);

// Extends the last source, if that is of the same file and program.
void add_source(GatheredTable& table, const TableSource& source);

// Something that a file says about the machine.
struct MachineStatement {
  std::string text;
  Where where{};
};

// Gathers tables file by file.
class BenchmarkTables {
 public:
  explicit BenchmarkTables(BenchmarkOptions options) : options_(std::move(options)) {}

  // Errors name the file, and a line if they are about one.
  Status add_file(const std::string& path);

  // All tables, each point with the median of its times. Fails if there is no table, and if no file says what
  // GPU it is.
  Result<BenchmarkCalibration> finish() &&;

 private:
  Status add_nccl_tests(const std::vector<NcclTestsTable>& tables, const std::string& path);
  Status add_nccl_table(const NcclTestsTable& table, const std::string& path);
  [[nodiscard]] Result<std::string> test_of(const NcclTestsTable& table, const std::string& path) const;
  Status add_gemm_csv(const GemmCsv& csv, const std::string& path);
  Status add_gemm_row(const GemmCsvRow& row, const std::string& path);
  GatheredTable& table_of(MeasuredOp op, const MeasuredParams& params);
  static void add(GatheredTable& table, std::int64_t size, double microseconds, std::int64_t samples);
  Status say_gpu(const std::string& gpu, const Where& where);
  Status say_nccl(const std::string& version, const Where& where);
  void note_types();
  void note_repeats();
  void note_small_sizes();
  void note_unused_tables();

  BenchmarkOptions options_;
  std::vector<std::string> files_;
  std::vector<GatheredTable> tables_;
  std::optional<MachineStatement> gpu_, nccl_;
  std::int64_t gpus_ = 0;  // per node
  std::vector<std::string> notes_;
};

}  // namespace goodput
