// Simulated jobs on GPUs, whose truth is known: the study of a thousand is tests/bench/kineto_study.cpp.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

#include "tests/support/kineto_job.h"

namespace goodput {
namespace {

using testing::CudaJob;
using testing::CudaJobSpec;

constexpr std::uint64_t kFirstSeed = 5000;
constexpr std::uint64_t kSeeds = 28;  // four of every kind
constexpr int kMostRanks = 16;        // larger ones take too long here
constexpr double kFelt = 1.02;        // slowdown of the job: less is hidden behind waiting

TEST_CASE("generated jobs: the slow rank is first, healthy ranks are not named, and replays fit") {
  int jobs = 0;
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + kSeeds; ++seed) {
    for (const bool is_faulty : {false, true}) {
      const CudaJobSpec spec = testing::random_cuda_job(seed, is_faulty);
      if (spec.ranks > kMostRanks) continue;
      CAPTURE(testing::describe(spec));
      const CudaJob job = testing::simulate_cuda_job(spec);
      const auto analysed = testing::analyse_ranks(testing::activities_of(job));
      REQUIRE_MESSAGE(analysed, (analysed ? "" : analysed.error().message()));
      ++jobs;
      CHECK(std::abs(analysed->replay_error()) < 0.05);
      if (!is_faulty) {
        CHECK_FALSE(analysed->subject().starts_with("rank:"));
      } else if (job.truth.true_slowdown >= kFelt) {
        CHECK(analysed->slowest_rank() == job.truth.slow_rank);
        CHECK(analysed->slowdown_of(job.truth.slow_rank) ==
              doctest::Approx(job.truth.true_slowdown).epsilon(0.1));
        const auto& extra = analysed->analysis.rank_work->extra_s[analysed->worker_of(job.truth.slow_rank)];
        REQUIRE(extra);
        CHECK(std::abs(*extra - job.truth.extra_s) <= std::max(0.3 * job.truth.extra_s, 0.025));
      }
    }
  }
  CHECK(jobs >= 25);
}

TEST_CASE("generated jobs: clocks of ranks that are milliseconds off change no transfer") {
  CudaJobSpec spec;
  spec.kind = testing::CudaJobKind::kTensor;
  spec.ranks = 8;
  spec.tp = 4;
  spec.noise.clock_s = 0;
  spec.noise.device_clock_s = 0;
  const auto right = testing::analyse_ranks(testing::activities_of(testing::simulate_cuda_job(spec)));
  spec.noise.clock_s = 5e-3;
  spec.noise.device_clock_s = 1e-3;
  const auto wrong = testing::analyse_ranks(testing::activities_of(testing::simulate_cuda_job(spec)));
  REQUIRE(right);
  REQUIRE(wrong);
  CHECK(wrong->job.clocks.are_aligned);
  CHECK(wrong->analysis.whatif.slowdown == doctest::Approx(right->analysis.whatif.slowdown).epsilon(0.002));
  for (int rank = 0; rank < spec.ranks; ++rank)
    CHECK(wrong->slowdown_of(rank) == doctest::Approx(right->slowdown_of(rank)).epsilon(0.002));
}

TEST_CASE("generated jobs: groups of 256 ranks are matched though their lists are cut after 30") {
  CudaJobSpec spec;
  spec.ranks = 256;
  spec.layers = 2;
  spec.kernels = 2;
  spec.steps = 4;
  spec.fault = {testing::CudaFaultKind::kCompute, 200, 0.3};
  const auto analysed = testing::analyse_ranks(testing::activities_of(testing::simulate_cuda_job(spec)));
  REQUIRE(analysed);
  CHECK(analysed->subject() == "rank:200");
}

}  // namespace
}  // namespace goodput
