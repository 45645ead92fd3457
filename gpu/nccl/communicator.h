// NCCL's communicator of this rank, which never blocks: whoever waits, for other ranks or for the device,
// polls it under a deadline, and aborts it where another rank is gone, fails or does something else. So a
// dead peer is an error on every other rank, never a hang.
//
// After the first error the communicator is aborted: its work on the device ends without a result, what was
// queued behind it runs on whatever is there, and every later call throws. NCCL aborts in a thread of its
// own, for it waits for what captured the communicator's groups to be destroyed, and may wait for other
// ranks: what takes longer than a moment is left behind.
//
// Calls of CUDA that wait for the device wait, without a deadline, for the ranks that its kernels wait for.
// So between a group and synchronize() do not allocate or free, and launch no kernel for the first time: CUDA
// loads it then, unless the environment has CUDA_MODULE_LOADING=EAGER.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>

#include "gpu/nccl/rank_process.h"

namespace goodput::gpu {

// Something was not done in time. One line.
class DeadlineError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Communicator {
 public:
  // Of all ranks, each with the device that is its current one; waits for them. `deadline` is that of every
  // single wait. `process` must outlive it. Throws as the calls below.
  explicit Communicator(RankProcess& process, std::chrono::milliseconds deadline = std::chrono::seconds(60));
  Communicator(Communicator&&) = delete;
  Communicator& operator=(Communicator&&) = delete;
  // As close(), but an error goes to nobody; while an exception is on its way it aborts. Graphs that captured
  // its groups must be destroyed.
  ~Communicator();

  [[nodiscard]] std::int32_t rank() const { return rank_; }
  [[nodiscard]] std::int32_t ranks() const { return ranks_; }

  // A communicator of the ranks that say the same color, 0 or more, in the order of their ranks here. All
  // ranks call it, when all that was queued has ended. Every rank has a color: in NCCL (2.19 to 2.29) the
  // process of one without crashes where a split fails. The process must outlive what is made; this
  // communicator need not, and either may fail without the other. That a rank is lost ends the waits of both,
  // whether it is in them or not. Throws as group(); then this communicator is aborted.
  [[nodiscard]] std::unique_ptr<Communicator> split(std::int32_t color);

  // What `queue` calls becomes one group, in which the order of peers does not matter. Returns when NCCL has
  // put it on its streams: it may wait for other ranks (NCCL connects at the first use), never for the
  // device, so it can be captured. `what` names it in errors, and must live as long as the communicator.
  // Throws NcclError, LostRank, DeadlineError and what `queue` throws; the communicator is aborted then.
  void group(const char* what, const std::function<void(ncclComm_t)>& queue);

  // Runs `step`, and aborts if it throws. For what comes between a group and synchronize(): memory that is
  // freed while an exception passes would wait for the device, and so for other ranks.
  void or_abort(const std::function<void()>& step);

  // The host waits for the stream, or for what the event was recorded behind. Throws NcclError, LostRank,
  // DeadlineError, CudaError; the communicator is aborted then.
  void synchronize(cudaStream_t stream);
  void synchronize(cudaEvent_t event);

  // Waits for all it was given, and gives it back; all ranks must. REQUIRES: graphs that captured its groups
  // are destroyed: NCCL waits for that, here until the deadline. Throws as synchronize().
  void close();

 private:
  using Clock = std::chrono::steady_clock;

  Communicator(const Communicator& parent, ncclComm_t comm);

  void join(const UniqueId& id);
  void check_open() const;
  [[nodiscard]] ncclResult_t state() const;
  void settle();
  void wait_until(const std::function<bool()>& done);
  void check_state() const;
  void check_peers(Clock::time_point began, bool ask_process) const;
  void check_obituary(ncclResult_t code) const;
  void abort();
  [[nodiscard]] std::string name() const;

  RankProcess& process_;
  std::int32_t rank_;
  std::int32_t ranks_;
  std::chrono::milliseconds deadline_;
  int exceptions_;  // on their way at construction
  ncclComm_t comm_ = nullptr;
  std::shared_ptr<ncclComm_t> made_;  // by the last split: NCCL writes there when that ends, however it does
  std::future<void> ended_;           // the call that ends it
  const char* what_ = "joining";      // the last thing begun
  std::string why_ended_;
};

}  // namespace goodput::gpu
