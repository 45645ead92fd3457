// monitor_load FOLDER CASE STEPS [EVERY_S [SLOWDOWN]]: raw logs of running jobs, as `goodput monitor` is to
// follow them, with little CPU of its own: the text of a step is made once, and of further steps only the
// digits that differ are written anew.
//
//   large    one job of 10,240 GPUs (DP 80 x PP 16 x VPP 8 x TP 8), 1.99 M ops and 127 MB a step, a file a
//   host many     20 jobs of 512 GPUs (DP 8 x PP 8 x VPP 8 x TP 8), 99,000 ops each small    one job of 16
//   workers, 1,000 ops a step
//
// A step is written every EVERY_S seconds (10). With 0 it comes when stdin says so: a line of stdin is how
// many further steps to write, and their times are 10 s apart all the same, the last at the present.
// SLOWDOWN: how many times as long a worker in the middle computes (1). Prints `JOB STEP UNIX_TIME` when all
// files have the step.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "sim/ops/op_trace.h"
#include "sim/ops/op_type.h"
#include "tests/support/trace_generator.h"

namespace goodput::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kTensorParallel = 8;
constexpr int kVariants = 2;             // steps differ by noise: that of one of so many seeds
constexpr int kStepsAFile = 4;           // then it is rotated; of rotated files the newest is kept
constexpr std::int64_t kStepS = 10;      // between steps, by the job's clocks
constexpr std::int64_t kFirst = 100001;  // step numbers, and seconds, keep their number of digits
constexpr std::size_t kStepDigits = 6;
constexpr std::size_t kSecondDigits = 10;

struct LoadCase {
  std::string_view name;
  int jobs;
  int dp;
  int pp;
  int vpp;
  int micro_batches;
  double forward_s;  // of all chunks of a stage; a step takes 3 x that x micro-batches, and its bubble
};

constexpr LoadCase kCases[] = {
    {"large", 1, 80, 16, 8, 32, 0.085}, {"many", 20, 8, 8, 8, 32, 0.085}, {"small", 1, 4, 4, 1, 11, 0.2}};

// Digits at `at` of a text: a step's number plus `add`, or the second in which an op starts, `add` after that
// in which the step begins.
struct Digits {
  std::uint32_t at = 0;
  std::uint8_t add = 0;
};

// What one host writes in one step.
struct HostText {
  std::string text;
  std::vector<Digits> seconds;
  std::vector<Digits> steps;
};

void write_digits(std::string& text, std::size_t at, std::size_t count, std::int64_t value) {
  for (std::size_t i = count; i-- > 0; value /= 10) text[at + i] = static_cast<char>('0' + value % 10);
}

void write_time(HostText& host, std::int64_t step, std::int64_t begin_s) {
  for (const Digits& digits : host.seconds)
    write_digits(host.text, digits.at, kSecondDigits, begin_s + digits.add);
  for (const Digits& digits : host.steps) write_digits(host.text, digits.at, kStepDigits, step + digits.add);
}

class HostWriter {
 public:
  HostWriter(HostText& host, const LoadCase& job) : host_(host), job_(job) {}

