// What a month of a large job takes in a monitor's database, and how long its parts take.
//   monitor_store_bench [DAYS [DP [PP [OPS [FILE]]]]]
// A step every 10 s is stored as the monitor does it, with maps whose noise is that of the workers, and
// thinned out once a minute. Rows come with the last steps and a dozen alerts alone: all others would be gone
// by then. (Six steps a commit, to be done in minutes.)
#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/random.h"
#include "tools/monitor_store/monitor_store.h"
#include "tools/monitor_store/rows_blob.h"
#include "tools/monitor_store/worker_map_blob.h"

namespace goodput {
namespace {

constexpr double kStep_s = 10;
constexpr std::int64_t kStepsACommit = 360;
constexpr std::int64_t kLastSteps = 25;  // with rows
constexpr double kBegin_s = 1.7e9;

struct Size {
  std::int32_t dp;
  std::int32_t pp;
  std::size_t ops;
};

double cpu_s() {  // of the processor: others may be at work here
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

template <typename Work>
double ms_of(int times, Work work) {
  const double before = cpu_s();
  for (int i = 0; i < times; ++i) work();
  return (cpu_s() - before) / times * 1e3;
}

template <typename T>
T good(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "{}\n", result.error().message());
    std::exit(1);
  }
  return *std::move(result);
}

// Workers of a size with lasting differences: of stages 1 %, of replicas and workers 0.3 %.
class NoisyJob {
 public:
  explicit NoisyJob(Size size) : size_(size), random_(1, "monitor_store_bench") {
    const auto workers = static_cast<std::size_t>(size.dp) * static_cast<std::size_t>(size.pp);
    stage_.resize(static_cast<std::size_t>(size.pp));
    for (double& stage : stage_) stage = random_.normal(1.01, 0.01);
    worker_.resize(workers);
    for (double& worker : worker_) worker = random_.normal(1, 0.003);
    layout_.dp_size = size.dp;
    layout_.pp_size = size.pp;
    for (std::size_t i = 0; i < workers; ++i) {
      layout_.ranks.push_back(static_cast<std::int32_t>(i));
      layout_.hosts.push_back(fmt::format("node-{:05}.cluster", i / 8));
    }
  }

  // And in every step 0.5 % of a worker and of a replica (its sequences).
  StepRecord step(std::int64_t number) {
    StepRecord record;
    StepResult& result = record.result;
    result.layout = layout_;
    result.worker_slowdown.reserve(worker_.size());
    for (std::size_t d = 0; d < static_cast<std::size_t>(size_.dp); ++d) {
      const double replica = random_.normal(1, 0.005);
      result.by_dp_rank.push_back(replica);
      for (std::size_t p = 0; p < stage_.size(); ++p) {
        const double worker = worker_[d * stage_.size() + p] * stage_[p];
        result.worker_slowdown.push_back(worker * replica * random_.normal(1, 0.005));
      }
    }
    result.worker_pace = result.worker_slowdown;
    for (const double stage : stage_) result.by_stage.push_back(stage * random_.normal(1, 0.001));
    for (int i = 0; i < 8; ++i)
      result.by_optype.push_back({fmt::format("op-type-{}", i), random_.normal(1.02, 0.01)});
    result.m_w = random_.uniform();
    result.m_s = random_.uniform();
    result.correlation = random_.uniform();
    for (int i = 0; i < 2; ++i) result.causes.push_back(cause(i));
    set_totals(result.totals, number);
    return record;
  }

  // In the order of the workers, each as it runs: passes one after the other with 1 % of noise, transfers
  // beside them.
  OpTrace rows(std::int64_t step) {
    OpTrace trace;
    const auto workers = static_cast<std::size_t>(size_.dp) * static_cast<std::size_t>(size_.pp);
    trace.reserve(size_.ops);
    for (std::size_t w = 0; w < workers; ++w) {
      double at_s = random_.uniform(0, 0.5);
      const std::size_t ops = size_.ops / workers;
      for (std::size_t i = 0; i < ops; ++i) {
        const auto type = static_cast<OpType>(i % 6);
        const double duration_s =
            i % 6 < 2 ? random_.normal(0.08, 0.0008) : 2e-4 * (1 + random_.exponential(2));
        static_cast<void>(trace.append({.dp_rank = static_cast<std::int64_t>(w) / size_.pp,
                                        .stage = static_cast<std::int64_t>(w) % size_.pp,
                                        .rank = static_cast<std::int64_t>(w),
                                        .step = step,
                                        .optype = type,
                                        .start_s = static_cast<double>(static_cast<float>(at_s)),
                                        .duration_s = static_cast<double>(static_cast<float>(duration_s)),
                                        .seq_id = static_cast<std::int64_t>(i / 6),
                                        .mc = 0,
                                        .mb_id = static_cast<std::int64_t>(i / 6),
                                        .gmc = static_cast<std::int64_t>(w) % size_.pp}));
        at_s += duration_s / 2;
      }
    }
    return trace;
  }

