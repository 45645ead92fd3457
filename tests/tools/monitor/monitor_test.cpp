#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/trace_generator.h"
#include "tests/traces/follow/watched_folder.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/cli/command_line.h"
#include "tools/commands.h"
#include "tools/monitor_store/monitor_store.h"
#include "tools/trace/write_trace.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

struct MonitorOutcome {
  ExitCode code;
  std::string out;
  std::string err;
};

MonitorOutcome monitor(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"monitor", "--once"});
  arguments.insert(arguments.end(), {"--configs", GOODPUT_CONFIGS});
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code = run_command_line(builtin_commands(), arguments, out, err);
  return {code, out.str(), err.str()};
}

// A folder with the logs of a job, removed in the end.
class JobFolder {
 public:
  JobFolder() : anchor_("anchor", "") { fs::create_directory(path()); }
  [[nodiscard]] std::string path() const { return (fs::path(anchor_.path()).parent_path() / "job").string(); }
  [[nodiscard]] std::string store() const {
    return (fs::path(anchor_.path()).parent_path() / "monitor.sqlite").string();
  }
  void write(const OpTrace& rows, const std::string& name) const {
    const std::string file = path() + "/" + name;
    const Result<OpTraceFormat> format = output_format(file, "");
    REQUIRE(format);
    REQUIRE(write_trace(rows, *format, file));
  }
  void append(const std::string& name, const std::string& text) const {
    std::ofstream(path() + "/" + name, std::ios::app) << text;
  }
  [[nodiscard]] std::string text_of(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path() + "/" + name).rdbuf();
    return text.str();
  }

 private:
  TemporaryFile anchor_;
};

OpTrace job_trace(int steps) {
  testing::TraceSpec spec;
  spec.dp = 2;
  spec.pp = 2;
  spec.steps = steps;
  spec.slow_worker_factor = 1.5;
  return testing::generate_trace(spec);
}

// Writes the log of a job, then its lines to a file a rank, as recorders do: every line states the job's
// sizes.
void write_by_rank(const JobFolder& folder, const OpTrace& trace, const std::vector<int>& ranks) {
  folder.write(trace, "all.log");
  std::istringstream lines(folder.text_of("all.log"));
  fs::remove(folder.path() + "/all.log");
  for (std::string line; std::getline(lines, line);) {
    for (const int rank : ranks) {
      if (line.find(fmt::format("(rank={},", rank)) != std::string::npos)
        folder.append(fmt::format("rank{}.log", rank), line + "\n");
    }
  }
}

std::vector<StepTotals> steps_of(const JobFolder& folder) {
  Result<MonitorStore> store = MonitorStore::open_for_reading(folder.store());
  REQUIRE(store);
  const Result<std::vector<StepTotals>> steps = store->steps("job", {});
  REQUIRE(steps);
  return *steps;
}

}  // namespace

TEST_CASE("monitor: takes what is there, once, and what came since the next time") {
  const OpTrace trace = job_trace(4);
  const JobFolder folder;
  write_by_rank(folder, trace, {0, 1, 2, 3});
  const MonitorOutcome first = monitor({folder.path(), "--db", folder.store()});
  REQUIRE(first.code == ExitCode::kOk);
  CHECK(std::ranges::count(first.out, '\n') == 4);
  CHECK(first.out.starts_with("job run 0 step 1: "));
  const std::vector<StepTotals> steps = steps_of(folder);
  REQUIRE(steps.size() == 4);
  for (const StepTotals& step : steps) CHECK(step.status == StepStatus::kAnalysed);

  const MonitorOutcome again = monitor({folder.path(), "--db", folder.store()});
  CHECK(again.code == ExitCode::kOk);
  CHECK(again.out.empty());
  CHECK(steps_of(folder).size() == 4);
}

