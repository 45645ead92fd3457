// Starts ranks as processes of this machine, and watches them: when one fails all others know at once
// (RankProcess::lost), and who does not end by himself is killed. None outlives the launcher, however that
// ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/nccl/rank_process.h"

namespace goodput::gpu {

constexpr std::int32_t kMaxLaunchedRanks = 1024;

struct LaunchOptions {
  std::int32_t ranks = 1;                   // 1 to kMaxLaunchedRanks
  std::chrono::milliseconds grace{10'000};  // from the first rank that failed until the others are killed
  std::chrono::milliseconds limit{0};       // of all; 0: none
  std::chrono::milliseconds share_deadline{60'000};  // of RankProcess::share() on the others than rank 0
  // In the process of the rank, before its body: environment variables, for example.
  std::function<void(std::int32_t rank)> prepare;
  // A signal that all ranks shall get, once; 0: none yet. Asked again and again. What it does to a rank that
  // has no handler of its own is what it does to any process: leave_launcher() takes those of the launcher.
  std::function<int()> passed_on;
};

// How a rank ended.
struct RankEnd {
  std::int32_t rank;
  // "": all is well. The text of what it threw, "exit code 3", "killed by signal 9 (SIGKILL)"
  std::string error;
  bool consequence;  // it ended because another rank had
};

// Forks a process a rank, runs `body` in each and waits for all; the ends are in the order of ranks. A rank
// that returns is done, even if others still run. What a rank prints is flushed; handlers of exit() do not
// run in it, nor signal handlers of the launcher. Throws RankError where they cannot be started. REQUIRES: no
// call of CUDA before, no other thread.
[[nodiscard]] std::vector<RankEnd> run_ranks(const LaunchOptions& options,
                                             const std::function<void(RankProcess&)>& body);

// "": all is well. Else one line with the causes, equal ones once: "rank 2: killed by signal 9 (SIGKILL);
// ranks 0, 1, 3 ended as a consequence", "ranks 0 to 3: 4 ranks, but 1 GPU"
[[nodiscard]] std::string message_of(const std::vector<RankEnd>& ends);

}  // namespace goodput::gpu
