// Jobs of a fleet from files: results of whatif, databases of monitors, what is known besides; and every
// refusal.
#include "tools/fleet/fleet_inputs.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/traces/io/temporary_file.h"
#include "tools/cli/command_line.h"
#include "tools/commands.h"
#include "tools/fleet/fleet_about.h"
#include "tools/fleet/monitor_jobs.h"
#include "tools/fleet/whatif_result.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

// As whatif writes it, with what a fleet reads of it.
std::string result_text(const std::string& name, const std::string& hash,
                        const std::string& slowdown = "1.5") {
  return fmt::format(
      R"({{"schema": "goodput.whatif/1", "config_hash": "{1}", "lowest_tier": "measured", "job": {{"trial_name": "{0}", "world_size": 256}},
 "trace": {{"pp_size": 4}}, "slowdown": {2}, "discrepancy": 0.02, "m_w": 0.8, "m_s": null,
 "slowdown_by_optype": {{"forward-compute": 1.25}},
 "slowdown_by_worker": {{"0:0": 1.0, "0:1": 1.4, "1:0": 1.3}},
 "workers": {{"rank": [0, 8], "host": ["b", "a", "b", ""]}},
 "root_causes": [
  {{"cause": "worker-fault", "likely": true, "gain": 1.4, "workers": [
    {{"worker": "1:0", "host": "b", "pace": 1.2}}, {{"worker": "0:1", "host": "b", "pace": 1.6}}]}},
  {{"cause": "sequence-length", "likely": false, "gain": null, "value": 0.4, "workers": []}}],
 "per_step": {{"3": {{"recorded_s": 2.0, "slowdown": 1.2}}, "4": {{"recorded_s": 1.0, "slowdown": 1.8}}}}}})",
      name, hash, slowdown);
}

