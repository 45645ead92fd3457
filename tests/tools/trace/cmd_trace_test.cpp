#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "sim/base/json.h"
#include "tests/support/read_json.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/cli/command_line.h"
#include "tools/commands.h"

namespace goodput {
namespace {

struct Run {
  ExitCode code;
  std::string out;
  std::string err;
};

Run run(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code = run_command_line(builtin_commands(), arguments, out, err);
  return {code, out.str(), err.str()};
}

// The one line of a run that must fail.
std::string error_of(const std::vector<std::string>& arguments) {
  const Run failed = run(arguments);
  CHECK(failed.code == ExitCode::kBadInput);
  CHECK(failed.out.empty());
  REQUIRE(failed.err.ends_with('\n'));
  CHECK(failed.err.find('\n') == failed.err.size() - 1);
  return failed.err.substr(0, failed.err.size() - 1);
}

const std::string kHeader = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";

// Two steps, two replicas, one stage: forward, backward, gc. Step 10 lasts 0.75 s, step 20 lasts 1 s.
const std::string kTrace = kHeader +
                           "0,0,0,10,forward-compute,0.0,0.25,0,0,0,0\n"
                           "0,0,0,10,backward-compute,0.25,0.5,0,0,0,0\n"
                           "1,0,1,10,forward-compute,0.0,0.25,0,0,0,0\n"
                           "1,0,1,10,backward-compute,0.25,0.25,0,0,0,0\n"
                           "0,0,0,20,forward-compute,0.0,0.25,0,0,0,0\n"
                           "0,0,0,20,backward-compute,0.25,0.5,0,0,0,0\n"
                           "1,0,1,20,forward-compute,0.0,0.5,0,0,0,0\n"
                           "1,0,1,20,backward-compute,0.5,0.5,0,0,0,0\n";

TEST_CASE("trace info: sizes, step times and op types") {
  const TemporaryFile file("t.csv", kTrace);
  const Run info = run({"trace", "info", file.path()});
  CHECK(info.code == ExitCode::kOk);
  CHECK(info.err.empty());
  CHECK(info.out ==
        "format          csv, float32 times\nops             8 in 1 file\nsteps           2 from 10 to "
        "20\nstep time       0.875 s median, 0.75 to 1 s\nparallelism     dp 2, pp 1, vpp 1: 2 "
        "workers\nmicro-batches   1\nops per lane    2 in each of 4 (step, dp_rank) lanes\ndense           "
        "yes\n\nop type                             ops      total s      mean ms\nbackward-compute          "
        "            4        1.750      437.500\nforward-compute                       4        1.250      "
        "312.500\n");
}

TEST_CASE("trace info: the same as JSON, alone on stdout") {
  const TemporaryFile file("t.csv", kTrace);
  const Run info = run({"trace", "info", file.path(), "--json", "-", "--seed", "5"});
  CHECK(info.code == ExitCode::kOk);
  const auto json = Json::parse(info.out);
  CHECK(json["schema"] == "goodput.trace_info/1");
  CHECK(json["seed"] == 5);
  CHECK(json["formats"] == Json{"csv"});
  CHECK(json["rows"] == 8);
  CHECK(json["steps"] == Json{10, 20});
  CHECK(json["dp_size"] == 2);
  CHECK(json["pp_size"] == 1);
  CHECK(json["vpp_size"] == 1);
  CHECK(json["workers"] == 2);
  CHECK(json["micro_batches"] == 1);
  CHECK(json["lanes"] == 4);
  CHECK(json["ops_per_lane"]["max"] == 2);
  CHECK(json["step_time_s"] == Json{{"min", 0.75}, {"median", 0.875}, {"max", 1.0}});
  CHECK(json["dense"] == true);
  CHECK(json["not_dense_reason"].is_null());
  CHECK(json["optypes"]["forward-compute"] == Json{{"ops", 4}, {"total_s", 1.25}});
}

TEST_CASE("trace info: --json FILE writes the file besides the text, --quiet drops the text") {
  const TemporaryFile file("t.csv", kTrace);
  const std::string json = file.path() + ".json";
  CHECK_FALSE(run({"trace", "info", file.path(), "--json", json}).out.empty());
  CHECK(run({"trace", "info", file.path(), "--json", json, "--quiet"}).out.empty());
  CHECK(testing::read_json(json)["rows"] == 8);
}

TEST_CASE("trace info: a trace that is not dense is described, with the first op that is missing") {
  const TemporaryFile file("t.csv", kTrace.substr(0, kTrace.rfind("1,0,1,20,backward")));
  const Run info = run({"trace", "info", file.path()});
  CHECK(info.code == ExitCode::kOk);
  CHECK(info.out.find("ops per lane    1 to 2 in each of 4 (step, dp_rank) lanes\n") != std::string::npos);
  CHECK(info.out.find("backward-compute_0_0 is missing in step 20, dp_rank 1") != std::string::npos);
}

TEST_CASE("trace info: a spot trace is told from the content, and its numbers are keys of the JSON") {
  const TemporaryFile file("p.csv", "0,add,a\r\n0,add,b\r\n1800000,remove,a\r\n3600000,remove,b\r\n");
  const Run info = run({"trace", "info", file.path(), "--json", "-"});
  CHECK(info.code == ExitCode::kOk);
  const auto json = Json::parse(info.out);
  CHECK(json["schema"] == "goodput.trace_info/1");
  CHECK(json["kind"] == "spot");
  CHECK(json["format"] == "bamboo_csv");
  CHECK(json["meaning"] == "held");
  CHECK(json["polarity"] == "available");
  CHECK(json["unit"] == "nodes");
  CHECK(json["adds"] == 2);
  CHECK(json["removes"] == 2);
  CHECK(json["initial_nodes"] == 2);
  CHECK(json["peak_nodes"] == 2);
  CHECK(json["duration_s"] == 3600);
  CHECK(json["mean_nodes"] == 1.5);  // 2 and then 1, for half an hour each
  CHECK(json["node_hours"] == 1.5);
  CHECK(json["drops"] == 2);
  CHECK(json["drop_sizes"] == Json{{"1", 2}});
  CHECK(json["holes"].empty());
  CHECK(json["usd_per_node_hour"].is_null());
}

TEST_CASE("trace: options for spot traces name what they take") {
  const TemporaryFile spot("s.csv", "t_s,count\n0,4\n");
  const TemporaryFile ops("t.csv", kTrace);
  CHECK(error_of({"trace", "info", spot.path(), "--meaning", "hold"}) ==
        "error: --meaning: unknown meaning \"hold\"; did you mean \"held\"?; known: held, probe, faults");
  CHECK(error_of({"trace", "info", spot.path(), "--polarity", "up"}) ==
        "error: --polarity: unknown polarity \"up\"; known: available, preempted");
  CHECK(error_of({"trace", "info", ops.path(), "--meaning", "held"})
            .starts_with("error: " + ops.path() + ": is not in a known spot trace format (events_csv, "));
  CHECK(error_of({"trace", "info", spot.path(), ops.path()}) ==
        "error: " + ops.path() + ": " + spot.path() + " is a spot trace; give one spot trace at a time");
  CHECK(error_of({"trace", "info", spot.path(), "--meta", ops.path()}) ==
        "error: --meta: " + spot.path() +
            " is a spot trace, which has no job metadata; leave the option out");
}

TEST_CASE("trace convert: the rows of several files follow each other in the output") {
  const TemporaryFile first("a.csv", kHeader + "0,0,0,1,gc,0.5,0.1,0,-1,0,-1\n");
  const TemporaryFile second("b.csv", kHeader + "1,0,1,1,gc,0.25,0.1,0,-1,0,-1\n");
  const TemporaryFile out("out.csv");
  const Run converted = run({"trace", "convert", first.path(), second.path(), out.path()});
  CHECK(converted.code == ExitCode::kOk);
  CHECK(converted.out == "Wrote " + out.path() + ": 2 ops as csv\n");
  CHECK(out.content() == kHeader + "0,0,0,1,gc,0.5,0.1,0,-1,0,-1\n1,0,1,1,gc,0.25,0.1,0,-1,0,-1\n");
}

TEST_CASE("trace convert: through every writable format and back the text is the same") {
  const TemporaryFile file("t.csv", kTrace);
  const std::vector<std::string> names = {
#ifdef GOODPUT_HAVE_PARQUET
      "x.parquet",
#endif
      "x.csv.gz", "x.json", "x.json.gz"};
  for (const std::string& name : names) {
    INFO(name);
    const TemporaryFile between(name);
    const TemporaryFile back("back.csv");
    CHECK(run({"trace", "convert", file.path(), between.path()}).err.empty());
    CHECK(run({"trace", "convert", between.path(), back.path()}).err.empty());
    CHECK(back.content() == kTrace);
  }
}

TEST_CASE("trace convert: --to decides where the extension does not") {
  const TemporaryFile file("t.csv", kTrace);
  const TemporaryFile out("out.dat");
  CHECK(run({"trace", "convert", file.path(), out.path(), "--to", "csv"}).code == ExitCode::kOk);
  CHECK(out.content() == kTrace);
}

TEST_CASE("trace convert: errors leave the output as it was") {
  const TemporaryFile file("t.csv", kTrace);
  const TemporaryFile bad("bad.csv", kTrace + "x\n");
  const TemporaryFile out("out.csv", "old");
  CHECK(error_of({"trace", "convert", bad.path(), out.path()}) ==
        "error: " + bad.path() + ":10: dp_rank must be an integer, not \"x\"");
  CHECK(error_of({"trace", "convert", file.path(), file.path()}) ==
        "error: " + file.path() + ": is both input and output (OUT); name another output file");
  CHECK(error_of({"trace", "convert", file.path(), "out.txt"}) ==
        "error: out.txt: cannot tell the output format from the file name; use one of the extensions "
        ".parquet, .json, .json.gz, .log, .log.gz, .csv, .csv.gz or give --to");
  CHECK(
      error_of({"trace", "convert", file.path(), "out.txt", "--to", "cvs"}) ==
      "error: --to: unknown writable op trace format \"cvs\"; did you mean \"csv\"?; known: parquet, chrome, "
      "raw_log, csv");
  CHECK(out.content() == "old");
  CHECK(file.content() == kTrace);
}

TEST_CASE("command line: one line says what is wrong and suggests") {
  CHECK(error_of({"--quiet"}) == "error: goodput: a command is required; see goodput --help");
  CHECK(error_of({"trase"}) == "error: goodput: unknown command \"trase\"; did you mean \"trace\"?");
  CHECK(error_of({"zzz"}) == "error: goodput: unknown command \"zzz\"; see goodput --help");
  CHECK(error_of({"trace", "inof"}) ==
        "error: goodput trace: unknown command \"inof\"; did you mean \"info\"?");
  CHECK(error_of({"trace", "info"}) ==
        "error: goodput trace info: FILE is required; see goodput trace info --help");
  CHECK(error_of({"trace", "info", "x", "--fromat=csv"}) ==
        "error: goodput trace info: unknown option \"--fromat\"; did you mean \"--format\"?");
  CHECK(error_of({"list", "formats", "x"}) == "error: goodput list: unexpected argument \"x\"");
  CHECK(error_of({"list", "format"}) ==
        "error: unknown kind of list \"format\"; did you mean \"formats\"?; known: formats, schedules, "
        "cost-models, policies, failures, models, clusters, stacks, plans, recipes, scenarios, sweeps, "
        "questions, "
        "failure-presets, routing-models, suites, calibrations, fleets, alert-rules, commands");
  CHECK(error_of({"list", "formats", "--jobs", "0"}) ==
        "error: goodput list: --jobs: must be a whole number from 1 to 4096, not \"0\"; see goodput list "
        "--help");
  CHECK(error_of({"list", "formats", "--seed", "-1"}).starts_with("error: goodput list: --seed: "));
}

TEST_CASE("command line: help shows the example and version the revision") {
  const Run help = run({"trace", "convert", "--help"});
  CHECK(help.code == ExitCode::kOk);
  CHECK(help.out.find("goodput trace convert trace.csv.gz trace.parquet") != std::string::npos);
  CHECK(help.out.find("--json FILE") != std::string::npos);
  CHECK(run({"--version"}).out.starts_with("goodput 0."));
  CHECK(run({"-V"}).out == run({"--version"}).out);
}

TEST_CASE("command line: the name alone of what has commands shows its help, as help does") {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{}, {"trace"}, {"routing"}, {"list"}}) {
    const Run alone = run(words);
    CHECK(alone.code == ExitCode::kOk);
    CHECK(alone.err.empty());
    std::vector<std::string> asked = {"help"};
    asked.insert(asked.end(), words.begin(), words.end());
    CHECK(alone.out == run(asked).out);
    asked.assign(words.begin(), words.end());
    asked.emplace_back("--help");
    CHECK(alone.out == run(asked).out);
  }
  CHECK(error_of({"help", "trase"})
            .starts_with("error: unknown command \"trase\"; did you mean \"trace\"?; known: "));
  CHECK(error_of({"help", "list", "x"}) == "error: goodput list has no commands; see goodput list --help");
  CHECK(error_of({"help", "--man", "list"}) == "error: --man covers all commands; leave out COMMAND");
  CHECK(error_of({"completion", "tcsh"}).starts_with("error: unknown shell \"tcsh\""));
  CHECK(error_of({"list", "--json", "-"}) ==
        "error: --json and --report apply only if WHAT is given; see `goodput list --help`");
}

TEST_CASE("list: formats in text and JSON") {
  CHECK(run({"list", "formats"}).out.starts_with("parquet      Apache Parquet"));
  const auto json = Json::parse(run({"list", "formats", "--json", "-"}).out);
  CHECK(json["schema"] == "goodput.list/1");
  CHECK(json["formats"].size() == 14);
  CHECK(json["formats"][1]["name"] == "kineto");
  CHECK(json["formats"][4]["name"] == "csv");
  CHECK(json["formats"][7]["name"] == "wide_csv");    // of expert routing
  CHECK(json["formats"][8]["name"] == "events_csv");  // of spot nodes
}

}  // namespace
}  // namespace goodput
