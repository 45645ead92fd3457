#include "tests/support/cuda_job.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/kineto_writer.h"

namespace goodput::testing {
namespace {

constexpr double kNanosecondAccuracy = 1e-9;
constexpr int kMostTestedRanks = 16;  // larger jobs take longer and have no other rules

CudaJobNoise without_noise() {
  return {.kernel = 0, .rank = 0, .transfer = 0, .host = 0, .jitter_s = 0, .clock_s = 0, .device_clock_s = 0};
}

const CudaKernel& simulated_kernel(const CudaJob& job, const std::pair<int, int>& part) {
  return job.ranks[static_cast<std::size_t>(part.first)].kernels[static_cast<std::size_t>(part.second)];
}

// A healthy and a faulty job of each kind.
template <typename Check>
void for_simulated_jobs(Check check) {
  for (std::uint64_t kind = 0; kind < std::size(kCudaJobKinds); ++kind) {
    for (const bool is_faulty : {false, true}) {
      std::uint64_t seed = 700 + kind + (is_faulty ? 70 : 0);
      while (random_cuda_job(seed, is_faulty).ranks > kMostTestedRanks) seed += std::size(kCudaJobKinds);
      const CudaJobSpec spec = random_cuda_job(seed, is_faulty);
      const std::string text = describe(spec);
      CAPTURE(text);
      check(simulate_cuda_job(spec));
    }
  }
}

int out_of_order_kernels(const CudaRank& rank) {
  std::map<int, std::int64_t> stream_ends;
  std::int64_t launched_ns = -1;
  int wrong = 0;
  for (const CudaKernel& kernel : rank.kernels) {
    std::int64_t& end_ns = stream_ends[kernel.stream];
    const bool is_right = kernel.begin_ns >= end_ns && kernel.begin_ns >= kernel.launch_ns &&
                          kernel.end_ns > kernel.begin_ns && kernel.launch_ns > launched_ns;
    wrong += is_right ? 0 : 1;
    end_ns = kernel.end_ns;
    launched_ns = kernel.launch_ns;
  }
  return wrong;
}

int left_too_early(const CudaJob& job, const CudaComm& comm) {
  std::int64_t latest_ns = 0;
  for (const auto& part : comm.parts) latest_ns = std::max(latest_ns, simulated_kernel(job, part).begin_ns);
  return static_cast<int>(std::count_if(comm.parts.begin(), comm.parts.end(), [&](const auto& part) {
    const bool is_eager = comm.is_eager && part.first == comm.sender;
    return !is_eager && simulated_kernel(job, part).end_ns < latest_ns + comm.transfer_ns;
  }));
}

bool has_all_members(const CudaJob& job, const CudaComm& comm) {
  std::set<int> ranks;
  for (const auto& part : comm.parts) ranks.insert(part.first);
  const std::vector<int>& group = job.groups[static_cast<std::size_t>(comm.group)].ranks;
  if (ranks.size() != comm.parts.size() ||
      !std::includes(group.begin(), group.end(), ranks.begin(), ranks.end())) {
    return false;
  }
  if (comm.kind == CommKind::kSend) return ranks.size() == 2 && ranks.contains(comm.sender);
  return ranks.size() == group.size();
}

TEST_CASE("the kernels of a stream run one after the other, and none before its launch") {
  for_simulated_jobs([](const CudaJob& job) {
    for (const CudaRank& rank : job.ranks) CHECK(out_of_order_kernels(rank) == 0);
  });
}

TEST_CASE(
    "a collective has all ranks of its group, a send its receive, and both end after the last rank's begin") {
  for_simulated_jobs([](const CudaJob& job) {
    CHECK(!job.comms.empty());
    int incomplete = 0;
    int early = 0;
    for (const CudaComm& comm : job.comms) {
      incomplete += has_all_members(job, comm) ? 0 : 1;
      early += left_too_early(job, comm);
    }
    CHECK(incomplete == 0);
    CHECK(early == 0);
  });
}

TEST_CASE("the host launches a step only when the device has finished those that it may not run ahead of") {
  for_simulated_jobs([](const CudaJob& job) {
    for (const CudaRank& rank : job.ranks) {
      std::map<int, std::int64_t> first_launches;
      std::map<int, std::int64_t> ends;
      for (const CudaKernel& kernel : rank.kernels) {
        first_launches.try_emplace(kernel.step, kernel.launch_ns);
        ends[kernel.step] = std::max(ends[kernel.step], kernel.end_ns);
      }
      for (const auto& [step, launch_ns] : first_launches) {
        const auto finished = ends.find(step - 1 - job.spec.ahead);
        if (finished != ends.end()) CHECK(launch_ns >= finished->second);
      }
    }
  });
}

TEST_CASE("the kernel that a step launches last also ends last") {
  for_simulated_jobs([](const CudaJob& job) {
    for (const CudaRank& rank : job.ranks) {
      std::map<int, std::int64_t> latest_ns;
      std::map<int, std::int64_t> last_ns;
      for (const CudaKernel& kernel : rank.kernels) {
        latest_ns[kernel.step] = std::max(latest_ns[kernel.step], kernel.end_ns);
        last_ns[kernel.step] = kernel.end_ns;
      }
      CHECK(latest_ns == last_ns);
    }
  });
}

TEST_CASE("a fault does not make a job faster, and a healthy job has none") {
  for_simulated_jobs([](const CudaJob& job) {
    const CudaJobTruth& truth = job.truth;
    const bool is_faulty = truth.slow_rank >= 0;
    CHECK((truth.extra_s > 0) == is_faulty);
    // A hidden loader may shift when hosts launch, but not by more than a few launches.
    constexpr double kLaunches = 0.002;
    CHECK(truth.true_slowdown > 1 - kLaunches);
    if (!is_faulty) CHECK(truth.true_slowdown < 1 + kLaunches);
    CHECK(truth.step_s.size() == static_cast<std::size_t>(job.spec.steps));
  });
}

// DDP of 4 layers of 2 kernels. Of 100 ms of compute, forward and backward passes have 90 ms in 4 x (7.5 +
// 15) ms, the head 4 ms and the optimizer 6 ms; the copy of the input takes 0.04 ms. All buckets take 60 ms x
// comm: the first one, launched after two layers (30 ms), takes 52.5 % of that, and the second one, at 60
// ms, 47.5 %.
CudaJobSpec noiseless_ddp(double comm) {
  CudaJobSpec spec;
  spec.ranks = 4;
  spec.layers = 4;
  spec.kernels = 2;
  spec.comm = comm;
  spec.noise = without_noise();
  return spec;
}

TEST_CASE("without noise the steps of DDP take as long as compute and the exposed part of the last bucket") {
  // comm 0.5: 15.75 ms and 14.25 ms. The first bucket is done at 45.75 ms, the second one at 74.25 ms: 14.25
  // ms late.
  for (const double step_s : simulate_cuda_job(noiseless_ddp(0.5)).truth.step_s) {
    CHECK(step_s == doctest::Approx(0.10004 + 0.01425).epsilon(kNanosecondAccuracy));
  }
  // comm 1: 31.5 ms and 28.5 ms. The first one is done at 61.5 ms, the second one at 90 ms: 30 ms late.
  for (const double step_s : simulate_cuda_job(noiseless_ddp(1)).truth.step_s) {
    CHECK(step_s == doctest::Approx(0.10004 + 0.030).epsilon(kNanosecondAccuracy));
  }
}

TEST_CASE("a slow data loader delays the steps of a job by its time, if the host does not run ahead") {
  CudaJobSpec spec = noiseless_ddp(0.5);
  spec.ahead = 0;
  spec.fault = {CudaFaultKind::kLoader, 2, 0.3};
  const CudaJobTruth truth = simulate_cuda_job(spec).truth;
  CHECK(truth.slow_rank == 2);
  CHECK(truth.extra_s == doctest::Approx(0.3 * truth.healthy_step_s).epsilon(1e-6));
  for (std::size_t step = 1; step < truth.step_s.size(); ++step) {
    CHECK(truth.step_s[step] - truth.healthy_steps_s[step] == doctest::Approx(truth.extra_s).epsilon(1e-6));
  }
}

TEST_CASE("a slow data loader delays nothing if the host runs ahead by more than its time") {
  CudaJobSpec spec = noiseless_ddp(0.5);
  spec.fault = {CudaFaultKind::kHiddenLoader, 2, 0};
  const CudaJobTruth truth = simulate_cuda_job(spec).truth;
  CHECK(truth.slow_rank == -1);
  CHECK(truth.step_s == truth.healthy_steps_s);
}

TEST_CASE("a rank of DDP whose kernels are slow delays the job by its extra work where nothing hides it") {
  CudaJobSpec spec = noiseless_ddp(0.5);
  spec.fault = {CudaFaultKind::kCompute, 1, 0.2};
  const CudaJobTruth truth = simulate_cuda_job(spec).truth;
  // The backward pass ends with a bucket, and the buckets before it finish in time: all extra work delays.
  CHECK(truth.extra_s == doctest::Approx(0.2 * truth.healthy_step_s).epsilon(1e-6));
  CHECK(truth.true_slowdown == doctest::Approx(1.2).epsilon(1e-6));
}

TEST_CASE("without noise and transfers 1F1B takes the time of its last stage, and filling and draining") {
  CudaJobSpec spec;
  spec.kind = CudaJobKind::kOneFOneB;
  spec.ranks = spec.pp = 4;
  spec.layers = 1;
  spec.kernels = 2;
  spec.micro_batches = 8;
  spec.compute_s = 0.24;
  spec.comm = 0;
  spec.noise = without_noise();
  // Per micro-batch a stage takes 9 ms forward and 18 ms backward, the last one 0.4 ms and 0.8 ms more. The
  // last stage starts after 3 forward passes; its last gradient goes through 3 backward passes. Then comes
  // the optimizer (6 % of 240 ms); the input's copy comes first.
  const double step_s = 0.00004 + 3 * 0.009 + 8 * (0.027 + 0.0012) + 3 * 0.018 + 0.0144;
  for (const double recorded_s : simulate_cuda_job(spec).truth.step_s) {
    CHECK(recorded_s == doctest::Approx(step_s).epsilon(kNanosecondAccuracy));
  }
}

TEST_CASE("random jobs have all kinds, sizes and faults") {
  std::set<CudaJobKind> kinds;
  std::set<int> ranks;
  std::set<CudaFaultKind> faults;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const CudaJobSpec spec = random_cuda_job(seed, seed % 2 == 0);
    kinds.insert(spec.kind);
    ranks.insert(spec.ranks);
    faults.insert(spec.fault.kind);
    CHECK((spec.fault.share > 0) == (seed % 2 == 0));
  }
  CHECK(kinds.size() == std::size(kCudaJobKinds));
  CHECK(ranks == std::set<int>{8, 16, 32, 64, 128, 256});
  CHECK(faults.size() == 6);
}

// Step numbers and begins, in the order of the file.
std::vector<std::pair<int, double>> profiler_steps(const nlohmann::json& trace) {
  std::vector<std::pair<int, double>> steps;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    const std::string name = event.value("name", "");
    if (name.starts_with("ProfilerStep#"))
      steps.emplace_back(std::stoi(name.substr(13)), event.at("ts").get<double>());
  }
  return steps;
}