 private:
  StepCause cause(int which) {
    return {.name = which == 0 ? "sequence-length" : "slow-replica",
            .is_likely = which == 0,
            .gain = random_.normal(1.02, 0.01),
            .workers = which == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{random_.below(100)},
            .stage = std::nullopt,
            .fix = {"cause=sequence-length"},
            .evidence = fmt::format("forward and backward passes vary together: {:.3f}", random_.uniform()),
            .next_check = "how sequences are packed into micro-batches"};
  }
  void set_totals(StepTotals& totals, std::int64_t number) {
    totals.id = {0, number};
    totals.began_s = kBegin_s + static_cast<double>(number) * kStep_s;
    totals.received_s = totals.began_s + 9 + random_.uniform();
    totals.finished_s = totals.received_s + random_.uniform(1, 2);
    totals.ops = static_cast<std::int64_t>(size_.ops);
    totals.recorded_s = random_.normal(10, 0.1);
    totals.replayed_s = totals.recorded_s * random_.normal(0.99, 0.001);
    totals.ideal_s = totals.replayed_s / random_.normal(1.1, 0.02);
    totals.slowdown = totals.replayed_s / totals.ideal_s;
    totals.launch_slowdown = totals.recorded_s / totals.replayed_s;
    totals.discrepancy = random_.normal(0.01, 0.001);
    totals.worst_slowdown = random_.normal(1.05, 0.01);
    totals.worst_worker = random_.below(worker_.size());
    totals.shape = SlowdownShape::kSequence;
    totals.cause = "sequence-length";
    totals.gain = random_.normal(1.02, 0.01);
  }

  Size size_;
  RandomStream random_;
  std::vector<double> stage_;
  std::vector<double> worker_;
  JobLayout layout_;
};

void measure_codecs(Size size) {
  NoisyJob job(size);
  const OpTrace rows = job.rows(1);
  std::string columns;
  std::string times;
  fmt::print("rows of a step: {} ops\n", rows.size());
  fmt::print("  hash {:.0f} ms", ms_of(3, [&] { static_cast<void>(op_columns_hash(rows)); }));
  fmt::print(", who {:.0f} ms (once)", ms_of(1, [&] { columns = op_columns_blob(rows); }));
  fmt::print(", when {:.0f} ms", ms_of(3, [&] { times = times_blob(rows); }));
  fmt::print(", read {:.0f} ms\n", ms_of(3, [&] { static_cast<void>(read_rows(columns, times)); }));
  fmt::print("  who {:.2f} MB (once), when {:.2f} MB: {:.2f} bytes an op\n", columns.size() / 1e6,
             times.size() / 1e6, static_cast<double>(times.size()) / static_cast<double>(rows.size()));
  const WorkerMapValues map{size.dp, size.pp, job.step(1).result.worker_slowdown};
  std::string blob;
  fmt::print("map of {} workers: write {:.2f} ms", map.slowdown.size(),
             ms_of(100, [&] { blob = map_blob(map); }));
  fmt::print(", read {:.2f} ms, {} bytes: {:.2f} bits a worker\n",
             ms_of(100, [&] { static_cast<void>(read_map_blob(blob)); }), blob.size(),
             8 * static_cast<double>(blob.size()) / static_cast<double>(map.slowdown.size()));
}

// By table, with its indices.
void print_pages(const std::string& file) {
  sqlite3* database = nullptr;
  sqlite3_open(file.c_str(), &database);
  for (const char* table : {"steps", "details", "step_rows", "op_columns", "layouts"}) {
    const std::string sql = fmt::format("SELECT count(*), sum(length(CAST({} AS BLOB))) FROM {}",
                                        std::string_view(table) == "step_rows"
                                            ? "times"
                                            : (std::string_view(table) == "steps" ? "cause" : "content"),
                                        table);
    sqlite3_stmt* query = nullptr;
    sqlite3_prepare_v2(database, sql.c_str(), -1, &query, nullptr);
    sqlite3_step(query);
    fmt::print("  {:<11} {:>8} rows, {:.1f} MB of their main column\n", table, sqlite3_column_int64(query, 0),
               static_cast<double>(sqlite3_column_int64(query, 1)) / 1e6);
    sqlite3_finalize(query);
  }
  sqlite3_stmt* query = nullptr;
  sqlite3_prepare_v2(database, "SELECT sum(length(map)), (SELECT sum(bytes) FROM step_rows) FROM details", -1,
                     &query, nullptr);
  sqlite3_step(query);
  fmt::print("  maps {:.1f} MB, rows {:.1f} MB\n", static_cast<double>(sqlite3_column_int64(query, 0)) / 1e6,
             static_cast<double>(sqlite3_column_int64(query, 1)) / 1e6);
  sqlite3_finalize(query);
  sqlite3_close(database);
}

void fill(MonitorStore& store, NoisyJob& job, std::int64_t steps) {
  std::uint64_t most_bytes = 0;
  double commit_s = 0;
  double thin_s = 0;
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < steps; i = next) {
    next = i < steps - kLastSteps ? std::min(i + kStepsACommit, steps - kLastSteps) : i + 1;
    StepCommit commit;
    commit.job = "job";
    for (std::int64_t k = i; k < next; ++k) {
      commit.steps.push_back(job.step(k));
      const bool has_alert = k % (steps / 12) == 1;
      if (has_alert || k >= steps - kLastSteps) commit.steps.back().rows = job.rows(k);
      commit.steps.back().keeps_rows = has_alert;
    }
    const double before = cpu_s();
    good(store.commit(commit));
    const double committed = cpu_s();
    commit_s += committed - before;
    while (good(store.thin_out(kBegin_s + static_cast<double>(next) * kStep_s))) continue;
    thin_s += cpu_s() - committed;
    most_bytes = std::max(most_bytes, good(store.file_bytes()));
    if (i % 86400 == 0) fmt::print("  day {}: {:.1f} MB\n", i / 8640, good(store.file_bytes()) / 1e6);
  }
  fmt::print("{} steps: commit {:.2f} ms a step, thin_out {:.3f} ms a step of CPU; at most {:.1f} MB\n",
             steps, commit_s / static_cast<double>(steps) * 1e3, thin_s / static_cast<double>(steps) * 1e3,
             static_cast<double>(most_bytes) / 1e6);
}

