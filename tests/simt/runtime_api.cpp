#include "tests/simt/runtime_api.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "tests/simt/machine.h"
#include "tests/simt/runtime.h"

namespace {

simt::Runtime& state() {
  return simt::runtime();
}

cudaError_t report(cudaError_t error) {
  return state().report(error);
}

bool is_valid(dim3 grid, dim3 block) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0) return false;
  if (grid.x > 0x7fffffffU || grid.y > 65535 || grid.z > 65535) return false;
  if (block.x > simt::kMaxBlockThreads || block.y > simt::kMaxBlockThreads || block.z > 64) return false;
  return block.x * block.y * block.z <= simt::kMaxBlockThreads;
}

// Blocks run one after another: those that must be there at the same time cannot.
bool is_supported(const cudaLaunchAttribute& attribute) {
  if (attribute.id == cudaLaunchAttributeCooperative) return attribute.val.cooperative == 0;
  if (attribute.id != cudaLaunchAttributeClusterDimension) return true;
  const auto& cluster = attribute.val.clusterDim;
  return cluster.x == 1 && cluster.y == 1 && cluster.z == 1;
}

}  // namespace

namespace simt {

std::size_t live_allocations() {
  return state().memory().allocations();
}

void set_driver_answers(const DriverAnswers& answers) {
  state().set_driver_answers(answers);
}

void name_kernel(const void* kernel, const char* name) {
  state().name_kernel(kernel, name);
}

cudaError_t launch(const cudaLaunchConfig_t& config, const void* kernel, std::function<void()> body) {
  if (kernel == nullptr) return report(cudaErrorInvalidDeviceFunction);
  if (!is_valid(config.gridDim, config.blockDim)) return report(cudaErrorInvalidConfiguration);
  if (config.dynamicSmemBytes > state().shared_limit_of(kernel)) return report(cudaErrorInvalidValue);
  for (unsigned a = 0; a < config.numAttrs; ++a)
    if (!is_supported(config.attrs[a])) return report(cudaErrorNotSupported);
  const std::string name = state().name_of(kernel);
  const unsigned threads = config.blockDim.x * config.blockDim.y * config.blockDim.z;
  if (threads % static_cast<unsigned>(kWarpLanes) != 0)
    throw std::runtime_error("simt: kernel" + (name.empty() ? name : " " + name) + ": blocks of " +
                             std::to_string(threads) + " threads, not of whole warps");
  const LaunchShape shape{config.gridDim, config.blockDim, config.dynamicSmemBytes};
  return report(state().enqueue(config.stream,
                                [shape, name, body = std::move(body)] { machine().run(shape, name, body); }));
}

}  // namespace simt

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (kernel == nullptr) return report(cudaErrorInvalidDeviceFunction);
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return report(cudaErrorInvalidValue);
  if (value < 0 || static_cast<std::size_t>(value) > simt::kMaxSharedBytes)
    return report(cudaErrorInvalidValue);
  state().set_shared_limit(kernel, static_cast<std::size_t>(value));
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  if (kernel == nullptr) return report(cudaErrorInvalidDeviceFunction);
  *attributes = {};
  attributes->maxThreadsPerBlock = static_cast<int>(simt::kMaxBlockThreads);
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(state().shared_limit_of(kernel));
  attributes->ptxVersion = 90;
  attributes->binaryVersion = 90;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads,
                                                          std::size_t dynamic_shared_bytes) {
  if (kernel == nullptr) return report(cudaErrorInvalidDeviceFunction);
  if (threads <= 0 || dynamic_shared_bytes > simt::kMaxSharedBytes) return report(cudaErrorInvalidValue);
  *blocks = 2;
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (flags > cudaStreamNonBlocking) return report(cudaErrorInvalidValue);
  *stream = state().create_stream(flags == cudaStreamDefault);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return report(state().destroy(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return report(state().synchronize(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  if (flags != 0) return report(cudaErrorInvalidValue);
  return report(state().wait(stream, event));
}

// cudaErrorNotReady is an answer, not an error that cudaGetLastError tells.
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const cudaError_t error = state().query(stream);
  return error == cudaErrorNotReady ? error : report(error);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return report(state().begin_capture(stream, mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return report(state().end_capture(stream, graph));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const CUstream_st* const asked = state().stream(stream);
  if (asked == nullptr) return report(cudaErrorInvalidResourceHandle);
  *status = state().capture_status(*asked);
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if ((flags & ~(cudaEventBlockingSync | cudaEventDisableTiming)) != 0) return report(cudaErrorInvalidValue);
  *event = state().create_event((flags & cudaEventDisableTiming) == 0);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return report(state().destroy(event));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return report(state().record(event, stream));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return report(state().synchronize(event));
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const cudaError_t error = state().query(event);
  return error == cudaErrorNotReady ? error : report(error);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const cudaError_t error = state().elapsed(milliseconds, start, end);
  return error == cudaErrorNotReady ? error : report(error);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  if (flags != 0) return report(cudaErrorInvalidValue);
  return report(state().instantiate(exec, graph));
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return report(state().launch(exec, stream));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return report(state().destroy(exec));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return report(state().destroy(graph));
}
