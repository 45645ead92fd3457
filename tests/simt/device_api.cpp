// The runtime API's functions of errors, the device and its memory.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "tests/simt/machine.h"
#include "tests/simt/runtime.h"
#include "tests/simt/runtime_api.h"

namespace {

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorIllegalState, "cudaErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorSystemNotReady, "cudaErrorSystemNotReady", "system not yet initialized"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge",
     "operation would result in a merge of separate capture sequences"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const ErrorText* find(cudaError_t error) {
  const auto* const found = std::find_if(std::begin(kErrors), std::end(kErrors),
                                         [&](const ErrorText& e) { return e.error == error; });
  return found == std::end(kErrors) ? nullptr : found;
}

simt::Runtime& state() {
  return simt::runtime();
}

cudaError_t report(cudaError_t error) {
  return state().report(error);
}

// The first is there whatever the driver answers.
bool is_device(int device) {
  return device >= 0 && device < std::max(1, state().driver_answers().device_count);
}

cudaDeviceProp properties() {
  cudaDeviceProp device{};
  constexpr std::string_view kName = "emulated (no GPU)";
  std::copy(kName.begin(), kName.end(), device.name);
  device.totalGlobalMem = simt::kDeviceBytes;
  device.sharedMemPerBlock = simt::kPlainSharedBytes;
  device.regsPerBlock = device.regsPerMultiprocessor = 65536;
  device.warpSize = simt::kWarpLanes;
  device.memPitch = 0x7fffffff;
  device.maxThreadsPerBlock = static_cast<int>(simt::kMaxBlockThreads);
  device.maxThreadsDim[0] = device.maxThreadsDim[1] = device.maxThreadsPerBlock;
  device.maxThreadsDim[2] = 64;
  device.maxGridSize[0] = 0x7fffffff;
  device.maxGridSize[1] = device.maxGridSize[2] = 65535;
  device.totalConstMem = 65536;
  device.major = 9;
  device.minor = 0;
  device.multiProcessorCount = 4;
  device.concurrentKernels = 1;
  device.asyncEngineCount = 3;
  device.unifiedAddressing = 1;
  device.memoryBusWidth = 6144;
  device.l2CacheSize = 50 * 1024 * 1024;
  device.maxThreadsPerMultiProcessor = 2048;
  device.sharedMemPerMultiprocessor = 233472;
  device.sharedMemPerBlockOptin = simt::kMaxSharedBytes;
  device.maxBlocksPerMultiProcessor = 32;
  device.reservedSharedMemPerBlock = 1024;
  return device;
}

cudaError_t allocate(simt::MemoryKind kind, void** address, std::size_t bytes) {
  if (address == nullptr) return report(cudaErrorInvalidValue);
  *address = nullptr;
  if (const cudaError_t error = state().check_no_capture(cudaStreamCaptureModeRelaxed); error != cudaSuccess)
    return report(error);
  if (bytes == 0) return cudaSuccess;
  *address = state().memory().allocate(kind, bytes);
  return *address == nullptr ? report(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t release(simt::MemoryKind kind, void* address) {
  simt::Runtime& runtime = state();  // nothing is released by a call of CUDA, too
  if (address == nullptr) return cudaSuccess;
  if (const cudaError_t error = runtime.check_no_capture(cudaStreamCaptureModeRelaxed); error != cudaSuccess)
    return report(error);
  if (!runtime.memory().is_allocation(kind, address)) return report(cudaErrorInvalidValue);
  const cudaError_t error = runtime.synchronize_all_quietly();
  runtime.memory().release(address);
  return report(error);
}

cudaError_t check_copy(const void* to, std::size_t to_bytes, const void* from, std::size_t from_bytes,
                       cudaMemcpyKind kind) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (to == nullptr || from == nullptr) return cudaErrorInvalidValue;
  const simt::DeviceMemory& memory = state().memory();
  const auto is_right = [&](bool on_device, const void* first, std::size_t bytes) {
    return on_device ? memory.holds(first, bytes) : !memory.touches(first, bytes);
  };
  const auto is_possible = [&](const void* first, std::size_t bytes) {
    return memory.holds(first, bytes) || !memory.touches(first, bytes);
  };
  const bool right =
      kind == cudaMemcpyDefault
          ? is_possible(to, to_bytes) && is_possible(from, from_bytes)
          : is_right(kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice, to, to_bytes) &&
                is_right(kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice, from,
                         from_bytes);
  return right ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* const found = find(error);
  return found == nullptr ? "unrecognized error code" : found->name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* const found = find(error);
  return found == nullptr ? "unrecognized error code" : found->text;
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = state().last_error();
  state().clear_last_error();
  return error;
}

cudaError_t cudaPeekAtLastError() {
  return state().last_error();
}

cudaError_t cudaGetDevice(int* device) {
  *device = state().device();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (!is_device(device)) return report(cudaErrorInvalidDevice);
  state().set_device(device);
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  const simt::DriverAnswers& answers = state().driver_answers();
  *count = answers.count_error == cudaSuccess ? answers.device_count : 0;
  return report(answers.count_error);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* answer, int device) {
  if (!is_device(device)) return report(cudaErrorInvalidDevice);
  *answer = properties();
  answer->pciBusID = device;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (!is_device(device)) return report(cudaErrorInvalidDevice);
  const cudaDeviceProp all = properties();
  const std::array<std::pair<cudaDeviceAttr, int>, 16> values = {{
      {cudaDevAttrMaxThreadsPerBlock, all.maxThreadsPerBlock},
      {cudaDevAttrMaxSharedMemoryPerBlock, static_cast<int>(all.sharedMemPerBlock)},
      {cudaDevAttrWarpSize, all.warpSize},
      {cudaDevAttrMaxRegistersPerBlock, all.regsPerBlock},
      {cudaDevAttrClockRate, 1},  // kHz; there is no clock, and a divisor must not be 0
      {cudaDevAttrMultiProcessorCount, all.multiProcessorCount},
      {cudaDevAttrMemoryClockRate, 1},
      {cudaDevAttrGlobalMemoryBusWidth, all.memoryBusWidth},
      {cudaDevAttrL2CacheSize, all.l2CacheSize},
      {cudaDevAttrMaxThreadsPerMultiProcessor, all.maxThreadsPerMultiProcessor},
      {cudaDevAttrComputeCapabilityMajor, all.major},
      {cudaDevAttrComputeCapabilityMinor, all.minor},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, static_cast<int>(all.sharedMemPerMultiprocessor)},
      {cudaDevAttrCooperativeLaunch, all.cooperativeLaunch},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, static_cast<int>(all.sharedMemPerBlockOptin)},
      {cudaDevAttrMaxBlocksPerMultiprocessor, all.maxBlocksPerMultiProcessor},
  }};
  const auto found =
      std::find_if(values.begin(), values.end(), [&](const auto& entry) { return entry.first == attribute; });
  if (found == values.end()) return report(cudaErrorInvalidValue);
  *value = found->second;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = state().driver_answers().driver_version;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  return report(state().synchronize_all());
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = simt::kDeviceBytes;
  *free = simt::kDeviceBytes - state().memory().device_bytes();
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  return allocate(simt::MemoryKind::kDevice, address, bytes);
}

