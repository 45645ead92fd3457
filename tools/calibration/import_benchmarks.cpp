#include "tools/calibration/import_benchmarks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "models/cost/calibrated.h"
#include "sim/base/statistics.h"
#include "sim/base/text.h"
#include "tools/calibration/table_text.h"
#include "traces/io/byte_source.h"

namespace goodput {
namespace {

// Of several types the cost model takes the first one: what training sends comes first.
std::size_t type_order(MeasuredType type) {
  constexpr MeasuredType kOrder[] = {MeasuredType::kBf16, MeasuredType::kFp16, MeasuredType::kFp32,
                                     MeasuredType::kFp8, MeasuredType::kInt8};
  return static_cast<std::size_t>(std::find(std::begin(kOrder), std::end(kOrder), type) - std::begin(kOrder));
}

auto order_of(const GatheredTable& table) {
  const MeasuredParams& params = table.params;
  return std::tuple{table.op, params.ranks,  params.per_node,         params.n,
                    params.k, params.layout, type_order(params.dtype)};
}

bool is_same_but_type(const GatheredTable& one, const GatheredTable& other) {
  MeasuredParams params = one.params;
  params.dtype = other.params.dtype;
  return one.op == other.op && params == other.params;
}

MeasuredPoint point_of(MeasuredRows rows, MeasuredOp op) {
  MeasuredPoint point;
  (op == MeasuredOp::kGemm ? point.m : point.bytes) = rows.size;
  const bool is_single = rows.microseconds.size() == 1;
  point.samples = rows.samples > 0 ? rows.samples
                  : is_single      ? 0
                                   : static_cast<std::int64_t>(rows.microseconds.size());
  point.median_us = take_median(rows.microseconds);
  return point;
}

std::string files_text(const std::vector<std::string>& files) {
  constexpr std::size_t kMostNamed = 3;
  if (files.size() <= kMostNamed) return fmt::format("{}", fmt::join(files, " "));
  return fmt::format("{} and {} more files", files.front(), files.size() - 1);
}

std::string source_text(const TableSource& source) {
  const std::string lines = lines_text(source.file, source.first, source.last);
  return source.program.empty() ? lines : lines + ", " + source.program;
}

std::string type_text(MeasuredType type) {
  if (type == MeasuredType::kUnstated) return "other types";
  return std::string(kMeasuredTypeNames[static_cast<std::size_t>(type) - 1]);
}

}  // namespace

std::string lines_text(const std::string& file, std::size_t first, std::size_t last) {
  return first == last ? fmt::format("{}:{}", file, first) : fmt::format("{}:{}-{}", file, first, last);
}

Status BenchmarkTables::add_file(const std::string& path) {
  if (std::find(files_.begin(), files_.end(), path) != files_.end())
    return Error{"is given twice; give each log once", {.file = path}};
  files_.push_back(path);
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  GOODPUT_TRY(const std::string_view head, source.peek());
  if (is_gemm_csv(head)) {
    GOODPUT_TRY(const GemmCsv csv, read_gemm_csv(source));
    return add_gemm_csv(csv, path);
  }
  GOODPUT_TRY(const std::vector<NcclTestsTable> tables, read_nccl_tests(source));
  return add_nccl_tests(tables, path);
}

GatheredTable& BenchmarkTables::table_of(MeasuredOp op, const MeasuredParams& params) {
  const auto found = std::find_if(tables_.begin(), tables_.end(), [&](const GatheredTable& one) {
    return one.op == op && one.params == params;
  });
  if (found != tables_.end()) return *found;
  return tables_.emplace_back(GatheredTable{.op = op, .params = params});
}

void BenchmarkTables::add(GatheredTable& table, std::int64_t size, double microseconds,
                          std::int64_t samples) {
  const auto at =
      std::lower_bound(table.rows.begin(), table.rows.end(), size,
                       [](const MeasuredRows& one, std::int64_t wanted) { return one.size < wanted; });
  const bool is_new = at == table.rows.end() || at->size != size;
  MeasuredRows& rows = is_new ? *table.rows.insert(at, MeasuredRows{.size = size}) : *at;
  rows.microseconds.push_back(microseconds);
  rows.samples += samples;
}

void add_source(GatheredTable& table, const TableSource& source) {
  if (table.sources.empty() || table.sources.back().file != source.file ||
      table.sources.back().program != source.program)
    table.sources.push_back(source);
  else
    table.sources.back().last = source.last;
}

Status BenchmarkTables::say_gpu(const std::string& gpu, const Where& where) {
  if (gpu.empty()) return Ok{};
  if (!options_.gpu.empty()) {
    if (is_same_gpu(gpu, options_.gpu)) return Ok{};
    return Error{fmt::format("the GPU is {}, but --gpu is {}; leave out --gpu", in_quotes(gpu),
                             in_quotes(options_.gpu)),
                 where};
  }
  if (!gpu_) gpu_ = MachineStatement{gpu, where};
  if (gpu_->text == gpu) return Ok{};
  return Error{
      fmt::format("the GPU is {}, but {} has {}; import them into two files, or give --gpu if both names "
                  "mean the same GPU",
                  in_quotes(gpu), gpu_->where.text(), in_quotes(gpu_->text)),
      where};
}

Status BenchmarkTables::say_nccl(const std::string& version, const Where& where) {
  if (version.empty()) return Ok{};
  if (!nccl_) nccl_ = MachineStatement{version, where};
  if (nccl_->text == version) return Ok{};
  return Error{fmt::format("NCCL is {}, but {} has NCCL {}; import them into two files and merge these with "
                           "`goodput calibration merge`",
                           in_quotes(version), nccl_->where.text(), in_quotes(nccl_->text)),
               where};
}

void BenchmarkTables::note_types() {
  for (auto first = tables_.begin(); first != tables_.end();) {
    const auto last = std::find_if(first, tables_.end(),
                                   [&](const GatheredTable& one) { return !is_same_but_type(*first, one); });
    if (last - first > 1 && is_collective(first->op)) {
      std::vector<std::string> types;
      for (auto one = first; one != last; ++one) types.push_back(type_text(one->params.dtype));
      notes_.push_back(fmt::format("{} on {} ranks has tables of {}; plans use that of {}",
                                   to_string(first->op), first->params.ranks, fmt::join(types, ", "),
                                   types.front()));
    }
    first = last;
  }
}

void BenchmarkTables::note_repeats() {
  constexpr double kMostRatio = 1.25;
  std::size_t points = 0;
  for (const GatheredTable& one : tables_) {
    double ratio = 1;
    for (const MeasuredRows& rows : one.rows) {
      if (rows.microseconds.size() < 2) continue;
      ++points;
      const auto [least, most] = std::minmax_element(rows.microseconds.begin(), rows.microseconds.end());
      ratio = std::max(ratio, *most / *least);
    }
    if (ratio < kMostRatio) continue;
    notes_.push_back(
        fmt::format("{} of {}: times of the same size differ by up to {:.1f}x; import runs under different "
                    "settings into different files",
                    to_string(one.op), source_text(one.sources.front()), ratio));
  }
  if (points > 0)
    notes_.push_back(fmt::format("{} measured more than once; the median counts",
                                 points == 1 ? "1 point was" : fmt::format("{} points were", points)));
}

// Below its smallest size a table has the time of that size.
void BenchmarkTables::note_small_sizes() {
  constexpr double kMostShareOfRate = 0.5;
  for (const GatheredTable& one : tables_) {
    if (!is_collective(one.op)) continue;
    double best = 0;
    const auto rate = [](const MeasuredRows& rows) {
      return static_cast<double>(rows.size) /
             *std::min_element(rows.microseconds.begin(), rows.microseconds.end());
    };
    for (const MeasuredRows& rows : one.rows) best = std::max(best, rate(rows));
    if (rate(one.rows.front()) <= kMostShareOfRate * best) continue;
    notes_.push_back(fmt::format(
        "{} on {} ranks: plans take the time of the smallest size, {}, for all smaller messages, "
        "which is too long; run the test from -b 8K on",
        to_string(one.op), one.params.ranks, bytes_text(static_cast<double>(one.rows.front().size))));
  }
}

// Tables that no plan looks at.
void BenchmarkTables::note_unused_tables() {
  const auto is_pair = [](const GatheredTable& one) {
    return one.op == MeasuredOp::kSendRecv && one.params.ranks == 2;
  };
  const bool has_send = std::any_of(tables_.begin(), tables_.end(),
                                    [](const GatheredTable& one) { return one.op == MeasuredOp::kSendRecv; });
  if (has_send && std::none_of(tables_.begin(), tables_.end(), is_pair))
    notes_.emplace_back("send_recv: plans use tables of 2 ranks; run sendrecv_perf on 2 GPUs, too");
  const auto is_other_gemm = [](const GatheredTable& one) {
    const MeasuredType type = one.params.dtype;
    return one.op == MeasuredOp::kGemm && type != MeasuredType::kBf16 && type != MeasuredType::kFp16;
  };
  if (std::any_of(tables_.begin(), tables_.end(), is_other_gemm))
    notes_.emplace_back("gemm: plans use tables of bf16 and fp16 only");
}

Result<BenchmarkCalibration> BenchmarkTables::finish() && {
  if (tables_.empty()) {
    return Error{
        fmt::format("{}: no table can be used: {}", fmt::join(files_, ", "),
                    notes_.empty() ? "the tables have no rows" : fmt::format("{}", fmt::join(notes_, "; ")))};
  }
  const std::string gpu = gpu_ ? gpu_->text : options_.gpu;
  if (gpu.empty())
    return Error{"does not say which GPU was measured; give --gpu, for example --gpu \"NVIDIA H100\"",
                 {.file = files_.front()}};
  std::sort(tables_.begin(), tables_.end(),
            [](const GatheredTable& a, const GatheredTable& b) { return order_of(a) < order_of(b); });
  note_types();
  note_repeats();
  note_small_sizes();
  note_unused_tables();
  BenchmarkCalibration result;
  Calibration& calibration = result.calibration;
  calibration.source = fmt::format("goodput import calibration {}", files_text(files_));
  calibration.machine.gpu = gpu;
  calibration.machine.gpus = gpus_;
  if (gpu.find(" MIG ") != std::string::npos) calibration.machine.mig = true;
  if (nccl_) calibration.machine.nccl = nccl_->text;
  for (GatheredTable& one : tables_) {
    Measurement& measurement = calibration.ops.emplace_back(Measurement{.op = one.op, .params = one.params});
    measurement.tier = Tier::kMeasured;
    for (const TableSource& source : one.sources)
      measurement.source += (measurement.source.empty() ? "" : "; ") + source_text(source);
    for (MeasuredRows& rows : one.rows) measurement.points.push_back(point_of(std::move(rows), one.op));
  }
  if (is_collective(calibration.ops.front().op))
    calibration.method.notes = "nccl-tests: a time is the mean of the iterations of a test, out of place";
  result.notes = std::move(notes_);
  return result;
}

}  // namespace goodput
