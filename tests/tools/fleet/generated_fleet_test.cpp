// A generated fleet, through whatif and back: the figures of its mixture come back within sampling error.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/base/json.h"
#include "tools/cli/command_line.h"
#include "tools/commands.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

class FleetFolder {
 public:
  FleetFolder() : path_(fs::temp_directory_path() / ("goodput-fleet-" + std::to_string(getpid()))) {
    fs::remove_all(path_);
  }
  ~FleetFolder() { fs::remove_all(path_); }
  FleetFolder(const FleetFolder&) = delete;
  FleetFolder& operator=(const FleetFolder&) = delete;
  [[nodiscard]] std::string path(const std::string& name = "") const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string output_of(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code = run_command_line(builtin_commands(), arguments, out, err);
  REQUIRE_MESSAGE(code == ExitCode::kOk, err.str());
  return out.str();
}

std::string text_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

const Json& figure_of(const Json& study, const std::string& key) {
  for (const Json& figure : study["figures"]) {
    if (figure["figure"] == key) return figure;
  }
  throw std::runtime_error("no figure " + key);
}

// Small jobs, so that the test is fast; the mixture's own shapes are those of docs/validation.md.
const char* const kSmallFleet = R"({
  "causes": [
    {"kind": "worker-fault", "share": 0.1, "slowdown": {"min": 1.5, "median": 2, "p90": 3, "max": 4}},
    {"kind": "sequence-length", "share": 0.25, "slowdown": {"min": 1.1, "median": 1.2, "p90": 1.3, "max": 1.4}},
    {"kind": "stage-partition", "share": 0.4, "slowdown": {"min": 1.02, "median": 1.08, "p90": 1.2, "max": 1.3}}],
  "shapes": [{"share": 1, "dp": 4, "pp": 4, "gpus_per_worker": 8, "micro_batches": 4}],
  "trace": {"steps": 5, "jitter": 0.004}, "median_discrepancy": 0.01, "bad_hosts": 2, "hosts": 200})";

TEST_CASE("a generated fleet gives back its mixture" * doctest::test_suite("slow")) {
  const FleetFolder folder;
  fs::create_directories(folder.path());
  std::ofstream(folder.path("small.json")) << kSmallFleet;
  const std::string fleet = folder.path("fleet");
  output_of({"synth", "--fleet", "100", "--mixture", folder.path("small.json"), "--out", fleet, "--seed", "4",
             "--jobs", "2"});
  const Json study = Json::parse(output_of(
      {"fleet", fleet + "/results", "--job-info", fleet + "/jobs.csv", "--json", "-", "--min-steps", "1"}));
  const Json truth = Json::parse(text_of(fleet + "/truth.json"));
  CHECK(study["jobs_studied"] == 100);

  // What is injected comes back job by job: shares are those of the truth, exactly.
  double slow = 0;
  double faults = 0;
  double partitions = 0;
  double sequences = 0;
  double slowdowns = 0;
  for (const Json& job : truth["jobs"]) {
    const bool is_slow = job["slowdown"].get<double>() >= 1.1;
    if (is_slow) ++slow;
    if (job["cause"] == "worker-fault") ++faults;
    if (job["cause"] == "stage-partition") ++partitions;
    if (job["cause"] != "sequence-length") continue;
    ++sequences;
    slowdowns += job["slowdown"].get<double>();
  }
  // S of whatif is within 0.1 % of the truth (docs/validation.md): one job may change sides.
  CHECK(std::abs(figure_of(study, "slow_jobs")["value"].get<double>() - slow / 100) < 0.011);
  CHECK(std::abs(figure_of(study, "m_w")["value"].get<double>() - faults / slow) < 0.03);
  // Where nothing straggles M_S is noise: of the 25 such jobs a few are above a half (2 of these).
  CHECK(std::abs(figure_of(study, "m_s")["value"].get<double>() - partitions / 100) < 0.045);
  CHECK(std::abs(figure_of(study, "correlation")["value"].get<double>() - sequences / 100) < 0.011);
  CHECK(figure_of(study, "correlation_slowdown")["value"].get<double>() ==
        doctest::Approx(slowdowns / sequences).epsilon(0.01));

  // And the truth is a sample of the mixture: within four standard errors, sqrt(p (1 - p) / 100).
  CHECK(std::abs(faults / 100 - 0.1) < 4 * 0.03);
  CHECK(std::abs(sequences / 100 - 0.25) < 4 * 0.0433);
  CHECK(std::abs(partitions / 100 - 0.4) < 4 * 0.049);

  // All worker faults are on two machines, host-0050 and host-0150.
  CHECK(study["hosts"][0]["slow_in"].get<int>() >= 2);
  CHECK((study["hosts"][0]["host"] == "host-0050" || study["hosts"][0]["host"] == "host-0150"));
}

TEST_CASE("a generated fleet is the same for any number of threads, and a longer one begins with it") {
  const FleetFolder folder;
  fs::create_directories(folder.path());
  std::ofstream(folder.path("small.json")) << kSmallFleet;
  const auto make = [&](const std::string& name, const std::string& count, const std::string& jobs) {
    output_of({"synth", "--fleet", count, "--mixture", folder.path("small.json"), "--out", folder.path(name),
               "--jobs", jobs});
  };
  make("one", "4", "1");
  make("three", "4", "3");
  make("more", "5", "2");
  CHECK(text_of(folder.path("one/truth.json")) == text_of(folder.path("three/truth.json")));
  CHECK(text_of(folder.path("one/jobs.csv")) == text_of(folder.path("three/jobs.csv")));
  for (const char* job : {"job-00001", "job-00002", "job-00003", "job-00004"}) {
    const std::string file = std::string("/results/") + job + ".json";
    const std::string result = text_of(folder.path("one") + file);
    CHECK(result.size() > 1000);
    CHECK(result == text_of(folder.path("three") + file));
    CHECK(result == text_of(folder.path("more") + file));
  }
}

TEST_CASE("tables and figures are written whole, into a folder that is made") {
  const FleetFolder folder;
  fs::create_directories(folder.path());
  std::ofstream(folder.path("small.json")) << kSmallFleet;
  output_of(
      {"synth", "--fleet", "12", "--mixture", folder.path("small.json"), "--out", folder.path("fleet")});
  const std::string results = folder.path("fleet/results");
  output_of({"fleet", results, "--tables", folder.path("t/tables"), "--figures", folder.path("t/figures")});
  for (const char* table : {"jobs", "distributions", "optypes", "sizes", "hosts"})
    CHECK(fs::file_size(folder.path(std::string("t/tables/") + table + ".csv")) > 10);
  for (const char* figure : {"waste", "m_s", "correlation", "optypes", "sizes"})
    CHECK(text_of(folder.path(std::string("t/figures/") + figure + ".svg")).starts_with("<svg "));
  CHECK(text_of(folder.path("t/tables/jobs.csv"))
            .starts_with(
                "job,source,studied,gpus,gpu_hours,restarts,steps,pp_size,slowdown,waste,discrepancy,m_w,m_s,"
                "correlation,causes\njob-00001,"));
}

}  // namespace
}  // namespace goodput
