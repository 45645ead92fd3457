#include "tools/calibration/import_calibration.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "models/cost/calibration.h"
#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "tools/calibration/import_benchmarks.h"
#include "tools/calibration/import_calibration_text.h"
#include "tools/calibration/merge_calibrations.h"
#include "tools/cli/json_result.h"
#include "tools/cli/output_file.h"

namespace goodput {
namespace {

constexpr std::span<const std::string_view> kImportedOps{kMeasuredOpNames.data(),
                                                         static_cast<std::size_t>(MeasuredOp::kSendRecv) + 1};

Result<BenchmarkOptions> benchmark_options(const ImportCalibrationOptions& options) {
  BenchmarkOptions benchmark{.gpu = options.gpu};
  if (!options.op.empty()) {
    const Result<std::size_t> op = index_of_name(kImportedOps, "collective", options.op);
    if (!op) return op.error().of_option("op");
    benchmark.op = static_cast<MeasuredOp>(*op);
  }
  if (!options.dtype.empty()) {
    const Result<std::size_t> dtype = index_of_name(kMeasuredTypeNames, "data type", options.dtype);
    if (!dtype) return dtype.error().of_option("dtype");
    benchmark.dtype = static_cast<MeasuredType>(*dtype + 1);
  }
  return benchmark;
}

}  // namespace

void add_import_calibration_options(Options& calibration, ImportCalibrationOptions& options) {
  calibration
      .add("log", options.files, "LOG",
           "Output of nccl-tests (all_reduce_perf and others), or CSV of GEMM times with the columns m, n "
           "and k; several files make one calibration")
      .required()
      .input();
  calibration.add("--out", options.out, "FILE", "Write the calibration to this file; - writes it to stdout")
      .required()
      .output();
  calibration.add("--op", options.op, "NAME", "Collective of tables that do not say which one they are of")
      .one_of(kImportedOps);
  calibration.add("--gpu", options.gpu, "NAME", "GPU that was measured, if the files do not say it");
  calibration.add("--dtype", options.dtype, "TYPE", "Data type of GEMMs in CSVs without a column for it")
      .one_of(kMeasuredTypeNames);
}

Result<ExitCode> run_import_calibration(const ImportCalibrationOptions& options,
                                        const CommandContext& context) {
  GOODPUT_TRY_STATUS(check_file_roles(options.files, {{"--out", options.out}}, context));
  GOODPUT_TRY(BenchmarkOptions benchmark, benchmark_options(options));
  BenchmarkTables tables(std::move(benchmark));
  for (const std::string& file : options.files) GOODPUT_TRY_STATUS(tables.add_file(file));
  GOODPUT_TRY(const BenchmarkCalibration imported, std::move(tables).finish());
  const std::string text = calibration_file_text(imported.calibration);
  if (options.out != "-") GOODPUT_TRY_STATUS(write_text_atomically(options.out, text));
  if (context.options.wants_result()) {
    Hash hash;
    hash.add(text);
    Provenance provenance;
    provenance.config_hash = hash.value();
    provenance.config_files = options.files;
    provenance.lowest_tier = to_string(Tier::kMeasured);
    OrderedJson json = begin_json_result("import-calibration", context, provenance);
    json["output"] = options.out;
    add_import_calibration_json(imported, json);
    GOODPUT_TRY_STATUS(write_json_result(json, context));
  }
  if (options.out == "-")
    context.out << text;
  else
    context.print(import_calibration_text(imported, options.out));
  for (const std::string& note : imported.notes) context.note(note);
  return ExitCode::kOk;
}

}  // namespace goodput
