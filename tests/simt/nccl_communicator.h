// A communicator: its state, the sockets to the other ranks, and what it has queued on streams.
//
// What it is doing (joining, queueing a group, splitting, finalizing) goes on in poll(). A failure stays: the
// first one is the communicator's state until it is closed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/simt/nccl.h"
#include "tests/simt/nccl_channel.h"
#include "tests/simt/nccl_rendezvous.h"
#include "tests/simt/nccl_split.h"
#include "tests/simt/nccl_transfers.h"

namespace simt {

class NcclCommunicator : public std::enable_shared_from_this<NcclCommunicator> {
 public:
  NcclCommunicator(const NcclHello& own, bool blocking);
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  int rank() const { return own_.rank; }
  int ranks() const { return own_.ranks; }
  bool blocking() const { return blocking_; }

  ncclResult_t state() const;
  const std::string& failure_text() const { return failure_.text; }
  bool failed() const { return failure_.happened(); }
  void fail(ncclResult_t result, const std::string& text);

  // Goes on with what is in progress; if nothing could, waits for a millisecond at most.
  void poll();
  // What a call returns that started something: its end if the communicator is a blocking one.
  ncclResult_t settle();
  void become_blocking() { blocking_ = true; }

  // REQUIRES of these: state() is ncclSuccess and nothing was finalized; of split() besides: not is_busy().
  ncclResult_t submit(GroupWork work);
  ncclResult_t split(int color, int key, bool blocking);
  ncclResult_t finalize();
  bool finalized() const { return phase_ >= Phase::kDraining; }

  // Operations are queued, or run; a graph that was launched and has not begun is not seen.
  bool is_busy() const;
  // Of a split that has ended, once. nullptr: there is none.
  std::shared_ptr<NcclCommunicator> take_child() { return std::move(child_); }

  // Closes all sockets; operations that are queued end without doing anything.
  void close();
  bool closed() const { return phase_ == Phase::kClosed; }

  // For operations. One runs at a time: the others wait until nobody is running().
  Channel& channel(int peer) { return *channels_[static_cast<std::size_t>(peer)]; }
  const void* running() const { return running_; }
  void set_running(const void* run) { running_ = run; }

 private:
  // Draining: finalizing, while operations or graphs are left. Parting: while ranks are.
  enum class Phase { kJoining, kReady, kDraining, kParting, kFinalized, kClosed };

  void join();
  void queue_submitted();
  void continue_split();
  cudaError_t queue_work(const std::shared_ptr<const GroupWork>& work);
  cudaError_t gather_streams(const std::vector<cudaStream_t>& streams);
  void drain();
  void part();
  void tell_end(int peer, std::vector<pollfd>& waits_for);
  void hear_end(int peer, std::vector<pollfd>& waits_for);
  void fail_gone(int peer);

  NcclHello own_;
  bool blocking_;
  Phase phase_ = Phase::kJoining;
  NcclFailure failure_;
  std::unique_ptr<Rendezvous> rendezvous_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<bool> heard_;  // by peer: it has said that it finalizes
  std::unique_ptr<GroupWork> submitted_;
  std::unique_ptr<NcclSplit> split_;
  std::shared_ptr<NcclCommunicator> child_;
  std::vector<std::weak_ptr<const GroupWork>> queued_;  // alive as long as an operation or a graph has it
  const void* running_ = nullptr;
  cudaEvent_t join_;           // of a group's streams
  cudaEvent_t last_queued_;    // behind the last operation that is in no graph
  cudaEvent_t last_captured_;  // behind the last one of a capture
};

}  // namespace simt
