// The side of a rank that was forked by run_ranks().
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "gpu/nccl/rank_channel.h"
#include "gpu/nccl/rank_launcher.h"

namespace goodput::gpu {

// What a forked process does first: it ends when its launcher does, and has none of its signal handlers, nor
// its mask of signals.
void leave_launcher(pid_t launcher);

// Of stdio and iostream. What is not written before a fork is written twice.
void flush_output();

class LaunchedRank final : public RankProcess {
 public:
  LaunchedRank(std::int32_t rank, const LaunchOptions& options, RankChannel channel)
      : rank_(rank), options_(options), channel_(std::move(channel)) {}

  [[nodiscard]] std::int32_t rank() const override { return rank_; }
  [[nodiscard]] std::int32_t ranks() const override { return options_.ranks; }
  [[nodiscard]] std::int32_t local_rank() const override { return rank_; }
  UniqueId share(const std::function<UniqueId()>& make) override;
  void joined() override { joined_ = true; }
  [[nodiscard]] std::string lost() override;

  // Runs the body, and tells the launcher how it ended. Returns the exit code.
  int run(const std::function<void(RankProcess&)>& body) noexcept;

 private:
  void read_messages();
  void check_lost();

  std::int32_t rank_;
  const LaunchOptions& options_;
  RankChannel channel_;
  bool sharing_ = false;
  bool joined_ = false;
  std::optional<UniqueId> id_;
  std::string lost_;      // "": nothing is known to be wrong
  std::string unshared_;  // which rank will not join; only who is about to join needs it
};

}  // namespace goodput::gpu
