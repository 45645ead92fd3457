// Capturing streams into graphs.
#include <doctest/doctest.h>

#include <set>

#include "tests/simt/kernel_case.h"

namespace simt {
namespace {

__global__ void append(std::vector<int>* log, int what) {
  if (threadIdx.x == 0) log->push_back(what);
}

class CaptureCase {
 public:
  CaptureCase() {
    for (cudaStream_t* stream : {&main, &side}) cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
    for (cudaEvent_t* event : {&fork, &join}) cudaEventCreateWithFlags(event, cudaEventDisableTiming);
    REQUIRE(cudaStreamBeginCapture(main, cudaStreamCaptureModeGlobal) == cudaSuccess);
  }
  ~CaptureCase() {
    cudaStreamDestroy(main);
    cudaStreamDestroy(side);
    cudaEventDestroy(fork);
    cudaEventDestroy(join);
    cudaGetLastError();
  }
  CaptureCase(const CaptureCase&) = delete;
  CaptureCase& operator=(const CaptureCase&) = delete;

  cudaError_t append_to(cudaStream_t stream, int what) {
    cudaLaunchConfig_t config{};
    config.gridDim = 1;
    config.blockDim = 32;
    config.stream = stream;
    return cudaLaunchKernelEx(&config, append, &log, what);
  }
  void fork_side() {
    CHECK(cudaEventRecord(fork, main) == cudaSuccess);
    CHECK(cudaStreamWaitEvent(side, fork) == cudaSuccess);
  }
  void join_side() {
    CHECK(cudaEventRecord(join, side) == cudaSuccess);
    CHECK(cudaStreamWaitEvent(main, join) == cudaSuccess);
  }
  cudaError_t end() { return cudaStreamEndCapture(main, &graph); }
  cudaStreamCaptureStatus status_of(cudaStream_t stream) const {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    CHECK(cudaStreamIsCapturing(stream, &status) == cudaSuccess);
    return status;
  }

  cudaStream_t main = nullptr;
  cudaStream_t side = nullptr;
  cudaEvent_t fork = nullptr;
  cudaEvent_t join = nullptr;
  cudaGraph_t graph = nullptr;
  std::vector<int> log;
};

TEST_CASE("simt: a graph replays what was captured, its branches in either order") {
  std::set<std::vector<int>> orders;
  for (const Schedule schedule : schedules()) {
    const ScheduleScope scope(schedule);
    CaptureCase c;
    CHECK(c.append_to(c.main, 1) == cudaSuccess);
    c.fork_side();
    CHECK(c.status_of(c.side) == cudaStreamCaptureStatusActive);
    CHECK(c.append_to(c.main, 2) == cudaSuccess);
    CHECK(c.append_to(c.side, 3) == cudaSuccess);
    c.join_side();
    CHECK(c.append_to(c.main, 4) == cudaSuccess);
    CHECK(c.end() == cudaSuccess);
    CHECK(c.status_of(c.side) == cudaStreamCaptureStatusNone);
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaGraphInstantiate(&exec, c.graph) == cudaSuccess);
    CHECK(cudaGraphDestroy(c.graph) == cudaSuccess);
    cudaDeviceSynchronize();
    CHECK(c.log.empty());  // captured, not executed
    CHECK(c.append_to(c.main, 0) == cudaSuccess);
    CHECK(cudaGraphLaunch(exec, c.main) == cudaSuccess);
    CHECK(c.append_to(c.main, 5) == cudaSuccess);
    CHECK(cudaGraphLaunch(exec, c.main) == cudaSuccess);
    CHECK(cudaGraphExecDestroy(exec) == cudaSuccess);  // what is queued stays
    CHECK(c.log.empty());
    CHECK(cudaStreamSynchronize(c.main) == cudaSuccess);
    REQUIRE(c.log.size() == 10);
    for (const std::size_t at : {std::size_t{2}, std::size_t{7}}) {
      orders.insert({c.log[at], c.log[at + 1]});
      c.log[at] = c.log[at + 1] = 23;
    }
    CHECK(c.log == std::vector<int>{0, 1, 23, 23, 4, 5, 1, 23, 23, 4});
  }
  CHECK(orders == std::set<std::vector<int>>{{2, 3}, {3, 2}});
}

TEST_CASE("simt: launches of one graph in two streams run one after the other") {
  for (const Schedule schedule : schedules()) {
    const ScheduleScope scope(schedule);
    CaptureCase c;
    c.append_to(c.main, 1);
    c.append_to(c.main, 2);
    CHECK(c.end() == cudaSuccess);
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaGraphInstantiate(&exec, c.graph) == cudaSuccess);
    CHECK(cudaGraphLaunch(exec, c.main) == cudaSuccess);
    CHECK(cudaGraphLaunch(exec, c.side) == cudaSuccess);
    cudaDeviceSynchronize();
    CHECK(c.log == std::vector<int>{1, 2, 1, 2});
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(c.graph);
  }
}

