#include "tests/support/published_case.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <vector>

#include "sim/base/json.h"
#include "tests/support/read_json.h"

namespace goodput::testing {
namespace {

namespace fs = std::filesystem;
using Rows = std::vector<std::vector<std::string>>;

// The answers are printed with float32 step times and transfers behind them.
constexpr double kRelative = 1e-4;
// rem, add, Mw and Ms are differences that may come out as zero.
constexpr double kAttributionAbsolute = 1e-6;
constexpr double kOpSeconds = 1e-6;

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

// The largest relative difference between two values of the same shape; keys and nulls must agree.
double worst_difference(const Json& actual, const Json& expected, const std::string& where) {
  INFO("at " << where);
  if (expected.is_object()) {
    REQUIRE(actual.is_object());
    CHECK(actual.size() == expected.size());
    double worst = 0;
    for (const auto& item : expected.items()) {
      REQUIRE_MESSAGE(actual.contains(item.key), where << "/" << item.key);
      worst = std::max(worst, worst_difference(actual[item.key], item.value, where + "/" + item.key));
    }
    return worst;
  }
  if (!expected.is_number()) {
    REQUIRE(actual == expected);
    return 0;
  }
  REQUIRE(actual.is_number());
  return std::abs(actual.get<double>() - expected.get<double>()) / std::abs(expected.get<double>());
}

void check_attribution(const Json& actual, const Json& expected) {
  CHECK(actual.size() == expected.size());
  for (const auto& item : expected.items()) {
    INFO(item.key);
    const double want = item.value.get<double>();
    CHECK(std::abs(actual.at(item.key).get<double>() - want) <=
          kRelative * std::abs(want) + kAttributionAbsolute);
  }
}

void check_result(Json result, const fs::path& folder) {
  check_attribution(result["mw"], read_json(folder / "mw.json"));
  check_attribution(result["ms"], read_json(folder / "ms.json"));
  result.erase("mw");
  result.erase("ms");
  result.erase("job_meta");
  Json expected = read_json(folder / "result.json");
  expected.erase("job_meta");
  const double worst = worst_difference(result, expected, "");
  MESSAGE(folder.filename().string() << ": result.json within " << worst << " relative");
  CHECK(worst <= kRelative);
}

void check_dependencies(const reference::Dependencies& actual, const fs::path& folder) {
  const Json expected = read_json(folder / "deps.json");
  CHECK(actual.deps == expected["deps"].get<std::map<std::string, std::set<std::string>>>());
  CHECK(actual.dp_synchronised == expected["dp_sync"].get<std::set<std::string>>());
  const auto groups = expected["comm_groups"].get<std::vector<std::set<std::string>>>();
  CHECK(std::set(actual.groups.begin(), actual.groups.end()) == std::set(groups.begin(), groups.end()));
  CHECK(actual.groups.size() == groups.size());
}

// Columns: step rank op transfer_duration launch_delay nodelay_start nodelay_end ideal_start ideal_end.
void check_op_times(const OpTimesByInstance& times, const std::map<int, int>& dp_rank_of,
                    const fs::path& folder) {
  const Rows rows = read_csv(folder / "per_op.csv.gz");
  REQUIRE(rows.size() == times.size());
  double worst = 0;
  for (const auto& row : rows) {
    const reference::OpTimes& op = times.at({std::stoll(row[0]), dp_rank_of.at(std::stoi(row[1])), row[2]});
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

}  // namespace

std::filesystem::path published_case(const std::string& name) {
  const fs::path folder = fs::path(GOODPUT_SHARED_DATA) / "ndtimeline" / name;
  if (fs::exists(folder / "trace.csv.gz")) return folder;
  MESSAGE("skipped: no shared data");
  return {};
}

void check_published_answers(const std::filesystem::path& folder, const Answers& answers) {
  check_dependencies(answers.dependencies, folder);
  check_op_times(answers.op_times, answers.dp_rank_of, folder);
  check_result(Json::parse(answers.compat_json), folder);
}

}  // namespace goodput::testing
