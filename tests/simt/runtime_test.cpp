// The runtime: lazy streams, events, memory, launch limits.
#include <doctest/doctest.h>

#include <cstring>
#include <set>

#include "tests/simt/kernel_case.h"

namespace simt {
namespace {

cudaLaunchConfig_t config_of(dim3 grid, dim3 block, std::size_t shared_bytes = 0,
                             cudaStream_t stream = nullptr) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  return config;
}

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  return stream;
}

cudaEvent_t new_event() {
  cudaEvent_t event = nullptr;
  REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess);
  return event;
}

int* new_cell() {
  int* cell = nullptr;
  REQUIRE(cudaMalloc(&cell, sizeof(int)) == cudaSuccess);
  return cell;
}

struct Operand {
  int factor;
  int summand;
};

__global__ void affine(int* cell, const __grid_constant__ Operand by) {
  if (threadIdx.x == 0) *cell = *cell * by.factor + by.summand;
}

void queue_affine(int* cell, Operand by, cudaStream_t stream) {
  const cudaLaunchConfig_t config = config_of(1, 32, 0, stream);
  REQUIRE(cudaLaunchKernelEx(&config, affine, cell, by) == cudaSuccess);
}

TEST_CASE("simt: nothing of a stream runs before somebody waits") {
  cudaStream_t stream = new_stream();
  int* const cell = new_cell();
  int* host = nullptr;
  REQUIRE(cudaMallocHost(&host, sizeof(int)) == cudaSuccess);
  *host = 5;
  CHECK(cudaMemcpyAsync(cell, host, sizeof(int), cudaMemcpyHostToDevice, stream) == cudaSuccess);
  Operand by{10, 1};
  queue_affine(cell, by, stream);
  by.summand = 100;  // the launch has its copy
  CHECK(cudaMemcpyAsync(host, cell, sizeof(int), cudaMemcpyDeviceToHost, stream) == cudaSuccess);
  CHECK(*host == 5);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(*host == 51);
  cudaMemsetAsync(cell, 0, sizeof(int), stream);
  cudaMemcpyAsync(host, cell, sizeof(int), cudaMemcpyDeviceToHost, stream);
  int queries = 1;
  while (cudaStreamQuery(stream) == cudaErrorNotReady) ++queries;  // each runs one of the two
  CHECK(queries == 2);
  CHECK(*host == 0);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaFree(cell) == cudaSuccess);
  CHECK(cudaFreeHost(host) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

// Two streams change one cell: 3 -> 3 * 2 = 6 -> 6 + 1 = 7, or without the event perhaps (3 + 1) * 2 = 8.
std::set<int> results_of_two_streams(bool with_event) {
  std::set<int> results;
  for (const Schedule schedule : schedules()) {
    const ScheduleScope scope(schedule);
    cudaStream_t first = new_stream();
    cudaStream_t second = new_stream();
    cudaEvent_t event = new_event();
    int* const cell = new_cell();
    int result = 3;
    cudaMemcpy(cell, &result, sizeof(int), cudaMemcpyHostToDevice);
    queue_affine(cell, {2, 0}, first);
    cudaEventRecord(event, first);
    if (with_event) cudaStreamWaitEvent(second, event);
    queue_affine(cell, {1, 1}, second);
    cudaStreamSynchronize(second);
    cudaStreamSynchronize(first);
    cudaMemcpy(&result, cell, sizeof(int), cudaMemcpyDeviceToHost);
    results.insert(result);
    cudaFree(cell);
    cudaEventDestroy(event);
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
  }
  return results;
}

TEST_CASE("simt: an event orders two streams, and a missing one shows") {
  CHECK(results_of_two_streams(true) == std::set<int>{7});
  CHECK(results_of_two_streams(false) == std::set<int>{7, 8});
}

TEST_CASE("simt: the null stream waits for blocking streams only, and they for it") {
  for (const Schedule schedule : schedules()) {
    const ScheduleScope scope(schedule);
    cudaStream_t blocking = nullptr;
    REQUIRE(cudaStreamCreate(&blocking) == cudaSuccess);
    int* const cell = new_cell();
    int result = 1;
    cudaMemcpy(cell, &result, sizeof(int), cudaMemcpyHostToDevice);
    queue_affine(cell, {2, 1}, blocking);  // 3
    queue_affine(cell, {2, 2}, nullptr);   // 8
    queue_affine(cell, {2, 3}, blocking);  // 19
    cudaMemcpy(&result, cell, sizeof(int), cudaMemcpyDeviceToHost);
    CHECK(result == 19);
    queue_affine(cell, {0, 5}, blocking);
    cudaStreamDestroy(blocking);  // its work is done all the same
    cudaMemcpy(&result, cell, sizeof(int), cudaMemcpyDeviceToHost);
    CHECK(result == 5);
    cudaFree(cell);
  }
  cudaStream_t apart = new_stream();
  int* const cell = new_cell();
  int result = 0;
  cudaMemcpy(cell, &result, sizeof(int), cudaMemcpyHostToDevice);
  queue_affine(cell, {0, 9}, apart);
  cudaMemcpy(&result, cell, sizeof(int), cudaMemcpyDeviceToHost);  // ascending: the null stream first
  CHECK(result == 0);
  cudaDeviceSynchronize();
  cudaMemcpy(&result, cell, sizeof(int), cudaMemcpyDeviceToHost);
  CHECK(result == 9);
  cudaFree(cell);
  cudaStreamDestroy(apart);
}

TEST_CASE("simt: events tell what has run, and a time that means nothing") {
  cudaStream_t stream = new_stream();
  cudaEvent_t start = nullptr;
  cudaEvent_t end = nullptr;
  cudaEvent_t untimed = new_event();
  CHECK(cudaEventCreate(&start) == cudaSuccess);
  CHECK(cudaEventCreate(&end) == cudaSuccess);
  float milliseconds = -1;
  CHECK(cudaEventQuery(start) == cudaSuccess);  // never recorded
  CHECK(cudaEventSynchronize(start) == cudaSuccess);
  CHECK(cudaEventElapsedTime(&milliseconds, start, end) == cudaErrorInvalidResourceHandle);
  cudaEventRecord(start, stream);
  cudaEventRecord(end, stream);
  cudaEventRecord(untimed, stream);
  CHECK(cudaEventElapsedTime(&milliseconds, start, end) == cudaErrorNotReady);
  CHECK(cudaEventQuery(end) == cudaErrorNotReady);
  CHECK(cudaEventSynchronize(end) == cudaSuccess);
  CHECK(cudaEventElapsedTime(&milliseconds, start, end) == cudaSuccess);
  CHECK(milliseconds >= 0);
  CHECK(cudaEventElapsedTime(&milliseconds, start, untimed) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventCreateWithFlags(&start, 64) == cudaErrorInvalidValue);
  for (cudaEvent_t event : {start, end, untimed}) CHECK(cudaEventDestroy(event) == cudaSuccess);
  CHECK(cudaEventRecord(start, stream) == cudaErrorInvalidResourceHandle);
  cudaStreamDestroy(stream);
  cudaGetLastError();
}

TEST_CASE("simt: memory is aligned, poisoned, counted and checked") {
  const std::size_t before = live_allocations();
  unsigned char* device = nullptr;
  unsigned char* pinned = nullptr;
  CHECK(cudaMalloc(&device, 1001) == cudaSuccess);
  CHECK(cudaHostAlloc(&pinned, 1001, cudaHostAllocPortable) == cudaSuccess);
  CHECK(live_allocations() == before + 2);
  CHECK(reinterpret_cast<std::uintptr_t>(device) % 256 == 0);
  CHECK(device[0] == 0xCB);
  CHECK(device[1000] == 0xCB);
  CHECK(cudaMemcpy(device, pinned, 1002, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(pinned, device + 1, 1001, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(device, pinned, 1, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(pinned, device, 1, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(pinned, device, 1, static_cast<cudaMemcpyKind>(9)) == cudaErrorInvalidMemcpyDirection);
  CHECK(cudaMemcpy(pinned, device, 1001, cudaMemcpyDefault) == cudaSuccess);
  CHECK(cudaMemset(pinned, 0, 1) == cudaErrorInvalidValue);
  CHECK(cudaMemset(device, 7, 1001) == cudaSuccess);
  CHECK(device[1000] == 0xCB);  // not yet
  cudaDeviceSynchronize();
  CHECK(device[1000] == 7);
  CHECK(cudaFree(pinned) == cudaErrorInvalidValue);
  CHECK(cudaFree(device + 1) == cudaErrorInvalidValue);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaFree(device) == cudaSuccess);
  CHECK(cudaFree(device) == cudaErrorInvalidValue);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
  CHECK(cudaFree(nullptr) == cudaSuccess);
  CHECK(live_allocations() == before);
  cudaGetLastError();
}

TEST_CASE("simt: gigabytes cost nothing until they are touched, and end somewhere") {
  std::size_t free = 0;
  std::size_t total = 0;
  unsigned char* large = nullptr;
  const std::size_t bytes = (std::size_t{6} << 30) + 3;
  CHECK(cudaMalloc(&large, bytes) == cudaSuccess);
  CHECK(reinterpret_cast<std::uintptr_t>(large) % 256 == 0);
  CHECK(cudaMemset(large + bytes - 10, 3, 10) == cudaSuccess);
  cudaDeviceSynchronize();
  CHECK(large[bytes - 1] == 3);
  CHECK(large[bytes - 11] == 0);
  CHECK(cudaMemGetInfo(&free, &total) == cudaSuccess);
  CHECK(free == total - bytes);
  unsigned char* too_large = nullptr;
  CHECK(cudaMalloc(&too_large, free + 1) == cudaErrorMemoryAllocation);
  CHECK(too_large == nullptr);
  CHECK(cudaFree(large) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("simt: a pitched copy moves rows") {
  unsigned char* device = nullptr;
  unsigned char rows[3 * 8];
  for (std::size_t b = 0; b < sizeof rows; ++b) rows[b] = static_cast<unsigned char>(b);
  REQUIRE(cudaMalloc(&device, 2 * 16 + 4) == cudaSuccess);
  CHECK(cudaMemcpy2DAsync(device, 16, rows, 8, 4, 3, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpy2DAsync(device, 16, rows, 8, 5, 3, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy2DAsync(device, 3, rows, 8, 4, 3, cudaMemcpyHostToDevice) == cudaErrorInvalidPitchValue);
  cudaDeviceSynchronize();
  for (std::size_t row = 0; row < 3; ++row) CHECK(std::memcmp(device + row * 16, rows + row * 8, 4) == 0);
  CHECK(device[4] == 0xCB);
  cudaFree(device);
  cudaGetLastError();
}

__global__ void no_arguments() {}
__global__ void one_argument(int) {}

TEST_CASE("simt: launches beyond the device's limits are refused") {
  const auto launch_of = [](dim3 grid, dim3 block, std::size_t shared_bytes) {
    const cudaLaunchConfig_t config = config_of(grid, block, shared_bytes);
    return cudaLaunchKernelEx(&config, no_arguments);
  };
  CHECK(launch_of(1, 1024, 49152) == cudaSuccess);
  CHECK(launch_of(1, 1056, 0) == cudaErrorInvalidConfiguration);
  CHECK(launch_of(1, dim3(32, 32, 2), 0) == cudaErrorInvalidConfiguration);
  CHECK(launch_of(1, 0, 0) == cudaErrorInvalidConfiguration);
  CHECK(launch_of(0, 32, 0) == cudaErrorInvalidConfiguration);
  CHECK(launch_of(dim3(1, 65536), 32, 0) == cudaErrorInvalidConfiguration);
  CHECK(launch_of(dim3(1, 1, 65536), 32, 0) == cudaErrorInvalidConfiguration);
  CHECK(launch_of(1, 32, 49153) == cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(no_arguments, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449) ==
        cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(no_arguments, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448) ==
        cudaSuccess);
  CHECK(launch_of(1, 32, 232448) == cudaSuccess);
  CHECK(launch_of(1, 32, 232449) == cudaErrorInvalidValue);
  cudaFuncAttributes attributes{};
  CHECK(cudaFuncGetAttributes(&attributes, no_arguments) == cudaSuccess);
  CHECK(attributes.maxDynamicSharedSizeBytes == 232448);
  CHECK(attributes.maxThreadsPerBlock == 1024);
  cudaLaunchConfig_t other = config_of(1, 32, 49153);
  CHECK(cudaLaunchKernelEx(&other, one_argument, 1) ==
        cudaErrorInvalidValue);  // each kernel has its own limit
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  other = config_of(1, 32);
  other.attrs = &cooperative;
  other.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&other, one_argument, 1) == cudaErrorNotSupported);
  int blocks = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, no_arguments, 256, 0) == cudaSuccess);
  CHECK(blocks == 2);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  cudaGetLastError();
}

__global__ void trap() {
  __trap();
}

TEST_CASE("simt: a kernel's error drops what is queued; cudaFree keeps it for the next synchronisation") {
  const std::string trapped = "simt: kernel, block (0, 0, 0), warp 0, lane 0: __trap";
  const cudaLaunchConfig_t config = config_of(1, 32);
  int* const cell = new_cell();
  int result = 4;
  cudaMemcpy(cell, &result, sizeof(int), cudaMemcpyHostToDevice);
  CHECK(cudaLaunchKernelEx(&config, trap) == cudaSuccess);
  queue_affine(cell, {0, 1}, nullptr);
  CHECK(error_of([] { cudaDeviceSynchronize(); }) == trapped);
  CHECK(cudaMemcpy(&result, cell, sizeof(int), cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(result == 4);
  CHECK(cudaLaunchKernelEx(&config, trap) == cudaSuccess);
  CHECK(cudaFree(cell) == cudaErrorLaunchFailure);
  CHECK(error_of([] { cudaStreamSynchronize(nullptr); }) == trapped);
  CHECK(error_of([] { cudaDeviceSynchronize(); }) == "no error");
  cudaGetLastError();
}

TEST_CASE("simt: the environment may say that there are several devices, which are all one") {
  setenv("SIMT_GPUS", "3", 1);
  int number = 0;
  CHECK(cudaGetDeviceCount(&number) == cudaSuccess);
  CHECK(number == 3);
  CHECK(cudaSetDevice(2) == cudaSuccess);
  CHECK(cudaGetDevice(&number) == cudaSuccess);
  CHECK(number == 2);
  cudaDeviceProp device{};
  CHECK(cudaGetDeviceProperties(&device, 2) == cudaSuccess);
  CHECK(cudaSetDevice(3) == cudaErrorInvalidDevice);
  CHECK(cudaSetDevice(-1) == cudaErrorInvalidDevice);
  CHECK(cudaSetDevice(0) == cudaSuccess);
  unsetenv("SIMT_GPUS");
  cudaGetLastError();
}

TEST_CASE("simt: the device says that it is none, and errors have CUDA's names") {
  cudaDeviceProp device{};
  CHECK(cudaGetDeviceProperties(&device, 0) == cudaSuccess);
  CHECK(std::string(device.name) == "emulated (no GPU)");
  CHECK(device.sharedMemPerBlockOptin == 232448);
  CHECK(cudaGetDeviceProperties(&device, 1) == cudaErrorInvalidDevice);
  CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice);
  int value = 0;
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess);
  CHECK(value == 4);
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess);
  CHECK(value == 9);
  CHECK(cudaGetDeviceCount(&value) == cudaSuccess);
  CHECK(value == 1);
  set_driver_answers({cudaSuccess, 3, CUDART_VERSION});
  CHECK(cudaSetDevice(2) == cudaSuccess);
  CHECK(cudaGetDevice(&value) == cudaSuccess);
  CHECK(value == 2);
  CHECK(cudaGetDeviceProperties(&device, 2) == cudaSuccess);
  CHECK(device.pciBusID == 2);
  CHECK(cudaSetDevice(3) == cudaErrorInvalidDevice);
  CHECK(cudaSetDevice(0) == cudaSuccess);
  set_driver_answers({});
  CHECK(cudaRuntimeGetVersion(&value) == cudaSuccess);
  CHECK(value == 13000);
  CHECK(std::string(cudaGetErrorName(cudaErrorStreamCaptureUnjoined)) == "cudaErrorStreamCaptureUnjoined");
  CHECK(std::string(cudaGetErrorString(cudaErrorInvalidValue)) == "invalid argument");
  CHECK(std::string(cudaGetErrorString(static_cast<cudaError_t>(12345))) == "unrecognized error code");
  cudaGetLastError();
}

}  // namespace
}  // namespace simt
