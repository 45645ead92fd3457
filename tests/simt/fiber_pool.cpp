#include "tests/simt/fiber_pool.h"

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace simt {

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kFiberStackBytes = 256 * 1024;  // red zones around every local variable

void start_switch(void** leaving, const void* stack, std::size_t bytes) {
  __sanitizer_start_switch_fiber(leaving, stack, bytes);
}

void finish_switch(void* entered, const void** left_stack, std::size_t* left_bytes) {
  __sanitizer_finish_switch_fiber(entered, left_stack, left_bytes);
}
#else
constexpr std::size_t kFiberStackBytes = 64 * 1024;

void start_switch(void**, const void*, std::size_t) {}
void finish_switch(void*, const void**, std::size_t*) {}
#endif

}  // namespace

struct FiberPool::Fiber {
  boost::context::fiber self;  // where to continue it, while it does not run
  boost::context::fiber host;  // where to continue the caller of resume(), while it runs
  const void* stack = nullptr;
  std::size_t stack_bytes = 0;
  void* sanitizer_state = nullptr;
  int number = 0;
};

FiberPool::FiberPool(std::function<void()> body) : body_(std::move(body)) {}

FiberPool::~FiberPool() {
  closing_ = true;
  for (std::size_t fiber = 0; fiber < fibers_.size(); ++fiber) resume(static_cast<int>(fiber));
}

int FiberPool::take_idle() {
  if (idle_.empty()) {
    auto fiber = std::make_unique<Fiber>();
    boost::context::protected_fixedsize_stack allocator(kFiberStackBytes);
    const boost::context::stack_context stack = allocator.allocate();
    fiber->stack = static_cast<const char*>(stack.sp) - stack.size;
    fiber->stack_bytes = stack.size;
    fiber->number = static_cast<int>(fibers_.size());
    fiber->self =
        boost::context::fiber(std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack),
                              allocator, [this, raw = fiber.get()](boost::context::fiber&& host) {
                                raw->host = std::move(host);
                                run_forever(*raw);
                                return std::move(raw->host);
                              });
    idle_.push_back(fiber->number);
    fibers_.push_back(std::move(fiber));
  }
  const int fiber = idle_.back();
  idle_.pop_back();
  return fiber;
}

void FiberPool::resume(int fiber) {
  Fiber& entered = *fibers_[static_cast<std::size_t>(fiber)];
  void* sanitizer_state = nullptr;
  running_ = fiber;
  start_switch(&sanitizer_state, entered.stack, entered.stack_bytes);
  entered.self = std::move(entered.self).resume();
  finish_switch(sanitizer_state, nullptr, nullptr);
  running_ = -1;
}

void FiberPool::suspend() {
  leave(*fibers_[static_cast<std::size_t>(running_)]);
}

void FiberPool::leave(Fiber& fiber) {
  start_switch(&fiber.sanitizer_state, host_stack_, host_stack_bytes_);
  fiber.host = std::move(fiber.host).resume();
  finish_switch(fiber.sanitizer_state, &host_stack_, &host_stack_bytes_);
}

void FiberPool::run_forever(Fiber& fiber) {
  finish_switch(nullptr, &host_stack_, &host_stack_bytes_);
  while (!closing_) {
    body_();
    idle_.push_back(fiber.number);
    leave(fiber);
  }
  start_switch(nullptr, host_stack_, host_stack_bytes_);
}

}  // namespace simt
