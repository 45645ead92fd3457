// Tables of nccl-tests as tables of a calibration.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>

#include "sim/base/text.h"
#include "tools/calibration/benchmark_ranks.h"
#include "tools/calibration/import_benchmarks.h"
#include "tools/calibration/measured_type_name.h"
#include "tools/calibration/table_text.h"

namespace goodput {
namespace {

struct UsedTest {
  std::string_view name;
  MeasuredOp op;
};
constexpr UsedTest kUsedTests[] = {{"all_reduce", MeasuredOp::kAllReduce},
                                   {"all_gather", MeasuredOp::kAllGather},
                                   {"reduce_scatter", MeasuredOp::kReduceScatter},
                                   {"alltoall", MeasuredOp::kAllToAll},
                                   {"sendrecv", MeasuredOp::kSendRecv}};

const UsedTest* used_test(std::string_view name) {
  const auto found = std::find_if(std::begin(kUsedTests), std::end(kUsedTests),
                                  [&](const UsedTest& one) { return one.name == name; });
  return found == std::end(kUsedTests) ? nullptr : found;
}

std::string_view test_of_op(MeasuredOp op) {
  return std::find_if(std::begin(kUsedTests), std::end(kUsedTests),
                      [&](const UsedTest& one) { return one.op == op; })
      ->name;
}

// The test that the name of the file contains, with or without underscores; empty: none, or several.
std::string test_in_file_name(std::string_view path) {
  constexpr std::string_view kTests[] = {"all_reduce", "all_gather", "reduce_scatter",
                                         "alltoall",   "sendrecv",   "broadcast"};
  std::string letters;
  for (const char c : path.substr(path.rfind('/') + 1)) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (letters.find("alltoallv") != std::string::npos) return "alltoallv";
  std::string test;
  for (const std::string_view one : kTests) {
    std::string name(one);
    std::erase(name, '_');
    if (letters.find(name) == std::string::npos) continue;
    if (!test.empty()) return {};
    test = one;
  }
  return test;
}

struct Interval {
  double lo = 0, hi = 0;