cudaError_t cudaMallocHost(void** address, std::size_t bytes) {
  return allocate(simt::MemoryKind::kPinnedHost, address, bytes);
}

cudaError_t cudaHostAlloc(void** address, std::size_t bytes, unsigned flags) {
  const unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  if ((flags & ~known) != 0) return report(cudaErrorInvalidValue);
  return allocate(simt::MemoryKind::kPinnedHost, address, bytes);
}

cudaError_t cudaFree(void* address) {
  return release(simt::MemoryKind::kDevice, address);
}

cudaError_t cudaFreeHost(void* address) {
  return release(simt::MemoryKind::kPinnedHost, address);
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (const cudaError_t error = state().check_no_capture(cudaStreamCaptureModeRelaxed); error != cudaSuccess)
    return report(error);
  if (const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr); error != cudaSuccess)
    return error;
  const simt::DeviceMemory& memory = state().memory();
  if (memory.holds(to, bytes) && memory.holds(from, bytes)) return cudaSuccess;
  return cudaStreamSynchronize(nullptr);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, bytes == 0 ? 0 : 1, kind, stream);
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch) return report(cudaErrorInvalidPitchValue);
  if (width == 0 || height == 0) return cudaSuccess;
  const auto extent = [&](std::size_t pitch) { return pitch * (height - 1) + width; };
  const cudaError_t error = check_copy(to, extent(to_pitch), from, extent(from_pitch), kind);
  if (error != cudaSuccess) return report(error);
  return report(state().enqueue(stream, [=] {
    for (std::size_t row = 0; row < height; ++row)
      std::memcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
                  width);
  }));
}

cudaError_t cudaMemset(void* address, int value, std::size_t bytes) {
  if (const cudaError_t error = state().check_no_capture(cudaStreamCaptureModeRelaxed); error != cudaSuccess)
    return report(error);
  return cudaMemsetAsync(address, value, bytes, nullptr);
}

cudaError_t cudaMemsetAsync(void* address, int value, std::size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  if (!state().memory().holds(address, bytes)) return report(cudaErrorInvalidValue);
  return report(state().enqueue(stream, [=] { std::memset(address, value, bytes); }));
}