TEST_CASE("monitor: of a log that rotates between its runs every part is known by its new name") {
  const JobFolder folder;
  testing::TraceSpec spec;
  spec.dp = spec.pp = 1;
  spec.data_parallel_ops = false;
  spec.steps = 9;
  folder.write(testing::generate_trace(spec), "rank0.log");
  const std::string text = folder.text_of("rank0.log");
  const auto lines_of_run = std::ranges::count(text, '\n') / 3;  // as many for each step
  std::istringstream lines(text);
  const auto path = [&](int part) {
    return folder.path() + "/rank0.log" + (part == 0 ? std::string() : fmt::format(".{}", part));
  };
  fs::remove(path(0));
  for (int run = 0; run < 3; ++run) {
    for (int part = run; part > 0; --part) fs::rename(path(part - 1), path(part));
    std::string line;
    for (auto left = lines_of_run; left > 0 && std::getline(lines, line); --left)
      folder.append("rank0.log", line + "\n");
    REQUIRE(monitor({folder.path(), "--db", folder.store()}).code == ExitCode::kOk);
    CHECK(steps_of(folder).size() == 3 * static_cast<std::size_t>(run + 1));
  }
  Result<MonitorStore> store = MonitorStore::open_for_reading(folder.store());
  REQUIRE(store);
  const Result<std::vector<FilePosition>> positions = store->positions("job");
  REQUIRE(positions);
  REQUIRE(positions->size() == 3);
  for (int part = 0; part < 3; ++part) {
    const FilePosition& position = (*positions)[static_cast<std::size_t>(part)];
    CHECK(position.path == path(part));
    CHECK(position.seen == fs::file_size(path(part)));
  }
}

// The known part has nothing new, and the part after it is longer than a piece (1 MiB).
TEST_CASE("monitor: what follows a compressed part that is already known is read to its end") {
  const JobFolder folder;
  testing::TraceSpec spec;
  spec.dp = spec.pp = 1;
  spec.data_parallel_ops = false;
  spec.steps = 6;
  folder.write(testing::generate_trace(spec), "rank0.log");
  const std::string text = folder.text_of("rank0.log");
  const auto lines_of_first = std::ranges::count(text, '\n') / 2;
  std::size_t middle = 0;
  for (auto left = lines_of_first; left > 0; --left) middle = text.find('\n', middle) + 1;
  fs::remove(folder.path() + "/rank0.log");
  folder.append("rank0.log", text.substr(0, middle));
  REQUIRE(monitor({folder.path(), "--db", folder.store()}).code == ExitCode::kOk);
  CHECK(steps_of(folder).size() == 3);

  fs::remove(folder.path() + "/rank0.log");
  folder.append("rank0.log.1.gz", WatchedFolder::gzipped_text(text.substr(0, middle)));
  std::string others;
  for (int line = 0; line < 40'000; ++line)
    others += "a line of the training script, not of a recorder\n";  // 2 MB
  folder.append("rank0.log", others + text.substr(middle));
  const MonitorOutcome again = monitor({folder.path(), "--db", folder.store()});
  REQUIRE(again.code == ExitCode::kOk);
  const std::vector<StepTotals> steps = steps_of(folder);
  REQUIRE(steps.size() == 6);
  for (const StepTotals& step : steps) CHECK(step.status == StepStatus::kAnalysed);
}

// Relative times: rows that seem to go back would be a new run.
TEST_CASE("monitor: what was pushed of a job is read in the order in which it came") {
  testing::TraceSpec spec;
  spec.dp = spec.pp = 4;
  spec.micro_batches = 16;
  spec.steps = 30;
  const JobFolder folder;
  folder.write(testing::generate_trace(spec), "all.log");
  const std::string text = folder.text_of("all.log");
  REQUIRE(text.size() > std::size_t{4} << 20);  // four pieces of reading at least
  const std::string spool = folder.store() + ".spool/pushed";
  fs::create_directories(spool);
  std::size_t begin = 0;
  for (std::size_t push = 1; push <= 3; ++push) {
    const std::size_t end = push == 3 ? text.size() : text.find('\n', text.size() * push / 3) + 1;
    std::ofstream(fmt::format("{}/{:012}.log", spool, push)) << text.substr(begin, end - begin);
    begin = end;
  }
  std::ofstream(folder.path() + "/token") << "a-secret-of-a-test";
  fs::permissions(folder.path() + "/token", fs::perms::owner_read);
  const MonitorOutcome outcome =
      monitor({"--push", "--token-file", folder.path() + "/token", "--db", folder.store()});
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == ExitCode::kOk);
  Result<MonitorStore> store = MonitorStore::open_for_reading(folder.store());
  REQUIRE(store);
  const auto job = store->job("pushed");
  REQUIRE(job);
  REQUIRE(*job);
  CHECK((*job)->runs == 1);
  CHECK((*job)->analysed == 30);
}

