// The reference against the answers of the published analysis on real traces
// (GOODPUT_SHARED_DATA/ndtimeline).
#include "tests/reference/reference_whatif.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#ifndef GOODPUT_SHARED_DATA
#define GOODPUT_SHARED_DATA ""
#endif

namespace goodput::reference {
namespace {

namespace fs = std::filesystem;
using Rows = std::vector<std::vector<std::string>>;

// The answers are printed with float32 step times and transfers behind them.
constexpr double kRelative = 1e-4;
// rem, add, Mw and Ms are differences that may come out as zero.
constexpr double kAttributionAbsolute = 1e-6;
constexpr double kOpSeconds = 1e-6;

// Empty when there is no shared data here.
fs::path case_folder(const std::string& name) {
  const fs::path folder = fs::path(GOODPUT_SHARED_DATA) / "ndtimeline" / name;
  if (!fs::exists(folder / "trace.csv.gz")) {
    MESSAGE("skipped: no shared data");
    return {};
  }
  return folder;
}

std::string read_gz(const fs::path& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  REQUIRE(file != nullptr);
  std::string text;
  std::vector<char> buffer(1 << 16);
  for (int n = 1; n > 0;) {
    n = gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()));
    if (n > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  gzclose(file);
  return text;
}

// Without the header line.
Rows read_csv(const fs::path& path) {
  std::istringstream lines(read_gz(path));
  std::string line;
  std::getline(lines, line);
  Rows rows;
  while (std::getline(lines, line)) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
      if (c == ',') {
        fields.emplace_back();
      } else {
        fields.back() += c;
      }
    }
    rows.push_back(std::move(fields));
  }
  return rows;
}

double to_double(const std::string& text) {
  return text.empty() ? std::numeric_limits<double>::quiet_NaN() : std::stod(text);
}

double to_float32(const std::string& text) {
  float value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return static_cast<double>(value);
}

// Columns: dp_rank stage rank step optype start_ts duration seq_id mc mb_id gmc.
OpTrace read_trace(const fs::path& path) {
  OpTrace trace;
  for (const auto& fields : read_csv(path)) {
    const auto integer = [&](std::size_t column) { return std::stoll(fields.at(column)); };
    const auto type = find_op_type(fields.at(4));
    REQUIRE(type.has_value());
    const auto problem =
        trace.append({integer(0), integer(1), integer(2), integer(3), *type, to_float32(fields[5]),
                      to_float32(fields[6]), integer(7), integer(8), integer(9), integer(10)});
    REQUIRE_FALSE(problem.has_value());
  }
  return trace;
}

nlohmann::json read_json(const fs::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

// The largest relative difference between two values of the same shape; keys and nulls must agree.
double worst_difference(const nlohmann::json& actual, const nlohmann::json& expected,
                        const std::string& where) {
  INFO("at " << where);
  if (expected.is_object()) {
    REQUIRE(actual.is_object());
    CHECK(actual.size() == expected.size());
    double worst = 0;
    for (const auto& [key, value] : expected.items()) {
      REQUIRE_MESSAGE(actual.contains(key), where << "/" << key);
      worst = std::max(worst, worst_difference(actual[key], value, where + "/" + key));
    }
    return worst;
  }
  REQUIRE(actual.type() == expected.type());
  if (!expected.is_number()) return 0;
  return std::abs(actual.get<double>() - expected.get<double>()) / std::abs(expected.get<double>());
}

void check_attribution(const nlohmann::json& actual, const nlohmann::json& expected) {
  CHECK(actual.size() == expected.size());
  for (const auto& [key, value] : expected.items()) {
    INFO(key);
    const double want = value;
    CHECK(std::abs(actual.at(key).get<double>() - want) <= kRelative * std::abs(want) + kAttributionAbsolute);
  }
}

void check_result(const OpTrace& trace, const fs::path& folder) {
  nlohmann::json result = compat_result(trace, {});
  check_attribution(result["mw"], read_json(folder / "mw.json"));
  check_attribution(result["ms"], read_json(folder / "ms.json"));
  result.erase("mw");
  result.erase("ms");
  nlohmann::json expected = read_json(folder / "result.json");
  expected.erase("job_meta");
  const double worst = worst_difference(result, expected, "");
  MESSAGE(folder.filename().string() << ": result.json within " << worst << " relative");
  CHECK(worst <= kRelative);
}

void check_dependencies(const OpTrace& trace, const fs::path& folder) {
  const nlohmann::json expected = read_json(folder / "deps.json");
  const Dependencies actual = dependencies(trace, {});
  CHECK(actual.deps == expected["deps"].get<std::map<std::string, std::set<std::string>>>());
  CHECK(actual.dp_synchronised == expected["dp_sync"].get<std::set<std::string>>());
  const auto groups = expected["comm_groups"].get<std::vector<std::set<std::string>>>();
  CHECK(std::set(actual.groups.begin(), actual.groups.end()) == std::set(groups.begin(), groups.end()));
  CHECK(actual.groups.size() == groups.size());
}

// Columns: step rank op transfer_duration launch_delay nodelay_start nodelay_end ideal_start ideal_end.
void check_op_times(const OpTrace& trace, const fs::path& folder) {
  std::map<std::string, int> dp_rank_of;
  for (std::size_t i = 0; i < trace.size(); ++i) dp_rank_of[std::to_string(trace.rank[i])] = trace.dp_rank[i];
  const auto times = op_times(trace, {});
  const Rows rows = read_csv(folder / "per_op.csv.gz");
  REQUIRE(rows.size() == times.size());
  double worst = 0;
  for (const auto& row : rows) {
    const OpTimes& op = times.at({std::stoll(row[0]), dp_rank_of.at(row[1]), row[2]});
    const double actual[] = {op.transfer,    op.launch_delay, op.nodelay_start,
                             op.nodelay_end, op.ideal_start,  op.ideal_end};
    for (std::size_t i = 0; i < std::size(actual); ++i) {
      const double expected = to_double(row[i + 3]);
      if (std::isnan(expected) != std::isnan(actual[i])) FAIL_CHECK(row[2] << ": transfer of a plain op");
      if (!std::isnan(expected)) worst = std::max(worst, std::abs(expected - actual[i]));
    }
  }
  MESSAGE(folder.filename().string() << ": per op within " << worst << " s");
  CHECK(worst <= kOpSeconds);
}

void check_case(const std::string& name) {
  const fs::path folder = case_folder(name);
  if (folder.empty()) return;
  const OpTrace trace = read_trace(folder / "trace.csv.gz");
  check_dependencies(trace, folder);
  check_op_times(trace, folder);
  check_result(trace, folder);
}

}  // namespace

TEST_CASE("reference: a trace with a long last stage gives the published answers") {
  check_case("ST");
}

TEST_CASE("reference: two model chunks, overlapped reductions and no-ops give the published answers") {
  check_case("OPEN-vpp2");
}

// 117,216 rows take the reference about ten seconds: run by hand with --no-skip.
TEST_CASE("reference: a trace with a slow worker gives the published answers" * doctest::skip()) {
  check_case("AR");
}

}  // namespace goodput::reference
