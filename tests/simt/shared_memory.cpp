#include "tests/simt/shared_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace simt {

namespace {

constexpr std::size_t kAlignment = 128;
constexpr std::size_t kRedZoneBytes = 1024;
constexpr std::size_t kArenaBytes = kAlignment + kRedZoneBytes + kMaxSharedBytes + kRedZoneBytes;
constexpr unsigned char kRedZoneByte = 0x5C;

void forbid([[maybe_unused]] const unsigned char* first, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(first, bytes);
#endif
}

void allow([[maybe_unused]] const unsigned char* first, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(first, bytes);
#endif
}

[[maybe_unused]] bool is_red_zone(const unsigned char* first) {
  return *first == kRedZoneByte && std::memcmp(first, first + 1, kRedZoneBytes - 1) == 0;
}

}  // namespace

SharedMemory::SharedMemory() : arena_(new unsigned char[kArenaBytes]), data_(arena_.get() + kRedZoneBytes) {
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(data_) % kAlignment;
  data_ += beyond == 0 ? 0 : kAlignment - beyond;
  std::fill_n(arena_.get(), kArenaBytes, kRedZoneByte);
  forbid(arena_.get(), kArenaBytes);
}

SharedMemory::~SharedMemory() {
  allow(arena_.get(), kArenaBytes);
}

void SharedMemory::start_block(std::size_t bytes) {
  bytes_ = bytes;
  allow(data_, bytes_);
  std::fill_n(data_, bytes_, kSharedPoison);
}

bool SharedMemory::intact() const {
#if defined(__SANITIZE_ADDRESS__)
  return true;  // a write would have been trapped
#else
  return is_red_zone(data_ - kRedZoneBytes) && is_red_zone(data_ + bytes_);
#endif
}

void SharedMemory::end_block() {
  if (!intact()) std::fill_n(arena_.get(), kArenaBytes, kRedZoneByte);
  std::fill_n(data_, bytes_, kRedZoneByte);
  forbid(data_, bytes_);
  bytes_ = 0;
}

bool SharedMemory::holds(const void* first, std::size_t bytes) const {
  const auto at = reinterpret_cast<std::uintptr_t>(first);
  const auto begin = reinterpret_cast<std::uintptr_t>(data_);
  return at >= begin && at - begin <= bytes_ && bytes <= bytes_ - (at - begin);
}

std::size_t SharedMemory::offset_of(const void* first) const {
  return reinterpret_cast<std::uintptr_t>(first) - reinterpret_cast<std::uintptr_t>(data_);
}

}  // namespace simt