TEST_CASE("monitor: rows of a job may lie in its folder and be pushed") {
  const JobFolder folder;
  write_by_rank(folder, job_trace(3), {0, 1});
  const JobFolder other;
  write_by_rank(other, job_trace(3), {2, 3});
  const std::string spool = folder.store() + ".spool/job";
  fs::create_directories(spool);
  for (int push = 1; push <= 2; ++push)
    fs::copy_file(fmt::format("{}/rank{}.log", other.path(), push + 1),
                  fmt::format("{}/{:012}.log", spool, push));
  std::ofstream(other.path() + "/token") << "a-secret-of-a-test";
  fs::permissions(other.path() + "/token", fs::perms::owner_read);
  REQUIRE(monitor({folder.path(), "--push", "--token-file", other.path() + "/token", "--db", folder.store()})
              .code == ExitCode::kOk);
  const std::vector<StepTotals> steps = steps_of(folder);
  CHECK(steps.size() == 3);
  for (const StepTotals& step : steps) CHECK(step.status == StepStatus::kAnalysed);
}

TEST_CASE("monitor: a worker without rows is named, and so is one of which lines lack") {
  const OpTrace trace = job_trace(2);
  const JobFolder folder;
  write_by_rank(folder, trace, {0, 1, 2, 3});
  std::string text = folder.text_of("rank3.log");
  text.erase(0, text.find('\n') + 1);  // the first record, of step 1
  fs::remove(folder.path() + "/rank3.log");
  folder.append("rank3.log", text);
  REQUIRE(monitor({folder.path(), "--db", folder.store()}).code == ExitCode::kOk);
  const std::vector<StepTotals> steps = steps_of(folder);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].status == StepStatus::kIncomplete);
  CHECK(steps[1].status == StepStatus::kAnalysed);
  Result<MonitorStore> store = MonitorStore::open_for_reading(folder.store());
  REQUIRE(store);
  const Result<std::optional<StepResult>> step = store->step("job", {0, 1});
  REQUIRE(step);
  REQUIRE(*step);
  CHECK((*step)->problem == "too few rows arrived from 1 of 4 workers: dp 1 stage 1 (rank 3)");
}

TEST_CASE("monitor: CSV and Parquet are read as logs are") {
  const OpTrace trace = job_trace(3);
  for (const std::string name : {"job.csv", "job.csv.gz", "job.json", "job.log.gz"}) {
    CAPTURE(name);
    const JobFolder folder;
    folder.write(trace, name);
    REQUIRE(monitor({folder.path(), "--db", folder.store()}).code == ExitCode::kOk);
    const std::vector<StepTotals> steps = steps_of(folder);
    REQUIRE(steps.size() == 3);
    for (const StepTotals& step : steps) CHECK(step.status == StepStatus::kAnalysed);
  }
}

TEST_CASE("monitor: --every skips steps and counts them") {
  const JobFolder folder;
  folder.write(job_trace(5), "job.log");
  REQUIRE(monitor({folder.path(), "--db", folder.store(), "--every", "2"}).code == ExitCode::kOk);
  std::vector<StepStatus> statuses;
  for (const StepTotals& step : steps_of(folder)) statuses.push_back(step.status);
  using enum StepStatus;
  CHECK(statuses == std::vector<StepStatus>{kSkipped, kAnalysed, kSkipped, kAnalysed, kSkipped});
}

}  // namespace goodput