  // The record of the ops first .. last-1: of one type and worker.
  void append(const OpTrace& trace, std::size_t first, std::size_t last) {
    const auto out = std::back_inserter(host_.text);
    double elapsed_s = 0;
    for (std::size_t i = first; i < last; ++i) elapsed_s += trace.duration_s[i];
    fmt::format_to(out, "2025-11-24 16:00:00,000 - metric_name: {}, elapsed: {}, recent_elapsed_raw_parts: [",
                   to_string(trace.optype[first]), elapsed_s);
    for (std::size_t i = first; i < last; ++i)
      fmt::format_to(out, "{}{}", i > first ? ", " : "", trace.duration_s[i]);
    host_.text += "], recent_since_start_raw_parts: [";
    for (std::size_t i = first; i < last; ++i) append_start(trace.start_s[i], i > first);
    host_.text += "], tags: [";
    for (std::size_t i = first; i < last; ++i) {
      host_.text += i > first ? ", {'step': " : "{'step': ";
      append_step(0);
      host_.text += '}';
    }
    host_.text += "], step_range: range(";
    append_step(0);
    host_.text += ", ";
    append_step(1);
    fmt::format_to(
        out,
        "), world_info: WorldInfo: TopoInfo(rank={}, dp_rank={}, ddp_rank=0, tp_rank=0, pp_rank={}, "
        "local_rank=0, ip='10.0.{}.{}', dp_size={}, ddp_size=1, tp_size={}, pp_size={}, world_size={}) "
        "TrainingInfo(role_id=0, trial_id=0, run_id=0) {{}}\n",
        trace.rank[first], trace.dp_rank[first], trace.stage[first], trace.dp_rank[first], trace.stage[first],
        job_.dp, kTensorParallel, job_.pp, job_.dp * job_.pp * kTensorParallel);
  }

 private:
  void append_start(double start_s, bool follows) {
    if (follows) host_.text += ", ";
    const double whole_s = std::floor(start_s);
    host_.seconds.push_back(
        {static_cast<std::uint32_t>(host_.text.size()), static_cast<std::uint8_t>(whole_s)});
    host_.text.append(kSecondDigits, '0');
    const std::string fraction =
        fmt::format("{:.7f}", start_s - whole_s);  // what Python prints of a Unix time
    if (fraction.starts_with('1')) throw std::logic_error("a start rounds to the next second");
    host_.text += std::string_view(fraction).substr(1);
  }
  void append_step(std::uint8_t add) {
    host_.steps.push_back({static_cast<std::uint32_t>(host_.text.size()), add});
    host_.text.append(kStepDigits, '0');
  }

  HostText& host_;
  const LoadCase& job_;
};

// One step of a job as text, by worker.
std::vector<HostText> make_step(const LoadCase& job, double slowdown, std::uint64_t seed) {
  TraceSpec spec;
  spec.dp = job.dp;
  spec.pp = job.pp;
  spec.vpp = job.vpp;
  spec.micro_batches = job.micro_batches;
  spec.steps = 1;
  spec.schedule = job.vpp > 1 ? Schedule::kInterleaved : Schedule::kOneFOneB;
  spec.type2_noops = job.vpp > 1;
  spec.forward_s = job.forward_s;
  spec.jitter = 0.01;
  spec.slow_dp_rank = job.dp / 2;
  spec.slow_stage = job.pp / 2;
  spec.slow_worker_factor = slowdown;
  spec.rank_gap = kTensorParallel;
  spec.seed = seed;
  const OpTrace trace = generate_trace(spec);
  std::map<std::int32_t, HostText> hosts;
  for (std::size_t first = 0, last = 0; first < trace.size(); first = last) {
    while (last < trace.size() && trace.rank[last] == trace.rank[first] &&
           trace.optype[last] == trace.optype[first])
      ++last;
    HostWriter(hosts[trace.rank[first]], job).append(trace, first, last);
  }
  std::vector<HostText> texts;
  for (auto& [rank, host] : hosts) texts.push_back(std::move(host));
  return texts;
}