void measure_queries(const std::string& file, std::size_t workers) {
  MonitorStore store = good(MonitorStore::open_for_reading(file));
  const auto count = [](const auto& list) { return list.size(); };
  std::size_t found = 0;
  for (int i = 0; i < 2; ++i) {
    fmt::print("{}: steps, 2000 of all {:.1f} ms", i == 0 ? "cold" : "warm",
               ms_of(1, [&] { found = count(good(store.steps("job", {}))); }));
    fmt::print(
        " ({}); a worker's history, 400 points {:.1f} ms", found, ms_of(1, [&] {
          found = count(good(store.worker_history("job", workers / 2, {.from = {}, .to = {}, .most = 400})));
        }));
    fmt::print(" ({}); jobs {:.2f} ms", found, ms_of(10, [&] { good(store.jobs()); }));
    const StepId latest = good(store.jobs()).front().latest->id;
    fmt::print(", latest step {:.2f} ms\n", ms_of(10, [&] { good(store.step("job", latest)); }));
  }
}

int run(int argc, char** argv) {
  const auto argument = [&](int place, std::int64_t standard) {
    return argc > place ? std::strtoll(argv[place], nullptr, 10) : standard;
  };
  const std::int64_t days = argument(1, 2);
  const Size size{static_cast<std::int32_t>(argument(2, 128)), static_cast<std::int32_t>(argument(3, 64)),
                  static_cast<std::size_t>(argument(4, 2'000'000))};
  const std::string file = argc > 5 ? argv[5] : "monitor_store_bench.db";
  measure_codecs(size);
  for (const char* suffix : {"", "-wal", "-shm", "-lock"}) std::filesystem::remove(file + suffix);
  NoisyJob job(size);
  {
    MonitorStore store = good(MonitorStore::open(file, {}));
    fill(store, job, days * 8640);
  }
  fmt::print("closed: {:.1f} MB\n", static_cast<double>(std::filesystem::file_size(file)) / 1e6);
  print_pages(file);
  measure_queries(file, static_cast<std::size_t>(size.dp) * static_cast<std::size_t>(size.pp));
  return 0;
}

}  // namespace
}  // namespace goodput

int main(int argc, char** argv) {
  return goodput::run(argc, argv);
}
