// The dynamic shared memory of the block that runs: exactly as many bytes as the launch asked for, between
// red zones.
//
// TRUE   outside of a block, and outside of its bytes, AddressSanitizer traps every access; without it
// intact() tells
//        whether the red zones were written. The same addresses serve every block.
#pragma once

#include <cstddef>
#include <memory>

namespace simt {

constexpr std::size_t kMaxSharedBytes = 232448;       // of an H200's block, opted in
constexpr std::size_t kPlainSharedBytes = 48 * 1024;  // without opting in
constexpr unsigned char kSharedPoison = 0xA5;

class SharedMemory {
 public:
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // REQUIRES: bytes <= kMaxSharedBytes.
  void start_block(std::size_t bytes);
  bool intact() const;
  void end_block();

  unsigned char* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  bool holds(const void* first, std::size_t bytes) const;
  std::size_t offset_of(const void* first) const;

 private:
  std::unique_ptr<unsigned char[]> arena_;
  unsigned char* data_;
  std::size_t bytes_ = 0;
};

}  // namespace simt
