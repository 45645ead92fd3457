// How checks over NCCL are counted: one that fails on a rank has failed on all, and the others go on.
#include "gpu/nccl/test/check_run.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "gpu/nccl/rank_launcher.h"
#include "gpu/nccl/shared_page.h"
#include "gpu/nccl/test/nccl_checks.h"
#include "tests/gpu/nccl_ranks.h"
#include "tests/simt/nccl_faults.h"

namespace goodput::gpu::testing {
namespace {

struct RunOfTwo {
  std::vector<RankEnd> ends;
  std::int32_t passed;
  std::int32_t failed;
  bool refused;
  std::int32_t ranks_with_success;
};

// `faults`: those of rank 1.
RunOfTwo run_on_two(const CheckRun& run, const simt::NcclFaults& faults) {
  struct Page {
    CheckTally tally;
    std::atomic<std::int32_t> successes{0};
  };
  SharedPage<Page> page;
  LaunchOptions options;
  options.ranks = 2;
  options.limit = std::chrono::seconds(60);
  options.prepare = [&](std::int32_t rank) {
    if (rank == 1) simt::set_nccl_faults(faults);
  };
  auto ends = run_ranks(options, [&](RankProcess& process) {
    if (run_checks(run, process, page->tally)) ++page->successes;
  });
  return {std::move(ends), page->tally.passed, page->tally.failed, page->tally.refused > 0, page->successes};
}

std::int32_t checks_with(const std::string& part) {
  const std::vector<NcclCheck> checks = nccl_checks(2);
  return static_cast<std::int32_t>(std::count_if(
      checks.begin(), checks.end(), [&](const NcclCheck& check) { return has(check.name, part); }));
}

const CheckRun kLayers{std::chrono::seconds(20), "layer: ", false};

// Calls before the first layer: joining; a send, a receive and the group's end; a gathering and its end.
// Then the layer's counts and their end. So 9 is the rows that rank 1 sends to the experts of rank 0.
constexpr int kFirstRows = 9;

TEST_CASE("check run: a check that fails on one rank is counted once, returned by all, and the others run") {
  const RunOfTwo run = run_on_two(kLayers, {.corrupt_at_call = kFirstRows});
  CHECK(message_of(run.ends) == "");
  CHECK(run.failed == 1);
  CHECK(run.passed == checks_with("layer: ") - 1);
  CHECK(run.ranks_with_success == 0);
  CHECK_FALSE(run.refused);
}

TEST_CASE("check run: what passes is counted once, and only what is asked for runs") {
  const RunOfTwo run = run_on_two(kLayers, {});
  CHECK(message_of(run.ends) == "");
  CHECK(run.failed == 0);
  CHECK(run.passed == checks_with("layer: "));
  CHECK(run.passed < checks_with(""));
  CHECK(run.ranks_with_success == 2);
  CHECK_FALSE(run.refused);
}

TEST_CASE("check run: NCCL has refused what it refuses before the first check, and nothing later") {
  for (const int call : {1, 2, 3, 4, 5, 6, kFirstRows}) {
    CAPTURE(call);
    const RunOfTwo run = run_on_two(kLayers, {.fail_call = call});
    CHECK(has(error_of(run.ends, 1), "unhandled system error"));
    CHECK(run.refused == (call < kFirstRows));
    CHECK(run.passed + run.failed == 0);
    CHECK(run.ranks_with_success == 0);
  }
}

TEST_CASE("check run: a rank that dies as it joins has refused nothing") {
  const RunOfTwo run = run_on_two(kLayers, {.die_at_call = 2});
  CHECK(error_of(run.ends, 1) == "killed by signal 9 (SIGKILL)");
  CHECK_FALSE(run.refused);
}

TEST_CASE("check run: an error of closing ends the run on its rank, though all has passed") {
  CheckRun nothing = kLayers;
  nothing.only = "no check has this in its name";
  const RunOfTwo run =
      run_on_two(nothing, {.fail_call = 7});  // right behind what comes before the first layer
  CHECK(has(error_of(run.ends, 1), "ncclCommFinalize"));
  CHECK_FALSE(run.refused);
}

TEST_CASE("check run: the deadline of every wait is that of the run") {
  CheckRun run = kLayers;
  run.deadline = std::chrono::milliseconds(300);
  const RunOfTwo late = run_on_two(run, {.delay_at_call = kFirstRows, .delay = std::chrono::seconds(1)});
  CHECK(has(error_of(late.ends, 0), " did not end within 300 ms: "));
}

}  // namespace
}  // namespace goodput::gpu::testing
