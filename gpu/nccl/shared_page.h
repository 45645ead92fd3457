// A value that forked processes share with who forked them.
#pragma once

#include <sys/mman.h>

#include <new>
#include <stdexcept>
#include <type_traits>

namespace goodput::gpu {

template <class T>
class SharedPage {
  static_assert(std::is_trivially_destructible_v<T>,
                "the type must be trivially destructible because no process owns the value");

 public:
  SharedPage()
      : memory_(mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::runtime_error("no memory to share with forked processes");
    new (memory_) T();
  }
  SharedPage(SharedPage&&) = delete;
  SharedPage& operator=(SharedPage&&) = delete;
  ~SharedPage() { munmap(memory_, sizeof(T)); }

  T& operator*() { return *static_cast<T*>(memory_); }
  T* operator->() { return static_cast<T*>(memory_); }

 private:
  void* memory_;
};

}  // namespace goodput::gpu
