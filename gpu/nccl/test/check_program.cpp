#include "gpu/nccl/test/check_program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "gpu/cuda_call.h"
#include "gpu/device.h"
#include "gpu/nccl/environment_rank.h"
#include "gpu/nccl/loopback.h"
#include "gpu/nccl/nccl_library.h"
#include "gpu/nccl/rank_launcher.h"
#include "gpu/nccl/shared_page.h"
#include "gpu/nccl/test/check_options.h"
#include "gpu/nccl/test/check_run.h"
#include "gpu/nccl/test/nccl_checks.h"

namespace goodput::gpu::testing {
namespace {

constexpr int kFailed = 1;
constexpr int kSkipped = 77;
// Deadlines of a wait after which all ranks are killed, for what hangs where nobody looks at a clock.
constexpr int kWaitsOfAll = 10;

int skip(const std::string& why) {
  std::printf("skipped: %s\n", why.c_str());
  return kSkipped;
}

int fail(const char* program, const std::string& problem) {
  std::fprintf(stderr, "%s: %s\n", program, problem.c_str());
  return kFailed;
}

// In a process of its own: one that has called CUDA cannot fork ranks that do.
DeviceSearch find_devices_apart() {
  struct Found {
    int count = 0;
    char why_none[256] = {};
  };
  SharedPage<Found> found;
  LaunchOptions options;
  options.limit = std::chrono::seconds(60);
  const std::string problem = message_of(run_ranks(options, [&](RankProcess&) {
    const DeviceSearch search = find_devices();
    found->count = search.count;
    std::strncpy(found->why_none, search.why_none.c_str(), sizeof(Found::why_none) - 1);
  }));
  if (!problem.empty()) throw std::runtime_error("the search for GPUs failed: " + problem);
  return {found->count, found->why_none};
}

int report(const char* program, Sharing sharing, const CheckTally& tally, const std::string& problem) {
  if (!problem.empty()) std::printf("FAILED %s\n  %s\n", program, problem.c_str());
  if (sharing == Sharing::kOneGpu)
    std::printf("correctness_only: ranks that share a GPU are checked but not timed\n");
  const std::int32_t failed = tally.failed + (problem.empty() ? 0 : 1);
  std::printf("%d passed, %d failed\n", tally.passed.load(), failed);
  return failed == 0 && tally.passed > 0 ? 0 : kFailed;
}

// Ranks that did not end because of another one.
std::int32_t causes(const std::vector<RankEnd>& ends) {
  return static_cast<std::int32_t>(std::count_if(
      ends.begin(), ends.end(), [](const RankEnd& end) { return !end.error.empty() && !end.consequence; }));
}

// All kernels are loaded with the program: see gpu/nccl/communicator.h.
void load_kernels_at_once() {
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
}

int run_forked(const char* program, Sharing sharing, const CheckOptions& options) {
  const DeviceSearch search = find_devices_apart();
  if (search.count == 0) return skip(search.why_none);
  LaunchOptions launch;
  launch.ranks = options.ranks != 0 ? options.ranks : sharing == Sharing::kOneGpu ? 2 : search.count;
  if (sharing == Sharing::kOwnGpu && launch.ranks > search.count) {
    return fail(program, "--ranks is " + std::to_string(launch.ranks) + ", but " +
                             (search.count == 1 ? "there is 1 GPU"
                                                : "there are " + std::to_string(search.count) + " GPUs") +
                             ": each rank needs its own GPU (nccl_loopback lets ranks share one)");
  }
  launch.share_deadline = options.deadline;
  launch.limit = kWaitsOfAll * options.deadline;
  launch.prepare = [sharing, run = static_cast<std::int64_t>(getpid())](std::int32_t rank) {
    load_kernels_at_once();
    if (sharing == Sharing::kOneGpu) enter_loopback(rank, run);
  };
  SharedPage<CheckTally> tally;
  const std::vector<RankEnd> ends = run_ranks(launch, [&](RankProcess& process) {
    GOODPUT_CUDA(cudaSetDevice(sharing == Sharing::kOneGpu ? 0 : process.local_rank()));
    run_checks({options.deadline, options.only, true}, process, *tally);
  });
  if (sharing == Sharing::kOneGpu && tally->refused > 0 && tally->refused == causes(ends)) {
    return skip("NCCL does not let ranks share this GPU: " + message_of(ends));
  }
  return report(program, sharing, *tally, message_of(ends));
}

// Whoever started the ranks waits for them; each says what it knows.
int run_one_rank(const char* program, const CheckOptions& options) {
  EnvironmentOptions environment;
  environment.id_file = options.id_file;
  environment.deadline = options.deadline;
  const auto process = environment_rank(environment);
  load_kernels_at_once();
  const DeviceSearch search = find_devices();
  if (search.count == 0) return fail(program, search.why_none);  // others have GPUs and wait for this rank
  // Schedulers that give a process its GPU alone call it the first.
  const std::int32_t device = search.count == 1 ? 0 : process->local_rank();
  if (device >= search.count) {
    return fail(program, "this is local process " + std::to_string(device) + " of a machine that has " +
                             std::to_string(search.count) + " GPUs: start one process per GPU");
  }
  GOODPUT_CUDA(cudaSetDevice(device));
  CheckTally tally;
  const bool passed = run_checks({options.deadline, options.only, true}, *process, tally);
  if (process->rank() == 0) return report(program, Sharing::kOwnGpu, tally, "");
  return passed ? 0 : kFailed;
}

int list(std::int32_t ranks) {
  for (const NcclCheck& check : nccl_checks(ranks)) std::printf("%s\n", check.name.c_str());
  return 0;
}

}  // namespace

int run_check_program(const char* name, Sharing sharing, int argc, char** argv) {
  CheckOptions options;
  try {
    options = parse_check_options(argc, argv);
    if (sharing == Sharing::kOneGpu && !options.id_file.empty()) {
      throw std::invalid_argument("unknown option: --id-file");
    }
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s: %s\n%s", name, error.what(), check_usage(name).c_str());
    return kFailed;
  }
  if (options.help) {
    std::printf("%s", check_usage(name).c_str());
    return 0;
  }
  if (options.list) return list(options.ranks != 0 ? options.ranks : 2);
  try {
    const NcclSearch nccl = find_nccl();
    if (nccl.version == 0) return options.id_file.empty() ? skip(nccl.why_none) : fail(name, nccl.why_none);
    return options.id_file.empty() ? run_forked(name, sharing, options) : run_one_rank(name, options);
  } catch (const std::exception& error) {
    return fail(name, error.what());
  }
}

}  // namespace goodput::gpu::testing