void check_rank_trace(const nlohmann::json& trace, const CudaJob& job, int rank) {
  CHECK(trace.at("distributedInfo").at("rank") == rank);
  CHECK(trace.at("distributedInfo").at("world_size") == job.spec.ranks);
  const std::vector<std::pair<int, double>> steps = profiler_steps(trace);
  CHECK(steps.size() == static_cast<std::size_t>(job.spec.steps));
  CHECK(std::is_sorted(steps.begin(), steps.end(), [](const auto& a, const auto& b) {
    return a.first < b.first && a.second < b.second;
  }));
  std::set<int> launches;
  std::size_t kernels = 0;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.value("cat", "") == "cuda_runtime")
      launches.insert(event.at("args").at("correlation").get<int>());
  }
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.value("cat", "") != "kernel") continue;
    kernels += launches.contains(event.at("args").at("correlation").get<int>()) ? 1 : 0;
  }
  const std::vector<CudaKernel>& all = job.ranks[static_cast<std::size_t>(rank)].kernels;
  const auto is_recorded = [](const CudaKernel& kernel) {
    return kernel.step >= 0 && kernel.kind != KernelKind::kCopy;
  };
  CHECK(kernels == static_cast<std::size_t>(std::count_if(all.begin(), all.end(), is_recorded)));
}

TEST_CASE(
    "the traces of jobs are JSON in every form, with the same content, and have all steps and kernels") {
  int jobs = 0;
  for (std::uint64_t seed = 0; jobs < 4; ++seed) {
    const CudaJobSpec spec = random_cuda_job(seed, true);
    if (spec.ranks > 8) continue;
    ++jobs;
    const std::string text = describe(spec);
    CAPTURE(text);
    const CudaJob job = simulate_cuda_job(spec);
    const int rank = static_cast<int>(seed % 8);
    const nlohmann::json compact = nlohmann::json::parse(kineto_text(job, rank, KinetoForm::kCompact));
    check_rank_trace(compact, job, rank);
    CHECK(nlohmann::json::parse(kineto_text(job, rank, KinetoForm::kLines)) == compact);
    CHECK(nlohmann::json::parse(kineto_text(job, rank, KinetoForm::kIndented)) == compact);
  }
}

TEST_CASE("a simulated job and its traces are the same every time") {
  const CudaJobSpec spec = random_cuda_job(13, true);
  CHECK(kineto_text(simulate_cuda_job(spec), 3) == kineto_text(simulate_cuda_job(spec), 3));
}

}  // namespace
}  // namespace goodput::testing
