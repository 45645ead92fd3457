#include "tests/simt/runtime.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tests/simt/shared_memory.h"

namespace simt {

namespace {

// With SIMT_STRICT_FORKS, as CUDA: a process whose parent has called it cannot.
void check_fork(pid_t first) {
  static const bool is_strict = std::getenv("SIMT_STRICT_FORKS") != nullptr;
  if (!is_strict || first == getpid()) return;
  std::fprintf(stderr, "simt: CUDA is called in a process that was forked by one which had called it\n");
  std::_Exit(3);
}

}  // namespace

Runtime& runtime() {
  static Runtime the_runtime;
  static const pid_t first = getpid();
  check_fork(first);
  return the_runtime;
}

Runtime::Runtime() {
  if (const char* const devices = std::getenv("SIMT_DEVICES"))
    driver_answers_.device_count = std::atoi(devices);
}

cudaError_t Runtime::report(cudaError_t error) {
  if (error != cudaSuccess) last_error_ = error;
  return error;
}

CUstream_st* Runtime::stream(cudaStream_t handle) {
  if (handle == nullptr) return &null_stream_;
  const auto found = streams_.find(handle);
  return found == streams_.end() ? nullptr : found->second.get();
}

CUevent_st* Runtime::event(cudaEvent_t handle) {
  const auto found = events_.find(handle);
  return found == events_.end() ? nullptr : found->second.get();
}

cudaStream_t Runtime::create_stream(bool blocking) {
  auto stream = std::make_unique<CUstream_st>();
  stream->rank = ++streams_created_;
  stream->blocking = blocking;
  CUstream_st* const handle = stream.get();
  streams_.emplace(handle, std::move(stream));
  return handle;
}

cudaError_t Runtime::destroy(cudaStream_t handle) {
  const auto found = streams_.find(handle);
  if (found == streams_.end()) return cudaErrorInvalidResourceHandle;
  const CUstream_st& stream = *found->second;
  if (stream.capture != nullptr) {
    stream.capture->valid = false;
    if (stream.capture->origin == handle) leave_capture(stream.capture);
  }
  if (stream.blocking && queue_.pending(stream.last)) orphans_.push_back(stream.last);
  streams_.erase(found);
  return cudaSuccess;
}

cudaEvent_t Runtime::create_event(bool timed) {
  auto event = std::make_unique<CUevent_st>();
  event->timed = timed;
  CUevent_st* const handle = event.get();
  events_.emplace(handle, std::move(event));
  return handle;
}

cudaError_t Runtime::destroy(cudaEvent_t handle) {
  const auto found = events_.find(handle);
  if (found == events_.end()) return cudaErrorInvalidResourceHandle;
  recorded_at_.erase(found->second->record);
  events_.erase(found);
  return cudaSuccess;
}

std::vector<OpId> Runtime::predecessors(const CUstream_st& stream) const {
  std::vector<OpId> before = {stream.last};
  if (&stream == &null_stream_) {
    for (const auto& entry : streams_)
      if (entry.second->blocking) before.push_back(entry.second->last);
    before.insert(before.end(), orphans_.begin(), orphans_.end());
  } else if (stream.blocking) {
    before.push_back(null_stream_.last);
  }
  return before;
}

cudaError_t Runtime::enqueue(cudaStream_t handle, std::function<void()> run) {
  return enqueue_steps(handle, [run = std::move(run)] {
    run();
    return Step{};
  });
}

cudaError_t Runtime::enqueue_steps(cudaStream_t handle, Work work) {
  CUstream_st* const to = stream(handle);
  if (to == nullptr) return cudaErrorInvalidResourceHandle;
  if (to->capture != nullptr) return enqueue_captured(*to, std::move(work));
  if (const cudaError_t error = check_implicit(*to); error != cudaSuccess) return error;
  to->last = queue_.add(to->rank, predecessors(*to), std::move(work));
  if (to == &null_stream_) orphans_.clear();
  return cudaSuccess;
}

cudaError_t Runtime::record(cudaEvent_t event_handle, cudaStream_t stream_handle) {
  CUevent_st* const mark = event(event_handle);
  CUstream_st* const from = stream(stream_handle);
  if (mark == nullptr || from == nullptr) return cudaErrorInvalidResourceHandle;
  if (from->capture != nullptr) {
    if (!from->capture->valid) return cudaErrorStreamCaptureInvalidated;
    mark->capture = number_of(from->capture);
    mark->frontier = from->frontier;
    return cudaSuccess;
  }
  const OpId id = queue_.next_id();
  const cudaError_t error = enqueue(stream_handle, [this, id] {
    const auto found = recorded_at_.find(id);
    if (found != recorded_at_.end()) found->second = Clock::now();
  });
  if (error != cudaSuccess) return error;
  recorded_at_.erase(mark->record);
  recorded_at_.emplace(id, std::nullopt);
  mark->record = id;
  mark->capture = 0;
  return cudaSuccess;
}

cudaError_t Runtime::wait(cudaStream_t stream_handle, cudaEvent_t event_handle) {
  CUevent_st* const mark = event(event_handle);
  CUstream_st* const waiter = stream(stream_handle);
  if (mark == nullptr || waiter == nullptr) return cudaErrorInvalidResourceHandle;
  if (mark->capture != 0 || waiter->capture != nullptr) return join(*waiter, *mark);
  if (const cudaError_t error = check_implicit(*waiter); error != cudaSuccess) return error;
  std::vector<OpId> before = predecessors(*waiter);
  before.push_back(mark->record);
  waiter->last = queue_.add(waiter->rank, before, [] { return Step{}; });
  return cudaSuccess;
}

void Runtime::throw_pending_error() {
  if (pending_error_ != nullptr) std::rethrow_exception(std::exchange(pending_error_, nullptr));
}

cudaError_t Runtime::synchronize(cudaStream_t handle) {
  CUstream_st* const waited = stream(handle);
  if (waited == nullptr) return cudaErrorInvalidResourceHandle;
  if (waited->capture != nullptr) {
    waited->capture->valid = false;
    return cudaErrorStreamCaptureUnsupported;
  }
  if (const cudaError_t error = check_implicit(*waited); error != cudaSuccess) return error;
  throw_pending_error();
  for (const OpId op : predecessors(*waited)) queue_.run_until_done(op);
  return cudaSuccess;
}

cudaError_t Runtime::synchronize(cudaEvent_t handle) {
  const CUevent_st* const waited = event(handle);
  if (waited == nullptr) return cudaErrorInvalidResourceHandle;
  if (waited->capture != 0) return cudaErrorCapturedEvent;
  throw_pending_error();
  queue_.run_until_done(waited->record);
  return cudaSuccess;
}

cudaError_t Runtime::synchronize_all() {
  if (const cudaError_t error = check_no_capture(std::nullopt); error != cudaSuccess) return error;
  throw_pending_error();
  queue_.run_all();
  return cudaSuccess;
}

cudaError_t Runtime::synchronize_all_quietly() {
  try {
    queue_.run_all();
    return cudaSuccess;
  } catch (...) {
    pending_error_ = std::current_exception();
    return cudaErrorLaunchFailure;
  }
}

cudaError_t Runtime::query(cudaStream_t handle) {
  const CUstream_st* const asked = stream(handle);
  if (asked == nullptr) return cudaErrorInvalidResourceHandle;
  if (asked->capture != nullptr) {
    asked->capture->valid = false;
    return cudaErrorStreamCaptureUnsupported;
  }
  throw_pending_error();
  const auto is_pending = [&] {
    for (const OpId op : predecessors(*asked))
      if (queue_.pending(op)) return true;
    return false;
  };
  if (is_pending()) queue_.run_one();
  return is_pending() ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t Runtime::query(cudaEvent_t handle) {
  const CUevent_st* const asked = event(handle);
  if (asked == nullptr) return cudaErrorInvalidResourceHandle;
  if (asked->capture != 0) return cudaErrorCapturedEvent;
  throw_pending_error();
  if (queue_.pending(asked->record)) queue_.run_one();
  return queue_.pending(asked->record) ? cudaErrorNotReady : cudaSuccess;
}

bool Runtime::pending(cudaEvent_t handle) {
  const CUevent_st* const asked = event(handle);
  return asked != nullptr && queue_.pending(asked->record);
}

cudaError_t Runtime::elapsed(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const CUevent_st* const from = event(start);
  const CUevent_st* const to = event(end);
  if (from == nullptr || to == nullptr || !from->timed || !to->timed) return cudaErrorInvalidResourceHandle;
  if (from->capture != 0 || to->capture != 0) return cudaErrorCapturedEvent;
  if (from->record == 0 || to->record == 0) return cudaErrorInvalidResourceHandle;
  if (queue_.pending(from->record) || queue_.pending(to->record)) return cudaErrorNotReady;
  const auto first = recorded_at_.at(from->record);
  const auto last = recorded_at_.at(to->record);
  if (!first || !last) return cudaErrorLaunchFailure;  // a kernel before them failed
  *milliseconds = std::chrono::duration<float, std::milli>(*last - *first).count();
  return cudaSuccess;
}

std::string Runtime::name_of(const void* kernel) const {
  const auto found = names_.find(kernel);
  return found == names_.end() ? std::string() : found->second;
}

std::size_t Runtime::shared_limit_of(const void* kernel) const {
  const auto found = shared_limits_.find(kernel);
  return found == shared_limits_.end() ? kPlainSharedBytes : found->second;
}

}  // namespace simt
