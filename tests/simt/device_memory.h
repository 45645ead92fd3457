// What cudaMalloc and its like have given out.
//
// Every allocation is 256-byte aligned and ends where it was asked to, so that AddressSanitizer traps
// beyond it; up to 64 MiB it is filled with the byte 0xCB, beyond that it is zero pages that cost nothing
// until they are touched, with a page that cannot be touched behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace simt {

constexpr std::size_t kDeviceBytes = std::size_t{16} << 30;
constexpr std::size_t kLazyAbove = std::size_t{64} << 20;
constexpr unsigned char kMemoryPoison = 0xCB;

enum class MemoryKind : std::uint8_t { kDevice, kPinnedHost };

class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // nullptr: that much is not left. REQUIRES: bytes > 0.
  void* allocate(MemoryKind kind, std::size_t bytes);

  bool is_allocation(MemoryKind kind, const void* address) const;
  void release(void* address);  // REQUIRES: is_allocation()

  // Whether all of the range is in one allocation of device memory; whether any of it is.
  bool holds(const void* first, std::size_t bytes) const;
  bool touches(const void* first, std::size_t bytes) const;

  std::size_t allocations() const { return blocks_.size(); }
  std::size_t device_bytes() const { return device_bytes_; }

 private:
  struct Block {
    MemoryKind kind;
    std::size_t bytes;
    void* mapping;  // nullptr: from the heap
    std::size_t mapped_bytes;
  };

  static void give_back(void* address, const Block& block);

  std::map<std::uintptr_t, Block> blocks_;
  std::size_t device_bytes_ = 0;
};

}  // namespace simt
