// The trials one by one: what stands in the table and in the JSON, and that means and quantiles are of them.
#include "tools/simulate/trial_rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "sim/base/json.h"
#include "tests/tools/simulate/small_scenario.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/cli/command_line.h"
#include "tools/commands.h"

namespace goodput {
namespace {

std::string csv_of(const Simulation& simulation) {
  std::string csv;
  const Status written = write_trials_csv(simulation, 7, 0, [&csv](std::string_view text) -> Status {
    csv += text;
    return Ok{};
  });
  REQUIRE(written);
  return csv;
}

// The cells of a line without quotes.
std::vector<std::string> csv_cells(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line + ',');
  for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
  return cells;
}

// Rows by column.
std::vector<std::map<std::string, std::string>> rows_of(const std::string& csv) {
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> header = csv_cells(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(lines, line)) {
    const std::vector<std::string> cells = csv_cells(line);
    REQUIRE(cells.size() == header.size());
    for (auto& row = rows.emplace_back(); const std::string& name : header) row[name] = cells[row.size()];
  }
  return rows;
}

std::vector<double> column(const std::vector<std::map<std::string, std::string>>& rows,
                           const std::string& policy, const std::string& name) {
  std::vector<double> values;
  for (const auto& row : rows) {
    if (row.at("policy") == policy) values.push_back(std::stod(row.at(name)));
  }
  return values;
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

TEST_CASE("trial rows: names are quoted, what a trial does not have is empty, refused policies have no row") {
  TrialSummary done;
  done.finished = true;
  done.steps = 3;
  done.samples = 12;
  done.wall_s = 0.1;
  done.horizon_s = 0.1;
  done.time_s[index(TimeBucket::kProductive)] = 0.05;
  done.metrics = {{"plt", 0.25}};
  TrialSummary stopped;
  stopped.stopped = "the job needs 2, has 0";
  Simulation simulation;
  simulation.policies.resize(3);
  simulation.policies[0].name = "a,\"b\"";
  simulation.policies[1].name = "refused";
  simulation.policies[2].name = "ds";
  simulation.trials = {{done}, {}, {stopped}};
  const std::string csv = csv_of(simulation);
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  CHECK(
      line ==
      "policy,trial,seed,finished,stopped,steps,samples,jct_s,p_deadline,samples_per_hour,wall_s,goodput,"
      "ettr,running_goodput,efficiency,cost,samples_per_usd,training_nodes,reconfigurations,restarts,scale_"
      "ups,"
      "rebalancings,nodes_lost,steps_lost,saves_skipped,stored_bytes,horizon_s,waited_s,node_s,ideal_node_s,"
      "productive_s,program_startup_s,checkpoint_save_s,checkpoint_restore_s,"
      "wasted_progress_from_disruption_s,infrastructure_recovery_from_disruption_s,elastic_slice_down_s,"
      "elastic_scale_up_s,elastic_reinitialization_s,expert_rebalancing_s,idle_node_s,plt");
  std::getline(lines, line);
  CHECK(line ==
        "\"a,\"\"b\"\"\",0,7,1,,3,12,0.1,,432000,0.1,0.5,0.5,0.5,0,,,0,0,0,0,0,0,0,0,0,0.1,0,0,0,"
        "0.05,0,0,0,0,0,0,0,0,0,0,0.25");
  std::getline(lines, line);
  CHECK(line.starts_with("ds,0,7,0,\"the job needs 2, has 0\",0,0,,,,0,0,0,0,0,,"));
  CHECK(line.ends_with(",0,"));  // no metric of its own
  CHECK_FALSE(std::getline(lines, line));
}

TEST_CASE("trial rows: means, ratios, quantiles and shares are of the values in the table") {
  Json text = testing::small_scenario();
  text["failures"] = {{"model", "exponential"}, {"nodes", 10}, {"mtbf_hours", 1}, {"repair_s", 100}};
  text["samples"] = 20000;
  text["duration_s"] = 3600;
  text["deadline_s"] = 700;
  text["usd_per_node_hour"] = 1.3;
  const TemporaryFile scenario("scenario.json", text.dump());
  const TemporaryFile csv("trials.csv", "");
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code = run_command_line(builtin_commands(),
                                         {"simulate", scenario.path(), "--trials", "21", "--json", "-",
                                          "--json-trials", "--trials-csv", csv.path()},
                                         out, err);
  REQUIRE_MESSAGE(code == ExitCode::kOk, err.str());
  const Json result = Json::parse(out.str());
  std::ifstream file(csv.path());
  const auto rows = rows_of({std::istreambuf_iterator<char>(file), {}});
  CHECK(rows.size() == 42);
  for (const std::string policy : {"lazarus", "ds"}) {
    CAPTURE(policy);
    const auto of = [&](const std::string& name) { return column(rows, policy, name); };
    const Json& figures = result.at("policies").at(policy);
    const auto figure = [&figures](const char* name) {
      return doctest::Approx(figures.at(name).get<double>()).epsilon(1e-12);
    };
    CHECK(sum(of("samples")) / 21 == figure("samples"));
    CHECK(sum(of("wall_s")) / 21 == figure("wall_s"));
    CHECK(sum(of("nodes_lost")) / 21 == figure("nodes_lost"));
    CHECK(sum(of("p_deadline")) / 21 == figure("p_deadline"));
    CHECK(sum(of("finished")) == figure("finished"));
    CHECK(sum(of("productive_s")) / sum(of("wall_s")) == figure("goodput"));
    CHECK(sum(of("ideal_node_s")) / sum(of("node_s")) == figure("efficiency"));
    CHECK(3600 * sum(of("samples")) / sum(of("horizon_s")) == figure("samples_per_hour"));
    CHECK(sum(of("samples")) / sum(of("cost")) == figure("samples_per_usd"));
    std::vector<double> sorted = of("jct_s");
    std::sort(sorted.begin(), sorted.end());
    const Json& jct = figures.at("quantiles").at("jct_s");
    CHECK(sorted[10] == jct.at("p50").at("value"));  // of 21 the eleventh
    CHECK(sorted[2] == jct.at("p10").at("value"));
    CHECK(sorted[19] == jct.at("p95").at("value"));
    sorted = of("goodput");
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted[10] == figures.at("quantiles").at("goodput").at("p50").at("value"));
    // The same in JSON.
    const Json& columns = result.at("trials_by_policy").at(policy);
    for (const auto& item : columns.items()) {
      CAPTURE(item.key);
      REQUIRE(item.value.size() == 21);
      if (item.value.at(0).is_number()) CHECK(item.value == Json(of(item.key)));
    }
    CHECK(columns.at("finished").at(0) == (of("finished")[0] == 1));
    CHECK(columns.at("stopped").at(0) == nullptr);
  }
  CHECK(rows.back().at("trial") == "20");
  CHECK(result.at("trials_by_policy").at("lazarus").contains("experts_moved"));
  CHECK_FALSE(result.at("trials_by_policy").at("ds").contains("experts_moved"));
  CHECK(rows.front().at("policy") == "lazarus");
  CHECK(rows.back().at("experts_moved").empty());
}

}  // namespace goodput