void append_file(const fs::path& path, std::string_view text) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) throw std::runtime_error(fmt::format("{}: {}", path.string(), std::strerror(errno)));
  while (!text.empty()) {
    const ssize_t count = write(file, text.data(), text.size());
    if (count < 0) throw std::runtime_error(fmt::format("{}: {}", path.string(), std::strerror(errno)));
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  close(file);
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The folders of all jobs of a case. All jobs write the same, each into a folder of its own.
class LoadWriter {
 public:
  LoadWriter(fs::path folder, const LoadCase& load, double slowdown)
      : folder_(std::move(folder)), case_(load) {
    for (std::uint64_t seed = 1; seed <= kVariants; ++seed)
      variants_.push_back(make_step(load, slowdown, seed));
    for (int job = 0; job < load.jobs; ++job) {
      for (std::size_t host = 0; host < variants_[0].size(); ++host)
        fs::create_directories(log_of(job, host).parent_path());
      std::ofstream(folder_ / name_of(job) / "meta.yaml") << fmt::format(
          "trial_name: {}\nvpp_size: {}\ntp_size: {}\n", name_of(job), load.vpp, kTensorParallel);
    }
  }

  void write_step(std::int64_t number, std::int64_t begin_s) {
    std::vector<HostText>& hosts = variants_[static_cast<std::size_t>(number % kVariants)];
    for (HostText& host : hosts) write_time(host, kFirst + number, begin_s);
    for (int job = 0; job < case_.jobs; ++job) {
      for (std::size_t host = 0; host < hosts.size(); ++host) {
        const fs::path log = log_of(job, host);
        if (number > 0 && number % kStepsAFile == 0) fs::rename(log, log.string() + ".1");
        append_file(log, hosts[host].text);
      }
      fmt::print("{} {} {:.6f}\n", name_of(job), kFirst + number, now_s());
    }
    std::fflush(stdout);
  }

  // Of a step of all jobs.
  [[nodiscard]] std::size_t bytes() const {
    std::size_t bytes = 0;
    for (const HostText& host : variants_[0]) bytes += host.text.size();
    return bytes * static_cast<std::size_t>(case_.jobs);
  }
  [[nodiscard]] std::size_t ops() const {
    std::size_t ops = 0;
    for (const HostText& host : variants_[0]) ops += host.seconds.size();
    return ops * static_cast<std::size_t>(case_.jobs);
  }

 private:
  static std::string name_of(int job) { return fmt::format("job{:02}", job); }
  [[nodiscard]] fs::path log_of(int job, std::size_t host) const {
    return folder_ / name_of(job) / fmt::format("node{:04}", host) / "rank0.log";
  }

  fs::path folder_;
  LoadCase case_;
  std::vector<std::vector<HostText>> variants_;
};

void write_by_the_clock(LoadWriter& writer, std::int64_t steps, double every_s) {
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t step = 0; step < steps; ++step) {
    std::this_thread::sleep_until(begin +
                                  std::chrono::duration<double>(every_s * static_cast<double>(step + 1)));
    writer.write_step(step, static_cast<std::int64_t>(now_s()) - kStepS);
  }
}

void write_as_told(LoadWriter& writer, std::int64_t steps) {
  const std::int64_t begin_s = static_cast<std::int64_t>(now_s()) - kStepS * steps;
  std::int64_t step = 0;
  for (std::int64_t count = 0; step < steps && std::cin >> count;) {
    for (; count > 0 && step < steps; --count, ++step) writer.write_step(step, begin_s + kStepS * step);
  }
}

int run(int argc, char** argv) {
  const auto* const load = std::ranges::find(kCases, std::string_view(argv[2]), &LoadCase::name);
  if (load == std::end(kCases)) throw std::invalid_argument(fmt::format("{} is no case", argv[2]));
  const std::int64_t steps = std::atoll(argv[3]);
  const double every_s = argc > 4 ? std::atof(argv[4]) : static_cast<double>(kStepS);
  LoadWriter writer(argv[1], *load, argc > 5 ? std::atof(argv[5]) : 1);
  fmt::print(stderr, "{} ops and {:.1f} MB a step\n", writer.ops(),
             static_cast<double>(writer.bytes()) / 1e6);
  if (every_s > 0)
    write_by_the_clock(writer, steps, every_s);
  else
    write_as_told(writer, steps);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace goodput::testing

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: monitor_load FOLDER large|many|small STEPS [EVERY_S [SLOWDOWN]]\n");
    return EXIT_FAILURE;
  }
  try {
    return goodput::testing::run(argc, argv);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "monitor_load: {}\n", problem.what());
    return EXIT_FAILURE;
  }
}
