// Capturing streams into graphs, and launching those.
#include <numeric>
#include <utility>

#include "tests/simt/runtime.h"

namespace simt {

std::uint64_t Runtime::number_of(const Capture* capture) const {
  for (const auto& [number, entry] : captures_)
    if (entry.get() == capture) return number;
  return 0;
}

void Runtime::leave_capture(const Capture* capture) {
  for (const auto& entry : streams_) {
    if (entry.second->capture != capture) continue;
    entry.second->capture = nullptr;
    entry.second->frontier.clear();
  }
  captures_.erase(number_of(capture));
}

cudaError_t Runtime::check_no_capture(std::optional<cudaStreamCaptureMode> allowed) {
  cudaError_t error = cudaSuccess;
  for (const auto& entry : captures_) {
    if (allowed == entry.second->mode) continue;
    entry.second->valid = false;
    error = cudaErrorStreamCaptureUnsupported;
  }
  return error;
}

// Work of the null stream would wait for a blocking stream that captures.
cudaError_t Runtime::check_implicit(const CUstream_st& stream) {
  if (&stream != &null_stream_) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  for (const auto& entry : streams_) {
    if (!entry.second->blocking || entry.second->capture == nullptr) continue;
    entry.second->capture->valid = false;
    error = cudaErrorStreamCaptureImplicit;
  }
  return error;
}

cudaError_t Runtime::enqueue_captured(CUstream_st& stream, Work work) {
  Capture& capture = *stream.capture;
  if (!capture.valid) return cudaErrorStreamCaptureInvalidated;
  capture.nodes.push_back({stream.rank, {stream.frontier.begin(), stream.frontier.end()}, std::move(work)});
  stream.frontier = {capture.nodes.size() - 1};
  return cudaSuccess;
}

// `stream` waits for `event`, at least one of which is in a capture.
cudaError_t Runtime::join(CUstream_st& stream, const CUevent_st& event) {
  const auto found = captures_.find(event.capture);
  Capture* const recorded = found == captures_.end() ? nullptr : found->second.get();
  if (stream.capture != nullptr && !stream.capture->valid) return cudaErrorStreamCaptureInvalidated;
  if (stream.capture == nullptr && recorded == nullptr)
    return cudaErrorCapturedEvent;  // of a capture that ended
  if (stream.capture == nullptr && !recorded->valid) return cudaErrorStreamCaptureInvalidated;
  if (stream.capture == nullptr && &stream == &null_stream_) {
    recorded->valid = false;
    return cudaErrorStreamCaptureImplicit;
  }
  if (stream.capture != nullptr && stream.capture != recorded) {
    stream.capture->valid = false;
    if (recorded == nullptr) return cudaErrorStreamCaptureIsolation;
    recorded->valid = false;
    return cudaErrorStreamCaptureMerge;
  }
  stream.capture = recorded;
  stream.frontier.insert(event.frontier.begin(), event.frontier.end());
  return cudaSuccess;
}

cudaError_t Runtime::begin_capture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  CUstream_st* const origin = stream(handle);
  if (origin == nullptr) return cudaErrorInvalidResourceHandle;
  if (origin == &null_stream_) return cudaErrorStreamCaptureUnsupported;
  if (origin->capture != nullptr) return cudaErrorIllegalState;
  auto capture = std::make_unique<Capture>();
  capture->origin = handle;
  capture->mode = mode;
  origin->capture = capture.get();
  captures_.emplace(++captures_begun_, std::move(capture));
  return cudaSuccess;
}

// Every node must precede what the origin would capture next.
cudaError_t Runtime::check_unjoined(const Capture& capture, const CUstream_st& origin) const {
  std::vector<bool> joined(capture.nodes.size());
  for (const std::size_t node : origin.frontier) joined[node] = true;
  for (std::size_t node = capture.nodes.size(); node-- > 0;) {
    if (!joined[node]) return cudaErrorStreamCaptureUnjoined;
    for (const std::size_t before : capture.nodes[node].after) joined[before] = true;
  }
  return cudaSuccess;
}

cudaError_t Runtime::end_capture(cudaStream_t handle, cudaGraph_t* graph) {
  CUstream_st* const origin = stream(handle);
  *graph = nullptr;
  if (origin == nullptr) return cudaErrorInvalidResourceHandle;
  if (origin->capture == nullptr) return cudaErrorIllegalState;
  Capture& capture = *origin->capture;
  if (capture.origin != handle) {
    capture.valid = false;
    return cudaErrorStreamCaptureUnmatched;
  }
  const cudaError_t error =
      capture.valid ? check_unjoined(capture, *origin) : cudaErrorStreamCaptureInvalidated;
  if (error == cudaSuccess) {
    auto captured = std::make_unique<CUgraph_st>();
    captured->nodes = std::move(capture.nodes);
    *graph = captured.get();
    graphs_.emplace(*graph, std::move(captured));
  }
  leave_capture(&capture);
  return error;
}

cudaStreamCaptureStatus Runtime::capture_status(const CUstream_st& stream) const {
  if (stream.capture == nullptr) return cudaStreamCaptureStatusNone;
  return stream.capture->valid ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusInvalidated;
}

cudaError_t Runtime::instantiate(cudaGraphExec_t* exec, cudaGraph_t graph) {
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return cudaErrorInvalidValue;
  auto executable = std::make_unique<CUgraphExec_st>();
  executable->nodes = found->second->nodes;
  *exec = executable.get();
  execs_.emplace(*exec, std::move(executable));
  return cudaSuccess;
}

cudaError_t Runtime::launch(cudaGraphExec_t exec, cudaStream_t handle) {
  const auto found = execs_.find(exec);
  CUstream_st* const to = stream(handle);
  if (found == execs_.end() || to == nullptr) return cudaErrorInvalidResourceHandle;
  if (to->capture != nullptr) {
    to->capture->valid = false;  // a graph within a graph: CUDA could, gpu/ does not
    return cudaErrorNotSupported;
  }
  if (const cudaError_t error = check_implicit(*to); error != cudaSuccess) return error;
  CUgraphExec_st& executable = *found->second;
  std::vector<OpId> before = predecessors(*to);
  before.push_back(executable.last);
  const Work nothing = [] { return Step{}; };
  std::vector<OpId> all = {queue_.add(to->rank, before, nothing)};
  for (const Node& node : executable.nodes) {
    std::vector<OpId> after = {all.front()};
    for (const std::size_t earlier : node.after) after.push_back(all[earlier + 1]);
    all.push_back(queue_.add(node.rank, after, node.work));
  }
  to->last = executable.last = queue_.add(to->rank, all, nothing);
  return cudaSuccess;
}

cudaError_t Runtime::destroy(cudaGraph_t handle) {
  return graphs_.erase(handle) != 0 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t Runtime::destroy(cudaGraphExec_t handle) {
  return execs_.erase(handle) != 0 ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace simt