  [[nodiscard]] bool is_empty() const {
    constexpr double kRoundingOfDoubles = 1e-9;
    return lo > hi * (1 + kRoundingOfDoubles);
  }
};
Interval common(Interval one, Interval other) {
  return {std::max(one.lo, other.lo), std::min(one.hi, other.hi)};
}
Interval scaled(Interval one, double factor) {
  return {one.lo * factor, one.hi * factor};
}
Interval around(PrintedNumber number) {
  return {number.value - number.half_unit, number.value + number.half_unit};
}

// GB/s of a buffer of so many bytes, within the rounding of its time.
Interval rate_of(const NcclTestsRow& row) {
  const Interval time = around(row.time_us);
  const double gigabytes_per_us = 1e-3 * static_cast<double>(row.bytes);
  return {gigabytes_per_us / time.hi,
          time.lo > 0 ? gigabytes_per_us / time.lo : std::numeric_limits<double>::infinity()};
}

// Whether time, algbw and busbw of the row belong together. Early versions wrote busbw also as algbw of
// all_gather and reduce_scatter.
bool is_consistent(const NcclTestsRow& row, MeasuredOp op, std::int64_t ranks) {
  const double factor = bus_factor(op, ranks);
  const auto agrees = [&](Interval algbw) {
    const Interval rate = common(rate_of(row), algbw);
    return !rate.is_empty() && !common(scaled(rate, factor), around(row.busbw)).is_empty();
  };
  const Interval algbw = around(row.algbw);
  const bool is_early = op == MeasuredOp::kAllGather || op == MeasuredOp::kReduceScatter;
  return agrees(algbw) || (is_early && agrees(scaled(algbw, 1 / factor)));
}

Status check_row(const NcclTestsRow& row, MeasuredOp op, std::int64_t ranks, const std::string& path) {
  if (is_consistent(row, op, ranks)) return Ok{};
  const double rate = 1e-3 * static_cast<double>(row.bytes) / row.time_us.value;
  return Error{
      fmt::format("{} of {} bytes on {} ranks in {} us has algbw {:.2f} and busbw {:.2f}, not {} and {}; the "
                  "row is damaged, or the test or the number of ranks is another one",
                  to_string(op), row.bytes, ranks, row.time_us.value, rate, rate * bus_factor(op, ranks),
                  row.algbw.value, row.busbw.value),
      {.file = path, .position = Position::line(row.line)}};
}

// What sums over all ranks is an all-reduce or a reduce-scatter, which differ in their bus bandwidth.
std::optional<MeasuredOp> test_in_rows(const NcclTestsTable& table) {
  const auto ranks = static_cast<std::int64_t>(table.ranks.size());
  const auto is_sum = [](const NcclTestsRow& row) {
    return row.redop == "sum" && (row.root.empty() || row.root == "-1");
  };
  if (ranks < 2 || table.rows.empty() || !std::all_of(table.rows.begin(), table.rows.end(), is_sum))
    return std::nullopt;
  std::optional<MeasuredOp> found;
  for (const MeasuredOp op : {MeasuredOp::kAllReduce, MeasuredOp::kReduceScatter}) {
    const auto fits = [&](const NcclTestsRow& row) { return is_consistent(row, op, ranks); };
    if (!std::all_of(table.rows.begin(), table.rows.end(), fits)) continue;
    if (found) return std::nullopt;
    found = op;
  }
  return found;
}

// Rows of one reduction, and of one type for each type of a calibration: "int8" and "uint8" are both int8.
std::vector<NcclTestsRow> rows_to_use(const NcclTestsTable& table) {
  const auto has_sum = std::any_of(table.rows.begin(), table.rows.end(),
                                   [](const NcclTestsRow& row) { return row.redop == "sum"; });
  std::map<std::optional<MeasuredType>, std::string> types;
  std::vector<NcclTestsRow> rows;
  for (const NcclTestsRow& row : table.rows) {
    const std::string redop = has_sum ? "sum" : table.rows.front().redop;
    const std::string& type = types.try_emplace(measured_type_of(row.type), row.type).first->second;
    if (row.redop == redop && row.type == type) rows.push_back(row);
  }
  return rows;
}

std::string place_of(const NcclTestsTable& table, const std::string& path) {
  return table.rows.empty() ? lines_text(path, table.line, table.line)
                            : lines_text(path, table.rows.front().line, table.rows.back().line);
}

}  // namespace

Status BenchmarkTables::add_nccl_tests(const std::vector<NcclTestsTable>& tables, const std::string& path) {
  for (const NcclTestsTable& table : tables) {
    const Status added = add_nccl_table(table, path);
    if (!added) return added.error().in_file(path);
  }
  return Ok{};
}

Result<std::string> BenchmarkTables::test_of(const NcclTestsTable& table, const std::string& path) const {
  if (options_.op) {
    const std::string_view wanted = test_of_op(*options_.op);
    const std::string& stated = table.test.empty() ? table.echoed_test : table.test;
    if (stated.empty() || stated == wanted) return std::string(wanted);
    return Error{
        fmt::format("the test is {}, but --op is {}; leave out --op", stated, to_string(*options_.op)),
        {.file = path, .position = Position::line(table.line)}};
  }
  for (const std::string& test : {table.test, table.echoed_test, test_in_file_name(path)}) {
    if (!test.empty()) return test;
  }
  if (const std::optional<MeasuredOp> op = test_in_rows(table)) return std::string(test_of_op(*op));
  return Error{
      "the log does not say which collective this table is of; give --op, for example --op all_reduce",
      {.file = path, .position = Position::line(table.line)}};
}

Status BenchmarkTables::add_nccl_table(const NcclTestsTable& table, const std::string& path) {
  GOODPUT_TRY(const std::string test, test_of(table, path));
  const UsedTest* used = used_test(test);
  if (used == nullptr) {
    notes_.push_back(
        fmt::format("{}: {} is not used: plans have no such collective", place_of(table, path), test));
    return Ok{};
  }
  GOODPUT_TRY(const BenchmarkRanks layout, benchmark_ranks(table));
  if (table.cut_line)
    notes_.push_back(fmt::format("{}:{}: this row is cut off and not used", path, *table.cut_line));
  if (layout.ranks == 1) {
    notes_.push_back(
        fmt::format("{}: {} is not used: it ran on 1 rank, without a network", place_of(table, path), test));
    return Ok{};
  }
  if (table.rows.empty()) return Ok{};
  const Where where{.file = path, .position = Position::line(table.ranks.front().line)};
  GOODPUT_TRY_STATUS(say_gpu(layout.gpu, where));
  GOODPUT_TRY_STATUS(say_nccl(table.nccl, {.file = path, .position = Position::line(table.line)}));
  if (layout.groups > 1) {
    notes_.push_back(fmt::format("{}: {} groups ran at the same time, so each had a part of the network",
                                 place_of(table, path), layout.groups));
  }
  if (layout.per_node == 1 && layout.ranks > 1) {
    notes_.push_back(
        fmt::format("{}: one GPU of each node ran alone; in plans all GPUs of a node communicate at the same "
                    "time, so these times may be too short",
                    place_of(table, path)));
  }
  gpus_ = std::max(gpus_, layout.on_host);
  const std::string program = "nccl-tests" + (table.version.empty() ? "" : " " + table.version);
  const std::vector<NcclTestsRow> rows = rows_to_use(table);
  if (rows.size() < table.rows.size()) {
    notes_.push_back(
        fmt::format("{}: {} of other reductions or similar types are not used: plans take those of sum",
                    place_of(table, path), counted(table.rows.size() - rows.size(), "row")));
  }
  for (const NcclTestsRow& row : rows) {
    GOODPUT_TRY_STATUS(check_row(row, used->op, layout.ranks, path));
    MeasuredParams params{.ranks = layout.ranks};
    if (layout.per_node < layout.ranks) params.per_node = layout.per_node;
    // Calibrations have no name for other types: double, int32, ...
    params.dtype = measured_type_of(row.type).value_or(MeasuredType::kUnstated);
    GatheredTable& into = table_of(used->op, params);
    add(into, row.bytes, row.time_us.value, 0);
    add_source(into, {path, row.line, row.line, program});
  }
  return Ok{};
}

}  // namespace goodput
