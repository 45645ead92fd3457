// The state behind the runtime API's functions: streams, events, captures, graphs and memory.
//
// Streams are lazy (op_queue.h): copies, memsets, launches, records and waits run when somebody
// synchronises with something behind them. So a host read without synchronisation, and a missing
// dependency between streams, read what was there before, in one order at least. A query runs one
// operation, or a step of one that waits for another process (nccl.h), so polling ends.
//
// The null stream is CUDA's legacy one: it waits for the blocking streams and they for it, and neither for
// those of cudaStreamNonBlocking. cudaMemcpy between host and device waits; between device memories, and
// cudaMemset, it does not. Copies are checked against the allocations when they are queued. Those of
// pageable memory are as lazy as those of pinned memory, later than CUDA's: it may copy pageable memory
// before the call returns.
//
// An error in a kernel is thrown by the call that executes it, and drops all work that is queued. cudaFree
// and cudaFreeHost, which wait too, throw nothing: they return cudaErrorLaunchFailure and the next
// synchronisation throws. A kernel's arguments are copied at its launch, or into the graph.
//
// While a stream captures, whatever waits or allocates returns cudaErrorStreamCaptureUnsupported and
// invalidates the captures, allocation in the relaxed mode excepted. A graph is the captured operations
// with their dependencies; two launches of one executable graph run one after the other.
//
// Not modelled: host threads at the same time, more than one device, memory pools, host functions, timing.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/simt/device_memory.h"
#include "tests/simt/op_queue.h"
#include "tests/simt/runtime_api.h"

namespace simt {

struct Node {
  int rank = 0;
  std::vector<std::size_t> after;
  Work work;  // every launch runs a copy of its own
};

struct Capture {
  cudaStream_t origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  bool valid = true;
  std::vector<Node> nodes;
};

}  // namespace simt

struct CUstream_st {
  int rank = 0;  // by creation; the null stream's is 0
  bool blocking = true;
  simt::OpId last = 0;
  simt::Capture* capture = nullptr;
  std::set<std::size_t> frontier;  // nodes of the capture that precede what is captured next
};

struct CUevent_st {
  bool timed = true;
  simt::OpId record = 0;
  std::uint64_t capture = 0;  // number of the capture it was last recorded in; 0: in none
  std::set<std::size_t> frontier;
};

struct CUgraph_st {
  std::vector<simt::Node> nodes;
};

struct CUgraphExec_st {
  std::vector<simt::Node> nodes;
  simt::OpId last = 0;
};

namespace simt {

class Runtime {
 public:
  Runtime();

  DeviceMemory& memory() { return memory_; }
  cudaError_t report(cudaError_t error);  // notes it for cudaGetLastError
  cudaError_t last_error() const { return last_error_; }
  void clear_last_error() { last_error_ = cudaSuccess; }

  // nullptr: no such handle.
  CUstream_st* stream(cudaStream_t handle);
  CUevent_st* event(cudaEvent_t handle);

  cudaStream_t create_stream(bool blocking);
  cudaError_t destroy(cudaStream_t handle);
  cudaEvent_t create_event(bool timed);
  cudaError_t destroy(cudaEvent_t handle);
  cudaError_t destroy(cudaGraph_t handle);
  cudaError_t destroy(cudaGraphExec_t handle);

  cudaError_t enqueue(cudaStream_t handle, std::function<void()> run);
  cudaError_t enqueue_steps(cudaStream_t handle, Work work);
  cudaError_t record(cudaEvent_t event, cudaStream_t stream);
  cudaError_t wait(cudaStream_t stream, cudaEvent_t event);

  cudaError_t synchronize(cudaStream_t handle);
  cudaError_t synchronize(cudaEvent_t handle);
  cudaError_t synchronize_all();
  cudaError_t synchronize_all_quietly();  // an error waits for the next synchronisation
  cudaError_t query(cudaStream_t handle);
  cudaError_t query(cudaEvent_t handle);
  bool pending(
      cudaEvent_t handle);  // was recorded, and what it was recorded behind has not ended; runs nothing
  bool run_one() { return queue_.run_one(); }  // a step of what is queued; false: nothing is
  cudaError_t elapsed(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

  cudaError_t begin_capture(cudaStream_t stream, cudaStreamCaptureMode mode);
  cudaError_t end_capture(cudaStream_t stream, cudaGraph_t* graph);
  cudaStreamCaptureStatus capture_status(const CUstream_st& stream) const;
  std::uint64_t number_of(const Capture* capture) const;  // 0: of none
  cudaError_t instantiate(cudaGraphExec_t* exec, cudaGraph_t graph);
  cudaError_t launch(cudaGraphExec_t exec, cudaStream_t stream);

  // cudaErrorStreamCaptureUnsupported, and no capture is valid any more, if there is one of another mode than
  // `allowed` (none: any).
  cudaError_t check_no_capture(std::optional<cudaStreamCaptureMode> allowed);

  int device() const { return device_; }
  void set_device(int device) { device_ = device; }
  void set_driver_answers(const DriverAnswers& answers) { driver_answers_ = answers; }
  const DriverAnswers& driver_answers() const { return driver_answers_; }
  // Which of the devices this process has chosen; all are one.
  void set_device(int device) { device_ = device; }
  int device() const { return device_; }

  void name_kernel(const void* kernel, const char* name) { names_[kernel] = name; }
  std::string name_of(const void* kernel) const;
  std::size_t shared_limit_of(const void* kernel) const;
  void set_shared_limit(const void* kernel, std::size_t bytes) { shared_limits_[kernel] = bytes; }

 private:
  using Clock = std::chrono::steady_clock;

  std::vector<OpId> predecessors(const CUstream_st& stream) const;
  cudaError_t enqueue_captured(CUstream_st& stream, Work work);
  cudaError_t check_implicit(const CUstream_st& stream);
  cudaError_t join(CUstream_st& stream, const CUevent_st& event);
  cudaError_t check_unjoined(const Capture& capture, const CUstream_st& origin) const;
  void leave_capture(const Capture* capture);
  void throw_pending_error();

  DeviceMemory memory_;
  OpQueue queue_;
  cudaError_t last_error_ = cudaSuccess;
  DriverAnswers driver_answers_;
  int device_ = 0;
  std::exception_ptr pending_error_;
  CUstream_st null_stream_;
  int streams_created_ = 0;
  std::map<cudaStream_t, std::unique_ptr<CUstream_st>> streams_;
  std::vector<OpId> orphans_;  // last operations of blocking streams that were destroyed
  std::map<cudaEvent_t, std::unique_ptr<CUevent_st>> events_;
  std::map<OpId, std::optional<Clock::time_point>> recorded_at_;  // of records that an event still refers to
  std::map<std::uint64_t, std::unique_ptr<Capture>> captures_;    // by number
  std::uint64_t captures_begun_ = 0;
  std::map<cudaGraph_t, std::unique_ptr<CUgraph_st>> graphs_;
  std::map<cudaGraphExec_t, std::unique_ptr<CUgraphExec_st>> execs_;
  std::map<const void*, std::string> names_;
  std::map<const void*, std::size_t> shared_limits_;
};

// The one runtime, as CUDA's functions have no parameter for it.
Runtime& runtime();

}  // namespace simt