std::string edited(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string problem_of(const std::string& text) {
  const auto read = read_whatif_result(text, "r.json");
  REQUIRE(!read);
  return read.error().message();
}

std::string run(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  (void)run_command_line(builtin_commands(), arguments, out, err);
  return out.str() + err.str();
}

TEST_CASE("a result of whatif is a job of the fleet") {
  const FleetJob job = read_whatif_result(result_text("llama", "12"), "r.json").value();
  CHECK(job.name == "llama");
  CHECK(job.source == "r.json");
  CHECK(job.gpus == 256);
  CHECK(job.gpu_hours.value() == doctest::Approx(3.0 * 256 / 3600));
  CHECK_FALSE(job.restarts);
  CHECK(job.steps == 2);
  CHECK(job.has_pipeline());
  CHECK(job.slowdown == 1.5);
  CHECK(job.discrepancy == 0.02);
  CHECK(job.m_w == 0.8);
  CHECK_FALSE(job.m_s);
  CHECK(job.correlation == 0.4);
  REQUIRE(job.step_slowdown.size() == 2);
  CHECK(job.step_slowdown[0] == doctest::Approx(0.8));
  CHECK(job.step_slowdown[1] == doctest::Approx(1.2));
  REQUIRE(job.by_optype.size() == 1);
  CHECK(job.by_optype[0].slowdown == 1.25);
  CHECK(job.hosts == std::vector<std::string>{"a", "b"});
  REQUIRE(job.causes.size() == 1);
  CHECK(job.causes[0].gain == 1.4);
  REQUIRE(job.slow_hosts.size() == 1);  // of its two slow workers the worse
  CHECK(job.slow_hosts[0].slowdown == 1.4);
  CHECK(job.slow_hosts[0].pace == 1.6);
}

TEST_CASE("what is no result of whatif is refused with its place") {
  const std::string text = result_text("a", "1");
  CHECK(problem_of("{\"schema\":").starts_with("r.json: is truncated or not JSON: "));
  CHECK(problem_of("[1]") == "r.json: is not a JSON object; expected a result of `goodput whatif --json`");
  CHECK(problem_of("{}") ==
        "r.json /schema: is missing, so this is not a goodput result; expected a result of `goodput whatif "
        "--json`");
  CHECK(problem_of(edited(text, "whatif/1", "whatif/2")) ==
        "r.json /schema: is \"goodput.whatif/2\", written by a newer goodput; this version reads "
        "goodput.whatif/1");
  CHECK(problem_of(edited(text, "whatif/1", "plan/1")) ==
        "r.json /schema: must be goodput.whatif/1 (a result of `goodput whatif --json`), not "
        "\"goodput.plan/1\"");
  CHECK(problem_of(edited(text, "\"slowdown\": 1.5", "\"slowdown\": \"x\"")) ==
        "r.json /slowdown: must be a number");
  CHECK(problem_of(edited(text, "\"slowdown\": 1.5", "\"slowdown\": -1")) ==
        "r.json /slowdown: must be from 0.001 to 1e+06, not -1");
  CHECK(problem_of(edited(text, "\"discrepancy\"", "\"other\"")) == "r.json /discrepancy: is missing");
  CHECK(problem_of(edited(text, "\"trial_name\"", "\"other\"")) ==
        "r.json /job/trial_name: is missing or not a string");
  CHECK(problem_of(edited(text, "per_step", "other")) == "r.json /per_step: is missing or empty");
  CHECK(problem_of(edited(text, "\"recorded_s\": 2.0", "\"recorded_s\": null")) ==
        "r.json /per_step/3: must have the keys slowdown and recorded_s");
  const auto problem_after = [&](const std::string& from, const std::string& to) {
    return problem_of(edited(text, from, to));
  };
  CHECK(problem_after("\"recorded_s\": 2.0", "\"recorded_s\": 1.7e308") ==
        "r.json /per_step/3/recorded_s: must be from 0 to 1e+09, not 1.7e+308");
  CHECK(problem_after("\"recorded_s\": 2.0", "\"recorded_s\": -1") ==
        "r.json /per_step/3/recorded_s: must be from 0 to 1e+09, not -1");
  CHECK(problem_after("\"slowdown\": 1.8", "\"slowdown\": 1.7e308") ==
        "r.json /per_step/4/slowdown: must be from 0.001 to 1e+06, not 1.7e+308");
  CHECK(problem_after("\"slowdown\": 1.8", "\"slowdown\": -1.8") ==
        "r.json /per_step/4/slowdown: must be from 0.001 to 1e+06, not -1.8");
  CHECK(problem_after("\"pace\": 1.6", "\"pace\": 1.7e308") ==
        "r.json /root_causes/0/workers/1/pace: must be from 0 to 1e+09, not 1.7e+308");
  CHECK(problem_after("\"0:1\": 1.4", "\"0:1\": -1.4") ==
        "r.json /slowdown_by_worker/0:1: must be from 0.001 to 1e+06, not -1.4");
  CHECK(
      problem_after("\"measured\"", "\"measurd\"") ==
      "r.json /lowest_tier: must be one of measured, literature, datasheet, model, assumed, not \"measurd\"");
  CHECK(problem_after("\"measured\"", "1") == "r.json /lowest_tier: must be a string");
  CHECK(problem_of(edited(text, "slowdown_by_optype", "other")) == "r.json /slowdown_by_optype: is missing");
  CHECK(problem_of(edited(text, "root_causes", "other")) == "r.json /root_causes: is missing");
  CHECK(problem_of(edited(text, "\"likely\": true", "\"likely\": 1")) ==
        "r.json /root_causes/0: must have the keys cause and likely");
}

TEST_CASE("a folder stands for its results, by name; a job that is there twice counts once and is named") {
  const TemporaryFile first("b.json", result_text("b", "2"));
  const std::string folder = fs::path(first.path()).parent_path().string();
  std::ofstream(folder + "/a.json") << result_text("a", "1");
  std::ofstream(folder + "/again.json") << result_text("a", "1");
  std::ofstream(folder + "/other.json") << result_text("b", "3");  // as named, but of other rows
  std::ofstream(folder + "/readme.txt") << "no result";
  std::ostringstream ignored;
  GlobalOptions options;
  options.jobs = 2;
  const CommandContext context{options, ignored, ignored};
  const FleetReading reading = read_fleet({{folder}, ""}, context).value();
  REQUIRE(reading.jobs.size() == 3);
  CHECK(reading.results == 4);
  CHECK(reading.jobs[0].name == "a");
  CHECK(reading.notes ==
        std::vector<std::string>{
            fmt::format("{0}/again.json is the same job as {0}/a.json: counted once", folder),
            "2 jobs share 1 name (b) but have different rows: each is counted separately"});
}

TEST_CASE("a folder without results is refused, and so is a file of neither kind") {
  const TemporaryFile text("readme.txt", "no result");
  const std::string folder = fs::path(text.path()).parent_path().string();
  CHECK(run({"fleet", folder}) ==
        fmt::format("error: {}: contains no .json, .json.gz, .sqlite or .db file; give results of `goodput "
                    "whatif --json` or monitor databases\n",
                    folder));
  CHECK(run({"fleet", text.path()})
            .starts_with(fmt::format("error: {}: is truncated or not JSON: ", text.path())));
}

TEST_CASE("a table says what is known of the jobs besides") {
  std::vector<FleetJob> jobs(2);
  jobs[0].name = "a";
  jobs[0].gpus = 8;
  jobs[1].name = "c";
  const TemporaryFile about("jobs.csv", "owner,job,gpu_hours,restarts\nme,a,12.5,\nyou,b,1,2\n");
  const std::vector<std::string> notes = tell_about_jobs(about.path(), jobs).value();
  CHECK(jobs[0].gpus == 8);
  CHECK(jobs[0].gpu_hours == 12.5);
  CHECK_FALSE(jobs[0].restarts);
  CHECK(notes == std::vector<std::string>{
                     about.path() + ": number of jobs in this table that are not among the analyzed jobs: 1",
                     about.path() + ": number of analyzed jobs without a line in this table: 1"});
  const auto problem = [&](const std::string& text) {
    const TemporaryFile table("jobs.csv", text);
    return without_path(tell_about_jobs(table.path(), jobs).error().message(), table);
  };
  CHECK(problem("job,owner\n") == ":1: must have a column job and at least one of gpus, gpu_hours, restarts");
  CHECK(problem("job,gpus\na\n") == ":2: expected 2 fields, found 1");
  CHECK(problem("job,gpus\na,-3\n") == ":2: gpus must be a whole number of 1 or more, not \"-3\"");
  CHECK(problem("job,gpus\na,0\n") == ":2: gpus must be a whole number of 1 or more, not \"0\"");
  CHECK(problem("job,gpus\na,8.5\n") == ":2: gpus must be a whole number of 1 or more, not \"8.5\"");
  CHECK(problem("job,gpus\na,many\n") == ":2: gpus must be a whole number of 1 or more, not \"many\"");
  CHECK(problem("job,gpu_hours\na,-1\n") == ":2: gpu_hours must be a number of 0 or more, not \"-1\"");
  CHECK(problem("job,restarts\na,0.5\n") == ":2: restarts must be a whole number of 0 or more, not \"0.5\"");
  CHECK(problem("job,gpus\na,1\na,2\n") == ":3: job \"a\" is also in line 2; remove one of the two lines");
}

TEST_CASE("GPUs of a table scale the GPU-hours that were read, unless the table has these, too") {
  std::vector<FleetJob> jobs(3);
  for (FleetJob& job : jobs) {
    job.gpus = 8;
    job.gpu_hours = 24;  // three hours
  }
  jobs[0].name = "a";
  jobs[1].name = "b";
  jobs[2].name = "c";
  jobs[2].gpu_hours.reset();
  const TemporaryFile about("jobs.csv", "job,gpus,gpu_hours\na,16,\nb,16,100\nc,16,\n");
  REQUIRE(tell_about_jobs(about.path(), jobs));
  CHECK(jobs[0].gpus == 16);
  CHECK(jobs[0].gpu_hours == 48);
  CHECK(jobs[0].hours_of == HoursOf::kSteps);
  CHECK(jobs[1].gpu_hours == 100);
  CHECK(jobs[1].hours_of == HoursOf::kTable);
  CHECK_FALSE(jobs[2].gpu_hours);
}

TEST_CASE("a study rests on the lowest tier of its results") {
  const auto tier_of = [](const std::string& first, const std::string& second) {
    const TemporaryFile file("a.json", edited(result_text("a", "1"), "\"measured\"", first));
    const std::string other = fs::path(file.path()).parent_path().string() + "/b.json";
    std::ofstream(other) << edited(result_text("b", "2"), "\"measured\"", second);
    const std::string json = run({"fleet", file.path(), other, "--json", "-"});
    const std::size_t at = json.find("\"lowest_tier\": ");
    REQUIRE(at != std::string::npos);
    return json.substr(at + 15, json.find(',', at) - at - 15);
  };
  CHECK(tier_of("\"measured\"", "\"measured\"") == "\"measured\"");
  CHECK(tier_of("\"assumed\"", "\"measured\"") == "\"assumed\"");
  CHECK(tier_of("\"datasheet\"", "\"model\"") == "\"model\"");
  CHECK(tier_of("\"measured\"", "null") == "\"assumed\"");  // nobody says
}

TEST_CASE("tables and figures are never written over what is read") {
  const TemporaryFile result("r.json", result_text("a", "1"));
  const std::string folder = fs::path(result.path()).parent_path().string();
  const std::string about = folder + "/jobs.csv";
  std::ofstream(about) << "job,gpus\na,8\n";
  CHECK(run({"fleet", result.path(), "--job-info", about, "--tables", folder}) ==
        fmt::format("error: {}/jobs.csv: is both input and output (--tables); name another output file\n",
                    folder));
  fs::create_symlink(result.path(), folder + "/waste.svg");
  CHECK(run({"fleet", result.path(), "--figures", folder}) ==
        fmt::format("error: {}/waste.svg: is both input and output (--figures); name another output file\n",
                    folder));
  CHECK(
      run({"fleet", result.path(), "--tables", folder + "/t", "--json", folder + "/t/hosts.csv"}) ==
      fmt::format("error: {}/t/hosts.csv: is given for both --tables and --json; name two different files\n",
                  folder));
  CHECK(result.content() == result_text("a", "1"));
}

TEST_CASE("options that cannot be are refused") {
  const TemporaryFile result("r.json", result_text("a", "1"));
  CHECK(run({"fleet", result.path(), "--min-steps", "0"}) ==
        "error: --min-steps must be a whole number of 1 or more\n");
  CHECK(run({"fleet", result.path(), "--max-restarts", "-1"}) ==
        "error: --max-restarts must be a whole number of 0 or more\n");
  CHECK(run({"fleet", result.path(), "--max-discrepancy", "0"}) ==
        "error: --max-discrepancy must be a number above 0, for example 0.05\n");
  CHECK(run({"fleet", result.path(), "--json", result.path()}).starts_with("error: "));
}

StepRecord step_record(std::int64_t step, double slowdown, double m_w) {
  StepRecord record;
  StepTotals& totals = record.result.totals;
  totals.id = {0, step};
  totals.began_s = 1.7e9 + 10.0 * static_cast<double>(step);
  totals.recorded_s = 2 * slowdown + 0.02;
  totals.replayed_s = 2 * slowdown;
  totals.ideal_s = 2;
  totals.slowdown = slowdown;
  record.result.layout = {2, 2, 1, 8, {0, 8, 16, 24}, {"a", "a", "b", "b"}};
  record.result.worker_slowdown = {1, 1, 1, slowdown};
  record.result.worker_pace = {1, 1, 1, 1.5};
  record.result.by_optype = {{"forward-compute", slowdown}};
  record.result.m_w = m_w;
  record.result.correlation = 0.2;
  StepCause cause;
  cause.name = "worker-fault";
  cause.is_likely = true;
  cause.gain = slowdown;
  cause.workers = {3};
  record.result.causes = {cause};
  return record;
}

TEST_CASE("a job of a monitor's database is a job of the fleet") {
  const TemporaryFile file("monitor.sqlite");
  {
    MonitorStore store = MonitorStore::open(file.path(), {}).value();
    StepCommit commit;
    commit.job = "llama";
    commit.steps = {step_record(1, 1.2, 0.5), step_record(2, 1.4, 0.8)};
    StepRecord incomplete;
    incomplete.result.totals.id = {0, 3};
    incomplete.result.totals.status = StepStatus::kIncomplete;
    incomplete.result.layout = commit.steps[0].result.layout;
    commit.steps.push_back(incomplete);
    REQUIRE(store.commit(commit));
  }
  std::ostringstream ignored;
  const CommandContext context{{}, ignored, ignored};
  const FleetReading reading = read_fleet({{file.path()}, ""}, context).value();
  CHECK(reading.databases == 1);
  REQUIRE(reading.jobs.size() == 1);
  const FleetJob& job = reading.jobs[0];
  CHECK(job.name == "llama");
  CHECK(job.steps == 2);
  CHECK(job.restarts == 0);
  CHECK(job.gpus == 32);
  CHECK(job.pp_size == 2);
  CHECK(job.slowdown == doctest::Approx(1.3));  // the ideal steps are alike
  // From the first step's begin to the second's end: 10 s and 2.82 s.
  CHECK(job.gpu_hours.value() == doctest::Approx(32 * 12.82 / 3600));
  CHECK(job.discrepancy.value() == doctest::Approx(0.04 / 5.24));
  // Weighted by what the steps lose: 0.4 and 0.8 s.
  CHECK(job.m_w.value() == doctest::Approx((0.4 * 0.5 + 0.8 * 0.8) / 1.2));
  CHECK_FALSE(job.m_s);
  CHECK(job.correlation.value() == doctest::Approx(0.2));
  REQUIRE(job.by_optype.size() == 1);
  CHECK(job.by_optype[0].slowdown == doctest::Approx(1.3));
  REQUIRE(job.causes.size() == 1);
  CHECK(job.causes[0].gain.value() == doctest::Approx(1.3));
  CHECK(job.hosts == std::vector<std::string>{"a", "b"});
  REQUIRE(job.slow_hosts.size() == 1);
  CHECK(job.slow_hosts[0].host == "b");
  CHECK(job.slow_hosts[0].slowdown == doctest::Approx(1.3).epsilon(1e-3));
}

FleetReading reading_of(const std::vector<std::string>& paths, const std::string& about = "") {
  std::ostringstream ignored;
  const CommandContext context{{}, ignored, ignored};
  return read_fleet({paths, about}, context).value();
}

TEST_CASE("steps of a database whose details were thinned out neither count nor hide causes and hosts") {
  const TemporaryFile file("monitor.sqlite");
  {
    StoreOptions options;
    options.maps_in_full = std::chrono::seconds{3600};
    options.rows_of_last = 0;
    MonitorStore store = MonitorStore::open(file.path(), options).value();
    StepCommit commit;
    commit.job = "llama";
    // Six steps a minute for half an hour, and a day later one more minute. Hosts change after the first
    // half.
    for (std::int64_t step = 0; step < 186; ++step) {
      StepRecord record = step_record(step, step % 6 == 3 ? 1.5 : 1.4, 0.8);
      record.result.totals.finished_s = step < 180 ? 10.0 * static_cast<double>(step) : 86'400.0;
      if (step >= 90) record.result.layout.hosts = {"c", "c", "d", "d"};
      commit.steps.push_back(std::move(record));
    }
    REQUIRE(store.commit(commit));
    for (bool has_more = true; has_more;) has_more = store.thin_out(86'460).value();
    // One a minute is left, and the six of the last one.
    CHECK(store.steps_with_details("llama")->size() == 36);
  }
  const FleetJob job = reading_of({file.path()}).jobs.at(0);
  CHECK(job.steps == 186);
  CHECK(job.m_w.value() == doctest::Approx(0.8));
  REQUIRE(job.causes.size() == 1);
  CHECK(job.causes[0].name == "worker-fault");
  CHECK(job.hosts == std::vector<std::string>{"a", "b", "c", "d"});
  // Slow in 15 steps of the first half and 21 of the other: b is below one half of 36, d is not.
  REQUIRE(job.slow_hosts.size() == 1);
  CHECK(job.slow_hosts[0].host == "d");
}

TEST_CASE("of a database without any details GPUs and hosts are still known") {
  const TemporaryFile file("monitor.sqlite");
  {
    MonitorStore store = MonitorStore::open(file.path(), {}).value();
    StepCommit commit;
    commit.job = "llama";
    StepRecord record = step_record(1, 1.2, 0.5);
    const JobLayout layout = record.result.layout;
    const StepTotals totals = record.result.totals;
    record.result = {};
    record.result.totals = totals;
    record.result.layout = layout;
    commit.steps = {record};
    REQUIRE(store.commit(commit));
  }
  const FleetJob job = reading_of({file.path()}).jobs.at(0);
  CHECK(job.gpus == 32);
  CHECK(job.pp_size == 2);
  CHECK(job.hosts == std::vector<std::string>{"a", "b"});
  CHECK_FALSE(job.m_w);
  CHECK(job.causes.empty());
}

TEST_CASE("a database, or a job of it, without analysed steps is noted") {
  const TemporaryFile file("monitor.sqlite");
  const TemporaryFile none("none.sqlite");
  {
    REQUIRE(MonitorStore::open(none.path(), {}));
    MonitorStore store = MonitorStore::open(file.path(), {}).value();
    for (const std::string name : {"early", "llama"}) {
      StepCommit commit;
      commit.job = name;
      commit.steps = {step_record(1, 1.2, 0.5)};
      if (name == "early") commit.steps[0].result.totals.status = StepStatus::kIncomplete;
      REQUIRE(store.commit(commit));
    }
  }
  const FleetReading reading = reading_of({file.path(), none.path()});
  CHECK(reading.jobs.size() == 1);
  CHECK(reading.notes ==
        std::vector<std::string>{file.path() + ": job \"early\" has no analyzed steps and is left out",
                                 none.path() + ": has no jobs yet"});
}

TEST_CASE("GPU-hours of runs and of analysed steps are not alike: a note says so, unless a table has them") {
  const TemporaryFile result("r.json", result_text("a", "1"));
  const TemporaryFile file("monitor.sqlite");
  {
    MonitorStore store = MonitorStore::open(file.path(), {}).value();
    StepCommit commit;
    commit.job = "llama";
    commit.steps = {step_record(1, 1.2, 0.5)};
    REQUIRE(store.commit(commit));
  }
  CHECK(reading_of({result.path(), file.path()}).notes ==
        std::vector<std::string>{"the GPU-hours of some jobs (1) cover only their analyzed steps, but those "
                                 "of other jobs (1) cover the whole time from the first step to the last; "
                                 "add a column gpu_hours to the --job-info table to make them comparable"});
  CHECK(reading_of({result.path()}).notes.empty());
  CHECK(reading_of({file.path()}).notes.empty());
  const TemporaryFile about("jobs.csv", "job,gpu_hours\na,10\nllama,20\n");
  CHECK(reading_of({result.path(), file.path()}, about.path()).notes.empty());
}

}  // namespace
}  // namespace goodput
