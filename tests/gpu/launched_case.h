// What tests of processes share. Nothing is left behind: neither processes nor open files.
#pragma once

#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>

#include "gpu/nccl/rank_launcher.h"

namespace goodput::gpu {

// In the process of a rank doctest has no say: what is wrong there is thrown.
inline void must(bool holds, int line = __builtin_LINE()) {
  if (!holds) throw std::runtime_error("line " + std::to_string(line) + " does not hold");
}

inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const RankError& error) {
    return error.what();
  }
  return "no error";
}

// Ranks that end after 10 s whatever a test does wrong, and dump no core.
inline LaunchOptions options_of(std::int32_t ranks) {
  LaunchOptions options;
  options.ranks = ranks;
  options.limit = std::chrono::seconds(10);
  return options;
}

inline std::string wait_for_loss(RankProcess& rank) {
  const auto began = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - began < std::chrono::seconds(5)) {
    if (std::string lost = rank.lost(); !lost.empty()) return lost;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  throw std::runtime_error("nothing was lost within 5 s");
}

[[noreturn]] inline void ignore_everything_until(std::chrono::milliseconds limit) {
  for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_IGN);
  std::this_thread::sleep_for(limit);
  _exit(0);
}

[[noreturn]] inline void ignore_everything() {
  ignore_everything_until(std::chrono::seconds(20));
}

// Checks at its end that as many files are open as at its beginning, and that there is no child.
class LaunchCase {
 public:
  LaunchCase() : open_files_(open_files()) {
    getrlimit(RLIMIT_CORE, &cores_);
    const rlimit none{0, cores_.rlim_max};
    setrlimit(RLIMIT_CORE, &none);
  }
  LaunchCase(const LaunchCase&) = delete;
  LaunchCase& operator=(const LaunchCase&) = delete;
  ~LaunchCase() {
    setrlimit(RLIMIT_CORE, &cores_);
    CHECK(open_files() == open_files_);
    const bool has_child = waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD;
    CHECK_FALSE(has_child);
  }

  [[nodiscard]] std::string run(const LaunchOptions& options,
                                const std::function<void(RankProcess&)>& body) const {
    return message_of(run_ranks(options, body));
  }
  void check_well(const LaunchOptions& options, const std::function<void(RankProcess&)>& body) const {
    CHECK(run(options, body) == "");
  }

 private:
  static std::ptrdiff_t open_files() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  }

  std::ptrdiff_t open_files_;
  rlimit cores_{};
};

// Processes whose parent has ended become children of this one, which waits for them.
class AdoptedOrphans {
 public:
  AdoptedOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }
  AdoptedOrphans(const AdoptedOrphans&) = delete;
  AdoptedOrphans& operator=(const AdoptedOrphans&) = delete;
  ~AdoptedOrphans() {
    wait_for_all();
    prctl(PR_SET_CHILD_SUBREAPER, 0);
  }

  void wait_for_all() const {
    while (waitpid(-1, nullptr, 0) > 0) {
    }
  }
};

}  // namespace goodput::gpu