TEST_CASE("simt: a fork that is not joined is an error") {
  CaptureCase c;
  c.append_to(c.main, 1);
  c.fork_side();
  c.append_to(c.side, 2);
  CHECK(c.end() == cudaErrorStreamCaptureUnjoined);
  CHECK(c.graph == nullptr);
  CHECK(c.status_of(c.main) == cudaStreamCaptureStatusNone);
  CHECK(c.status_of(c.side) == cudaStreamCaptureStatusNone);
}

TEST_CASE("simt: waiting and allocating invalidate a capture") {
  void* memory = nullptr;
  int here = 0;
  const std::vector<std::pair<const char*, std::function<cudaError_t(CaptureCase&)>>> calls = {
      {"stream sync", [](CaptureCase& c) { return cudaStreamSynchronize(c.main); }},
      {"stream query", [](CaptureCase& c) { return cudaStreamQuery(c.main); }},
      {"device sync", [](CaptureCase&) { return cudaDeviceSynchronize(); }},
      {"malloc", [&](CaptureCase&) { return cudaMalloc(&memory, 8); }},
      {"malloc host", [&](CaptureCase&) { return cudaMallocHost(&memory, 8); }},
      {"memcpy", [&](CaptureCase&) { return cudaMemcpy(&here, &here, 4, cudaMemcpyHostToHost); }},
      {"memset", [&](CaptureCase&) { return cudaMemset(&here, 0, 4); }},
  };
  for (const auto& named : calls) {
    INFO(named.first);
    CaptureCase c;
    CHECK(named.second(c) == cudaErrorStreamCaptureUnsupported);
    CHECK(c.status_of(c.main) == cudaStreamCaptureStatusInvalidated);
    CHECK(c.append_to(c.main, 1) == cudaErrorStreamCaptureInvalidated);
    CHECK(c.end() == cudaErrorStreamCaptureInvalidated);
    CHECK(c.append_to(c.main, 1) == cudaSuccess);
    CHECK(cudaStreamSynchronize(c.main) == cudaSuccess);
  }
}

TEST_CASE("simt: a relaxed capture lets others allocate") {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  void* memory = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess);
  CHECK(cudaMalloc(&memory, 8) == cudaSuccess);
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(cudaFree(memory) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_CASE("simt: events of a capture are its own") {
  CaptureCase c;
  c.append_to(c.main, 1);
  c.fork_side();
  CHECK(cudaEventSynchronize(c.fork) == cudaErrorCapturedEvent);
  CHECK(cudaEventQuery(c.fork) == cudaErrorCapturedEvent);
  c.join_side();
  CHECK(c.end() == cudaSuccess);
  CHECK(cudaEventSynchronize(c.fork) == cudaErrorCapturedEvent);
  CHECK(cudaStreamWaitEvent(c.side, c.fork) == cudaErrorCapturedEvent);
  CHECK(cudaGraphDestroy(c.graph) == cudaSuccess);
}

TEST_CASE("simt: a capture cannot depend on work outside of it") {
  cudaStream_t other = nullptr;
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) == cudaSuccess);
  {
    CaptureCase c;
    CHECK(cudaEventRecord(c.join, other) == cudaSuccess);
    CHECK(cudaStreamWaitEvent(c.main, c.join) == cudaErrorStreamCaptureIsolation);
    CHECK(c.end() == cudaErrorStreamCaptureInvalidated);
  }
  {
    CaptureCase c;
    CHECK(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal) == cudaSuccess);
    CHECK(cudaEventRecord(c.join, other) == cudaSuccess);
    CHECK(cudaStreamWaitEvent(c.main, c.join) == cudaErrorStreamCaptureMerge);
    CHECK(c.end() == cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamEndCapture(other, &graph) == cudaErrorStreamCaptureInvalidated);
  }
  CHECK(cudaStreamDestroy(other) == cudaSuccess);
}

TEST_CASE("simt: captures begin and end where CUDA lets them") {
  CaptureCase c;
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamBeginCapture(c.main, cudaStreamCaptureModeGlobal) == cudaErrorIllegalState);
  CHECK(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal) == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaStreamEndCapture(c.side, &graph) == cudaErrorIllegalState);
  c.fork_side();
  CHECK(cudaStreamEndCapture(c.side, &graph) == cudaErrorStreamCaptureUnmatched);
  CHECK(c.end() == cudaErrorStreamCaptureInvalidated);
}

TEST_CASE("simt: work of the null stream invalidates the capture of a blocking stream") {
  cudaStream_t blocking = nullptr;
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamCreate(&blocking) == cudaSuccess);
  CHECK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed) == cudaSuccess);
  CHECK(cudaStreamSynchronize(nullptr) == cudaErrorStreamCaptureImplicit);
  CHECK(cudaStreamEndCapture(blocking, &graph) == cudaErrorStreamCaptureInvalidated);
  CHECK(cudaStreamDestroy(blocking) == cudaSuccess);
  cudaGetLastError();
}

}  // namespace
}  // namespace simt
