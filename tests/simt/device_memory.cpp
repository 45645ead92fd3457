#include "tests/simt/device_memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace simt {

namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kPageBytes = 4096;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::uintptr_t number_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

DeviceMemory::~DeviceMemory() {
  for (const auto& [address, block] : blocks_) give_back(reinterpret_cast<void*>(address), block);
}

void* DeviceMemory::allocate(MemoryKind kind, std::size_t bytes) {
  if (kind == MemoryKind::kDevice && bytes > kDeviceBytes - device_bytes_) return nullptr;
  Block block{kind, bytes, nullptr, 0};
  void* address = nullptr;
  if (bytes > kLazyAbove) {
    const std::size_t usable = round_up(bytes, kPageBytes);
    block.mapped_bytes = usable + kPageBytes;
    block.mapping = mmap(nullptr, block.mapped_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block.mapping == MAP_FAILED) return nullptr;
    auto* const first = static_cast<unsigned char*>(block.mapping);
    mprotect(first + usable, kPageBytes, PROT_NONE);
    address = first + (usable - round_up(bytes, kAlignment));
  } else {
    if (posix_memalign(&address, kAlignment, bytes) != 0) return nullptr;
    std::memset(address, kMemoryPoison, bytes);
  }
  if (kind == MemoryKind::kDevice) device_bytes_ += bytes;
  blocks_.emplace(number_of(address), block);
  return address;
}

bool DeviceMemory::is_allocation(MemoryKind kind, const void* address) const {
  const auto found = blocks_.find(number_of(address));
  return found != blocks_.end() && found->second.kind == kind;
}

void DeviceMemory::release(void* address) {
  const auto found = blocks_.find(number_of(address));
  const Block block = found->second;
  blocks_.erase(found);
  if (block.kind == MemoryKind::kDevice) device_bytes_ -= block.bytes;
  give_back(address, block);
}

void DeviceMemory::give_back(void* address, const Block& block) {
  if (block.mapping == nullptr) {
    std::free(address);
  } else {
    munmap(block.mapping, block.mapped_bytes);
  }
}

bool DeviceMemory::holds(const void* first, std::size_t bytes) const {
  const auto after = blocks_.upper_bound(number_of(first));
  if (after == blocks_.begin()) return false;
  const auto& [address, block] = *std::prev(after);
  const std::size_t offset = number_of(first) - address;
  return block.kind == MemoryKind::kDevice && offset <= block.bytes && bytes <= block.bytes - offset;
}

bool DeviceMemory::touches(const void* first, std::size_t bytes) const {
  for (auto before = blocks_.lower_bound(number_of(first) + bytes); before != blocks_.begin();) {
    --before;
    if (before->first + before->second.bytes <= number_of(first)) return false;
    if (before->second.kind == MemoryKind::kDevice) return true;
  }
  return false;
}

}  // namespace simt
