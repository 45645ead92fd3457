#include "tests/simt/nccl_communicator.h"

#include <algorithm>
#include <utility>

#include "tests/simt/nccl_group_run.h"
#include "tests/simt/runtime.h"

namespace simt {

NcclCommunicator::NcclCommunicator(const NcclHello& own, bool blocking)
    : own_(own),
      blocking_(blocking),
      rendezvous_(std::make_unique<Rendezvous>(own)),
      heard_(static_cast<std::size_t>(own.ranks)),
      join_(runtime().create_event(false)),
      last_queued_(runtime().create_event(false)),
      last_captured_(runtime().create_event(false)) {}

NcclCommunicator::~NcclCommunicator() {
  close();
}

ncclResult_t NcclCommunicator::state() const {
  if (failed()) return failure_.result;
  const bool at_rest = phase_ == Phase::kReady || phase_ == Phase::kFinalized;
  return at_rest && submitted_ == nullptr && split_ == nullptr ? ncclSuccess : ncclInProgress;
}

void NcclCommunicator::fail(ncclResult_t result, const std::string& text) {
  if (!failed()) failure_ = {result, text};
}

void NcclCommunicator::fail_gone(int peer) {
  fail(ncclRemoteError, "rank " + std::to_string(peer) + " is gone");
}

void NcclCommunicator::poll() {
  if (failed() || closed()) return;
  if (phase_ == Phase::kJoining) {
    join();
  } else if (submitted_ != nullptr) {
    queue_submitted();
  } else if (split_ != nullptr) {
    continue_split();
  } else if (phase_ == Phase::kDraining) {
    drain();
  } else if (phase_ == Phase::kParting) {
    part();
  } else {
    rendezvous_->step();
  }
}

ncclResult_t NcclCommunicator::settle() {
  while (blocking_ && state() == ncclInProgress) poll();
  return state();
}

void NcclCommunicator::join() {
  const NcclFailure failure = rendezvous_->step();
  if (failure.happened()) return fail(failure.result, failure.text);
  if (!rendezvous_->complete()) return wait_briefly(rendezvous_->waits_for());
  channels_ = rendezvous_->take_channels();
  phase_ = Phase::kReady;
}

ncclResult_t NcclCommunicator::submit(GroupWork work) {
  submitted_ = std::make_unique<GroupWork>(std::move(work));
  return settle();
}

ncclResult_t NcclCommunicator::split(int color, int key, bool blocking) {
  split_ = std::make_unique<NcclSplit>(*this, color, key, blocking);
  return settle();
}

void NcclCommunicator::continue_split() {
  const NcclFailure failure = split_->step();
  if (failure.happened()) return fail(failure.result, failure.text);
  if (!split_->complete()) return;
  child_ = split_->take_child();
  split_ = nullptr;
}

bool NcclCommunicator::is_busy() const {
  return running_ != nullptr || runtime().pending(last_queued_);
}

void NcclCommunicator::queue_submitted() {
  const std::shared_ptr<const GroupWork> work = std::move(submitted_);
  queued_.push_back(work);
  const cudaError_t error = queue_work(work);
  if (error != cudaSuccess)
    fail(ncclUnhandledCudaError, std::string("a group cannot be queued: ") + cudaGetErrorString(error));
}

// The first stream waits for the others, whose operations before the group may make its data.
cudaError_t NcclCommunicator::gather_streams(const std::vector<cudaStream_t>& streams) {
  for (std::size_t other = 1; other < streams.size(); ++other) {
    cudaError_t error = runtime().record(join_, streams[other]);
    if (error == cudaSuccess) error = runtime().wait(streams.front(), join_);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t NcclCommunicator::queue_work(const std::shared_ptr<const GroupWork>& work) {
  Runtime& device = runtime();
  const cudaStream_t first = work->streams.front();
  const CUstream_st* const stream = device.stream(first);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  const cudaEvent_t last = stream->capture == nullptr ? last_queued_ : last_captured_;
  cudaError_t error = gather_streams(work->streams);
  if (error == cudaSuccess && device.event(last)->capture == device.number_of(stream->capture))
    error = device.wait(first, last);
  if (error == cudaSuccess) error = device.enqueue_steps(first, GroupRun(shared_from_this(), work));
  if (error == cudaSuccess) error = device.record(last, first);
  for (std::size_t other = 1; other < work->streams.size() && error == cudaSuccess; ++other)
    error = device.wait(work->streams[other], last);
  return error;
}

ncclResult_t NcclCommunicator::finalize() {
  phase_ = Phase::kDraining;
  return settle();
}

void NcclCommunicator::drain() {
  const auto is_over = [](const std::weak_ptr<const GroupWork>& work) { return work.expired(); };
  queued_.erase(std::remove_if(queued_.begin(), queued_.end(), is_over), queued_.end());
  if (!queued_.empty()) {
    if (runtime().run_one()) return;
    if (!blocking_) return wait_briefly({});
    return fail(ncclInvalidUsage, "a graph that captured the communicator is left: destroy it before");
  }
  phase_ = Phase::kParting;
  for (int peer = 0; peer < ranks(); ++peer)
    if (peer != rank()) channel(peer).start(MessageKind::kFinalize, 0, nullptr, 0);
}

void NcclCommunicator::part() {
  std::vector<pollfd> waits_for;
  for (int peer = 0; peer < ranks(); ++peer) {
    if (peer == rank()) continue;
    tell_end(peer, waits_for);
    hear_end(peer, waits_for);
  }
  if (failed()) return;
  if (!waits_for.empty()) return wait_briefly(std::move(waits_for));
  phase_ = Phase::kFinalized;
}

void NcclCommunicator::tell_end(int peer, std::vector<pollfd>& waits_for) {
  if (!channel(peer).is_sending()) return;
  const Transmission sent = channel(peer).send();
  if (sent == Transmission::kGone) fail_gone(peer);
  if (sent == Transmission::kBlocked) waits_for.push_back(channel(peer).wait_for(POLLOUT));
}

void NcclCommunicator::hear_end(int peer, std::vector<pollfd>& waits_for) {
  if (heard_[static_cast<std::size_t>(peer)]) return;
  const Transmission came = channel(peer).receive_header();
  if (came == Transmission::kGone) return fail_gone(peer);
  if (came == Transmission::kBlocked) return waits_for.push_back(channel(peer).wait_for(POLLIN));
  Transfer expected;
  expected.kind = MessageKind::kFinalize;
  const std::string wrong =
      mismatch_with(expected, channel(peer).expected_number(), rank(), peer, channel(peer).header());
  if (!wrong.empty()) return fail(ncclInvalidUsage, wrong);
  heard_[static_cast<std::size_t>(peer)] = true;
}

void NcclCommunicator::close() {
  if (closed()) return;
  phase_ = Phase::kClosed;
  submitted_ = nullptr;
  split_ = nullptr;
  child_ = nullptr;
  channels_.clear();
  rendezvous_ = nullptr;
  for (const cudaEvent_t event : {join_, last_queued_, last_captured_}) runtime().destroy(event);
}

}  // namespace simt
