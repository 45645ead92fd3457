// Logs of nccl-tests and CSVs of GEMM times: told apart, read, and made a calibration that is one.
#include <utility>

#include "tests/fuzz/fuzz_target.h"
#include "tools/calibration/import_benchmarks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace goodput;
  const fuzz::MemoryFile file(data, size);
  BenchmarkTables tables({.op = MeasuredOp::kAllReduce, .dtype = MeasuredType::kBf16});
  if (!tables.add_file(file.path())) return 0;
  const auto imported = std::move(tables).finish();
  if (!imported) return 0;
  for (Measurement table : imported->calibration.ops)
    GOODPUT_CHECK(config_finish(table).has_value(), "an import has a table that calibrations refuse");
  return 0;
}
