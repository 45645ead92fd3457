// `goodput sweep` as a whole: its points are simulations, however they are run.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "models/sweep/sweep_config.h"
#include "sim/base/json.h"
#include "sim/config/config.h"
#include "tests/support/config_table.h"
#include "tests/tools/sweep/sweep_run.h"

namespace goodput::testing {
namespace {

const std::vector<std::string> kVaried = {"--vary", "/failures/mtbf_hours=0.5,5", "--vary",
                                          "/policies/ds/checkpoint/interval_steps=20,40"};

std::vector<std::string> with(std::vector<std::string> options, const std::vector<std::string>& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

}  // namespace

TEST_CASE("sweep: the result has the points as summary.csv has them, in six digits") {
  const SweepRun run(swept_scenario());
  run.sweep("out", with(kVaried, {"--json", run.path("sweep.json")}));
  const Json outcomes = Json::parse(run.content("sweep.json")).at("outcomes");
  const auto rows = table_of(run.content("out/summary.csv"));
  REQUIRE(outcomes.at("rows") == rows.size());
  CHECK(outcomes.at("left_out") == 0);
  const Json& metric = outcomes.at("metrics").at("samples_per_hour");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(fmt::format("{}", outcomes.at("point").at(i).get<int>()) == rows[i].at("point"));
    CHECK(outcomes.at("policy").at(i) == rows[i].at("policy"));
    const Json& mtbf = outcomes.at("parameters").at("/failures/mtbf_hours");
    CHECK(mtbf.at(i).get<double>() == std::stod(rows[i].at("/failures/mtbf_hours")));
    for (const auto& pair : {std::pair{"value", "samples_per_hour"}, std::pair{"low", "samples_per_hour_low"},
                             std::pair{"high", "samples_per_hour_high"}}) {
      CHECK(metric.at(pair.first).at(i).get<double>() ==
            doctest::Approx(std::stod(rows[i].at(pair.second))).epsilon(1e-5));
    }
  }
}

TEST_CASE("sweep: a point over a short recording is run once, without intervals, and a warning says why") {
  Json scenario = swept_scenario();
  scenario["failures"] = {{"model", "trace"}, {"file", GOODPUT_SAMPLES "/spot_events.csv"}};
  scenario["duration_s"] = 14'400;  // a third of the recording
  const SweepRun run(scenario);
  int sweeps = 0;
  for (const std::vector<std::string>& trials :
       {std::vector<std::string>{"--trials", "8"}, {"--until", "goodput±1%", "--max-trials", "64"}}) {
    const std::string out = "out" + std::to_string(sweeps++);
    const auto said = run.run(with({"sweep", run.scenario(), "--out", run.path(out), "--vary",
                                    "/failures/cap={\"rule\": \"saturate\", \"nodes\": 10}"},
                                   trials));
    REQUIRE_MESSAGE(said.code == ExitCode::kOk, said.err);
    CHECK(said.out.find("one run, because every trial would replay") != std::string::npos);
    for (const auto& row : table_of(run.content(out + "/summary.csv"))) {
      CHECK(row.at("trials") == "1");
      CHECK(row.at("goodput_low").empty());
    }
  }
}

TEST_CASE("sweep: every point is what simulate says of it") {
  const SweepRun run(swept_scenario());
  run.sweep("out", with(kVaried, {"--seed", "7"}));
  const auto rows = table_of(run.content("out/results.csv"));
  REQUIRE(rows.size() == 4 * 2 * 3);
  std::size_t at = 0;
  for (const std::string mtbf : {"0.5", "5"}) {
    for (const std::string interval : {"20", "40"}) {
      const auto said =
          run.run({"simulate", run.scenario(), "--seed", "7", "--set", "/failures/mtbf_hours=" + mtbf,
                   "--set", "/policies/ds/checkpoint/interval_steps=" + interval, "--trials-csv", "-",
                   "--json", run.path("simulated.json")});
      REQUIRE_MESSAGE(said.code == ExitCode::kOk, said.err);
      const Json simulated = Json::parse(run.content("simulated.json"));
      for (const auto& trial : table_of(said.out)) {
        INFO(mtbf, " ", interval, " ", trial.at("policy"), " ", trial.at("trial"));
        const auto& row = rows.at(at++);
        CHECK(row.at("/failures/mtbf_hours") == mtbf);
        CHECK(row.at("/policies/ds/checkpoint/interval_steps") == interval);
        CHECK(row.at("status") == "ok");
        CHECK(row.at("config_hash") == simulated.at("config_hash"));
        for (const auto& figure : trial) {
          const std::string& column = figure.first;
          if (column != "finished") CHECK_MESSAGE(row.at(column) == figure.second, column);
        }
      }
    }
  }
}

TEST_CASE("sweep: results do not depend on threads, shards, or who runs them") {
  const SweepRun run(swept_scenario());
  const std::vector<std::string> options = with(kVaried, {"--vary", "spares=0..2", "--quiet"});
  run.sweep("one", with(options, {"--jobs", "1"}));
  run.sweep("three", with(options, {"--jobs", "3"}));
  for (const std::string shard : {"2/3", "0/3", "1/3"})
    run.sweep("shards", with(options, {"--shard", shard}));
  for (const std::string task : {"0", "1"})
    run.sweep("tasks", options, {{"SLURM_PROCID", task}, {"SLURM_NTASKS", "2"}});
  for (const std::string folder : {"three", "shards", "tasks"}) {
    CHECK(run.content(folder + "/results.csv") == run.content("one/results.csv"));
    CHECK(run.content(folder + "/summary.csv") == run.content("one/summary.csv"));
  }
}

TEST_CASE("sweep: plans of all kinds share what they share, and nothing else") {
  // Points of other batches, nodes and numbers of replicas one after the other, in one thread and each alone.
  const SweepRun run(swept_scenario());
  const std::vector<std::string> vary = {
      "--vary", "/plan/parallel/global_batch=40,80",    "--vary", "/nodes=8,10",
      "--vary", "/routing={\"skew\":0.5},{\"skew\":1}", "--vary", "/batch=fixed,per_replica"};
  run.sweep("all", with(vary, {"--jobs", "1", "--quiet"}));
  const auto all = table_of(run.content("all/results.csv"));
  for (const std::size_t first : {std::size_t{0}, all.size() / 3, all.size() - 1}) {
    const auto& row = all.at(first);
    std::vector<std::string> alone = {"--quiet", "--jobs", "1"};
    for (const std::string pointer : {"/plan/parallel/global_batch", "/nodes", "/routing", "/batch"}) {
      std::string value = row.at(pointer);
      if (pointer == "/routing")
        value = value.find("0.5") == std::string::npos ? "{\"skew\":1}" : "{\"skew\":0.5}";
      alone.insert(alone.end(), {"--vary", pointer + "=" + value});
    }
    const std::string folder = fmt::format("alone{}", first);
    run.sweep(folder, alone);
    for (const auto& one : table_of(run.content(folder + "/results.csv"))) {
      const auto same = std::find_if(all.begin(), all.end(), [&](const auto& other) {
        return other.at("config_hash") == one.at("config_hash") && other.at("policy") == one.at("policy") &&
               other.at("trial") == one.at("trial");
      });
      REQUIRE(same != all.end());
      CHECK(same->at("samples") == one.at("samples"));
      CHECK(same->at("wall_s") == one.at("wall_s"));
    }
  }
}

TEST_CASE("sweep: a point that cannot be is a row with the reason") {
  const SweepRun run(swept_scenario());
  // Nothing is wrong with a deadline of 500 s, but that the job is stopped before.
  run.sweep("out", {"--set", "/samples=1000000", "--set", "/duration_s=300", "--vary", "/deadline_s=500,300",
                    "--vary", "/policies/ds/ep=4,64"});
  const auto rows = table_of(run.content("out/results.csv"));
  REQUIRE(rows.size() == 1 + 1 + 2 * 3 + 1 + 3);
  CHECK(rows[0].at("status") == "error");
  CHECK(rows[0].at("reason") == run.scenario() +
                                    " /deadline_s: is 500, but the job stops earlier, after duration_s 300; "
                                    "set duration_s to 0 or to at least the deadline");
  CHECK(rows[0].at("policy").empty());
  CHECK(rows[0].at("config_hash").empty());
  CHECK(rows[2].at("status") == "ok");
  CHECK(rows[8].at("status") == "refused");
  CHECK(rows[8].at("policy") == "ds");
  CHECK(rows[8].at("reason").find("64") != std::string::npos);
  CHECK_FALSE(rows[8].at("config_hash").empty());
}

TEST_CASE("sweep: a value that its key never takes is refused before anything runs") {
  const SweepRun run(swept_scenario());
  const auto said = run.run({"sweep", run.scenario(), "--vary", "/failures/mtbf_hours=2,4", "--vary",
                             "/policies/ds/checkpoint/interval_steps=50,-1,100", "--out", run.path("out")});
  CHECK(said.code == ExitCode::kBadInput);
  CHECK(said.err ==
        "error: s.json /policies/ds/checkpoint/interval_steps: must be an integer from 0 to 1000000000, not "
        "-1\n");
  CHECK_FALSE(std::filesystem::exists(run.path("out")));
}

TEST_CASE("sweep: where no point can be the results say why, and the exit code says so") {
  // A pointer that there is, and no value that could be.
  const SweepRun run(swept_scenario());
  const auto said = run.run({"sweep", run.scenario(), "--vary", "/policies/ds/ep=64,65", "--policy", "ds",
                             "--out", run.path("out")});
  CHECK(said.code == ExitCode::kBadInput);
  CHECK(said.err ==
        "error: no point of the sweep is valid (2 points); see out/results.csv for the reasons\n");
  CHECK(table_of(run.content("out/results.csv")).size() == 2);
}

TEST_CASE("sweep: spares are nodes beyond the plan's, and the failures follow") {
  const SweepRun run(swept_scenario());
  run.sweep("spares", {"--vary", "spares=0,2", "--policy", "gemini"});
  run.sweep("nodes", {"--vary", "/nodes=10,12", "--policy", "gemini"});
  const auto spares = table_of(run.content("spares/results.csv"));
  const auto nodes = table_of(run.content("nodes/results.csv"));
  REQUIRE(spares.size() == nodes.size());
  for (std::size_t i = 0; i < spares.size(); ++i) {
    CHECK(spares[i].at("spares") == (i < 3 ? "0" : "2"));
    CHECK(spares[i].at("samples") == nodes[i].at("samples"));
    CHECK(spares[i].at("node_s") == nodes[i].at("node_s"));
    CHECK(spares[i].at("config_hash") == nodes[i].at("config_hash"));
  }
}

TEST_CASE("sweep: the k-th trial of all points meets the same failures") {
  const SweepRun run(swept_scenario());
  run.sweep("out", {"--vary", "/policies/ds/checkpoint/interval_steps=20,40,80", "--policy", "ds", "--set",
                    "/failures/mtbf_hours=0.2"});
  const auto rows = table_of(run.content("out/results.csv"));
  REQUIRE(rows.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) CHECK(rows[i].at("nodes_lost") == rows[i % 3].at("nodes_lost"));
  CHECK(rows[0].at("nodes_lost") != rows[1].at("nodes_lost"));
}

TEST_CASE("sweep: a file and the same options are the same sweep") {
  const SweepRun run(swept_scenario());
  const Json sweep = {{"scenario", "s.json"},
                      {"set", {{"/duration_s", 300}}},
                      {"vary",
                       {{{"pointer", "/failures/mtbf_hours"}, {"values", "1.0..9.0"}},
                        {{"name", "spares"}, {"values", {0, 1}}}}},
                      {"design", "latin"},
                      {"points", 5},
                      {"until", "samples±50%"},
                      {"max_trials", 21},
                      {"policies", {"gemini"}}};
  run.write("sweep.json", sweep.dump());
  const auto said = run.run({"sweep", run.path("sweep.json"), "--out", run.path("file"), "--quiet"});
  REQUIRE_MESSAGE(said.code == ExitCode::kOk, said.err);
  run.sweep("options", {"--set", "/duration_s=300", "--vary", "/failures/mtbf_hours=1.0..9.0", "--vary",
                        "spares=0,1", "--design", "latin", "--points", "5", "--until", "samples±50%",
                        "--max-trials", "21", "--policy", "gemini", "--quiet"});
  CHECK(run.content("file/results.csv") == run.content("options/results.csv"));
  // In five minutes few jobs lose a node: counts that are nearly all the same are not relied on, and some
  // points run all they may.
  const std::size_t rows = table_of(run.content("file/results.csv")).size();
  CHECK(rows >= 5 * 20);
  CHECK(rows <= 5 * 21);
}

TEST_CASE("sweep: a stopping rule that is not reached is a warning of the results") {
  const SweepRun run(swept_scenario());
  run.sweep("out", {"--vary", "/failures/mtbf_hours=1", "--policy", "ds", "--until", "samples±0.0001%",
                    "--max-trials", "25", "--quiet"});
  const auto rows = table_of(run.content("out/summary.csv"));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].at("trials") == "25");
  CHECK(rows[0].at("warnings").find("after 25 trials, samples is known only to ±") != std::string::npos);
}

