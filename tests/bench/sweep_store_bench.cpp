// What the folder of a sweep takes: a journal written point by point, and merged into tables.
//   sweep_store_bench [POINTS [TRIALS [COLUMNS [FOLDER]]]]
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>

#include "sim/base/random.h"
#include "tools/sweep/results/merge_sweep.h"
#include "tools/sweep/store/sweep_folder.h"

namespace goodput {
namespace {

PointRows bench_point(std::uint64_t point, std::size_t trials, std::size_t columns) {
  RandomStream random(1, "sweep_store_bench", point);
  PointRows rows{
      .point = point, .config_hash = fmt::format("{:016x}", random.bits()), .error = {}, .policies = {}};
  PolicyRows& policy = rows.policies.emplace_back();
  policy.name = "hot_spare";
  policy.tier = "assumed";
  for (std::size_t i = 0; i < columns; ++i) {
    policy.columns.push_back(fmt::format("figure_{}_s", i));
    policy.estimates.push_back({policy.columns.back(), {random.uniform(), std::array{0.0, 1.0}, false}});
  }
  for (std::size_t trial = 0; trial < trials; ++trial) {
    TrialRow& row = policy.trials.emplace_back();
    row.finished = true;
    for (std::size_t i = 0; i < columns; ++i) {
      // A third each: counts, fractions, zeros and nothing.
      if (i % 3 == 0) row.values.emplace_back(static_cast<double>(random.below(100000)));
      if (i % 3 == 1) row.values.emplace_back(random.uniform(0, 1e6));
      if (i % 3 == 2) row.values.push_back(i % 2 == 0 ? std::optional(0.0) : std::nullopt);
    }
  }
  return rows;
}

Status measure(std::size_t points, std::size_t trials, std::size_t columns, const std::string& dir) {
  struct Clock {  // of the processor: others may be at work here
    static double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
  };
  const auto seconds = [](double from) { return Clock::now() - from; };
  std::filesystem::remove_all(dir);
  SweepManifest manifest{.grid_hash = "0", .version = "bench", .seed = 1, .scenario = "bench.json"};
  manifest.parameters = {"/policies/hot_spare/checkpoint/interval_steps", "spares"};
  for (std::size_t i = 0; i < points; ++i)
    manifest.values.push_back({std::to_string(10 * (i % 100)), std::to_string(i / 100)});
  const auto started = Clock::now();
  double appending_s = 0;
  {
    GOODPUT_TRY(ShardJournal journal, ShardJournal::open(dir, manifest, {}, Existing::kRefuse));
    for (std::size_t i = 0; i < points; ++i) {
      const PointRows rows = bench_point(i, trials, columns);
      const auto before = Clock::now();
      GOODPUT_TRY_STATUS(journal.append(rows));
      appending_s += seconds(before);
    }
    GOODPUT_TRY_STATUS(journal.finish());
  }
  const double bytes = static_cast<double>(std::filesystem::file_size(dir + "/shards/0-of-1.jsonl"));
  fmt::print("{} points x {} trials x {} columns, {:.0f} MB of journal ({:.1f} s in all)\n", points, trials,
             columns, bytes / 1e6, seconds(started));
  fmt::print("append  {:6.2f} s  {:6.1f} us a point  {:6.0f} MB/s\n", appending_s,
             appending_s / static_cast<double>(points) * 1e6, bytes / 1e6 / appending_s);
  const auto resuming = Clock::now();
  { GOODPUT_TRY(const ShardJournal again, ShardJournal::open(dir, manifest, {}, Existing::kResume)); }
  fmt::print("resume  {:6.2f} s  {:6.0f} MB/s\n", seconds(resuming), bytes / 1e6 / seconds(resuming));
  const auto merging = Clock::now();
  GOODPUT_TRY(const Merged merged, merge_sweep(dir));
  const double merge_s = seconds(merging);
  fmt::print("merge   {:6.2f} s  {:6.0f} MB/s  {:.0f} rows/s\n", merge_s, bytes / 1e6 / merge_s,
             static_cast<double>(merged.rows) / merge_s);
  for (const std::string& file : merged.files)
    fmt::print("  {:>9} kB  {}\n", std::filesystem::file_size(file) / 1000, file);
  std::filesystem::remove_all(dir);
  return Ok{};
}

}  // namespace
}  // namespace goodput

int main(int count, char** words) {
  const auto number = [&](int place, std::size_t otherwise) {
    return count > place ? std::strtoull(words[place], nullptr, 10) : otherwise;
  };
  const std::string dir =
      count > 4 ? words[4] : (std::filesystem::temp_directory_path() / "goodput-sweep-bench").string();
  const goodput::Status done = goodput::measure(number(1, 10000), number(2, 20), number(3, 40), dir);
  if (!done) fmt::print(stderr, "{}\n", done.error().message());
  return done ? 0 : 1;
}
