// Owners of what the CUDA runtime hands out: memory, streams, events. Move-only; released on destruction,
// where an error has nobody to go to and is dropped.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "gpu/cuda_call.h"

namespace goodput::gpu {

struct DeviceMemory {
  static cudaError_t allocate(void** memory, std::size_t bytes) { return cudaMalloc(memory, bytes); }
  static cudaError_t release(void* memory) { return cudaFree(memory); }
};

// Page-locked: copies to and from it are asynchronous.
struct PinnedMemory {
  static cudaError_t allocate(void** memory, std::size_t bytes) { return cudaMallocHost(memory, bytes); }
  static cudaError_t release(void* memory) { return cudaFreeHost(memory); }
};

// `count` elements, uninitialised. No elements, no allocation: data() is null.
template <class T, class Memory>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t count) : size_(count) {
    if (count != 0) GOODPUT_CUDA(Memory::allocate(reinterpret_cast<void**>(&data_), count * sizeof(T)));
  }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  // Releasing nothing is a call of CUDA too, after which a process can fork no other that calls CUDA.
  ~Buffer() {
    if (data_ != nullptr) static_cast<void>(Memory::release(data_));
  }

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

template <class T>
using DeviceBuffer = Buffer<T, DeviceMemory>;
template <class T>
using PinnedBuffer = Buffer<T, PinnedMemory>;

// Complete for every stream on return: a blocking copy from pageable memory alone need not be, and streams
// that do not wait for the default one would not see it.
template <class T>
DeviceBuffer<T> upload(const std::vector<T>& host) {
  DeviceBuffer<T> device(host.size());
  if (!host.empty()) {
    GOODPUT_CUDA(cudaMemcpy(device.data(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    GOODPUT_CUDA(cudaStreamSynchronize(nullptr));
  }
  return device;
}

// Waits for all work of the device.
template <class T>
std::vector<T> download(const T* device, std::size_t count) {
  GOODPUT_CUDA(cudaDeviceSynchronize());
  std::vector<T> host(count);
  if (count != 0) GOODPUT_CUDA(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}

// A stream that does not wait for the default stream.
class Stream {
 public:
  Stream() { GOODPUT_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~Stream() {
    if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
  }

  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void synchronize() const { GOODPUT_CUDA(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

enum class EventTiming { kOff, kOn };

class Event {
 public:
  explicit Event(EventTiming timing = EventTiming::kOff) {
    const unsigned flags = timing == EventTiming::kOn ? cudaEventDefault : cudaEventDisableTiming;
    GOODPUT_CUDA(cudaEventCreateWithFlags(&event_, flags));
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event() {
    if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
  }

  [[nodiscard]] cudaEvent_t get() const { return event_; }
  void record(cudaStream_t stream) { GOODPUT_CUDA(cudaEventRecord(event_, stream)); }
  void synchronize() const { GOODPUT_CUDA(cudaEventSynchronize(event_)); }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace goodput::gpu
