// What nccl_test checks on GPUs, over the stand-in for NCCL: layers against the virtual transport, captured
// exchanges, migration.
#include "gpu/nccl/test/nccl_checks.h"

#include <doctest/doctest.h>

#include "gpu/nccl/rank_launcher.h"
#include "gpu/nccl/shared_page.h"
#include "gpu/nccl/test/check_run.h"

namespace goodput::gpu::testing {
namespace {

// With the threads and streams of every rank in this order.
void check_ranks(std::int32_t ranks, simt::Schedule schedule) {
  CAPTURE(ranks);
  LaunchOptions options;
  options.ranks = ranks;
  options.limit = std::chrono::seconds(120);
  SharedPage<CheckTally> tally;
  CheckRun run;
  run.print_names = false;
  const auto ends = run_ranks(options, [&](RankProcess& process) {
    simt::set_schedule(schedule);
    run_checks(run, process, *tally);
  });
  CHECK(message_of(ends) == "");
  CHECK(tally->failed == 0);
  CHECK(tally->passed == static_cast<std::int32_t>(nccl_checks(ranks).size()));
}

TEST_CASE("nccl: 1, 2, 3 and 8 forked ranks compute what the virtual transport does, and move states whole") {
  for (const std::int32_t ranks : {1, 2, 3, 8}) check_ranks(ranks, {});
}

TEST_CASE("nccl: ranks agree in whatever order their streams run") {
  check_ranks(3, {simt::Order::kDescending, 0});
  check_ranks(3, {simt::Order::kRandom, 7});
}

}  // namespace
}  // namespace goodput::gpu::testing