TEST_CASE("docs: the keys of sweeps are those of the reader") {
  std::ifstream file(GOODPUT_CONFIGS "/../docs/formats/sweeps.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  SweepConfig sweep;
  const std::string keys = config::describe(config_fields(sweep));
  CHECK_MESSAGE(page.find(keys) != std::string::npos, "docs/formats/sweeps.md wants the table\n", keys);
  SweepAxis axis;
  const std::string of_axis = config::describe(config_fields(axis));
  CHECK_MESSAGE(page.find(of_axis) != std::string::npos, "docs/formats/sweeps.md wants the table\n", of_axis);
}

TEST_CASE("docs: every key of goodput.sweep/1 is explained") {
  std::ifstream file(GOODPUT_CONFIGS "/../docs/formats/sweeps.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const SweepRun run(swept_scenario());
  run.sweep("out", {"--vary", "/failures/mtbf_hours=1,2", "--shard", "0/2", "--quiet", "--json",
                    run.path("part.json")});
  run.sweep("out", {"--vary", "/failures/mtbf_hours=1,2", "--shard", "1/2", "--quiet", "--json",
                    run.path("all.json")});
  for (const std::string name : {"part.json", "all.json"}) {
    const Json result = Json::parse(run.content(name));
    CHECK(result.at("schema") == "goodput.sweep/1");
    for (const auto& item : result.items()) {
      const std::string& key = item.key;
      if (key == "schema" || key == "version" || key == "revision" || key == "seed" || key == "calibration" ||
          key == "lowest_tier")
        continue;  // of every result
      CHECK_MESSAGE(page.find(key) != std::string::npos, key);
    }
  }
}

TEST_CASE("sweep: the job script has this command line, with --resume if it is given") {
  const SweepRun run(swept_scenario());
  std::vector<std::string> command = {"sweep",         run.scenario(), "--out", "out",
                                      "--emit-sbatch", "--seed",       "3"};
  command.insert(command.end(), kVaried.begin(), kVaried.end());
  const auto first = run.run(command);
  CHECK(first.code == ExitCode::kOk);
  CHECK(first.out.find("--vary /failures/mtbf_hours=0.5,5 --vary") != std::string::npos);
  CHECK(first.out.find("--seed 3") != std::string::npos);
  CHECK(first.out.find("--resume") == std::string::npos);
  command.emplace_back("--resume");
  CHECK(run.run(command).out.find(" --resume ") != std::string::npos);
}

}  // namespace goodput::testing
