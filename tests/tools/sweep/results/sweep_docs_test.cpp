// What docs/formats/sweep-results.md says of the files is what they are, and its queries run.
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/tools/sweep/store/random_sweep.h"
#include "tests/traces/table/sqlite_query.h"
#include "tools/sweep/results/merge_sweep.h"
#include "tools/sweep/results/result_names.h"
#include "tools/sweep/store/sweep_folder.h"

namespace goodput {
namespace {

using testing::bytes_of_file;
using testing::message_of;
using testing::RandomSweep;
using testing::sqlite_query;
using testing::sweep_shard;
using testing::SweepFolder;
using Lines = std::vector<std::string>;

std::string sweep_page() {
  return bytes_of_file(GOODPUT_CONFIGS "/../docs/formats/sweep-results.md");
}

Lines sql_blocks() {
  constexpr std::string_view kFence = "```sql\n";
  const std::string page = sweep_page();
  Lines blocks;
  for (std::size_t at = page.find(kFence); at != std::string::npos; at = page.find(kFence, at + 1)) {
    const std::size_t begin = at + kFence.size();
    blocks.push_back(page.substr(begin, page.find("```", begin) - begin));
  }
  return blocks;
}

PolicyRows policy_with_costs(const std::string& name, double samples_per_usd, std::vector<double> costs) {
  PolicyRows policy{
      .name = name, .columns = {"cost"}, .estimates = {{"samples_per_usd", {.mean = samples_per_usd}}}};
  for (const double cost : costs) policy.trials.push_back({.finished = true, .values = {cost}});
  return policy;
}

TEST_CASE("sweep docs: the queries of the page say what they are said to") {
  RandomSweep sweep;
  sweep.manifest = {
      .grid_hash = "a", .version = "v", .parameters = {"spares"}, .values = {{"0"}, {"0"}, {"2"}, {"9"}}};
  sweep.points = {
      {.point = 0, .policies = {policy_with_costs("ds", 5, {10, 20}), policy_with_costs("pec", 6, {12, 18})}},
      {.point = 1, .policies = {policy_with_costs("ds", 8, {10, 20}), policy_with_costs("pec", 7, {10, 20})}},
      {.point = 2, .policies = {policy_with_costs("ds", 4, {40}), {.name = "pec", .refused = "no"}}},
      {.point = 3, .error = "9 spares are too many"}};
  const SweepFolder folder;
  REQUIRE(message_of(sweep_shard(sweep, folder.path(), {})) == "");
  REQUIRE(merge_sweep(folder.path()));
  const Lines queries = sql_blocks();
  REQUIRE(queries.size() == 2);
  const std::string file = folder.path() + "/results.sqlite";
  CHECK(sqlite_query(file, queries[0]) ==
        Lines{"spares|policy|samples_per_usd|point", "0|ds|8.0|1", "2|ds|4.0|2"});
  // ds: 0, 2, 0, 0 and 0 more than the best; pec: 2, 0, 0 and 0.
  CHECK(sqlite_query(file, queries[1]) == Lines{"policy|more_usd", "ds|0.4", "pec|0.5"});
}

TEST_CASE("sweep docs: every column is on the page") {
  const std::string page = sweep_page();
  const auto check = [&page](std::string_view name) {
    CHECK_MESSAGE(page.find(name) != std::string::npos, name);
  };
  for (const std::string_view name : kTrialFields) check(name);
  for (const std::string_view name : kSummaryFields) check(name);
  for (const std::string_view name : kSummaryRemarks) check(name);
}

}  // namespace
}  // namespace goodput
