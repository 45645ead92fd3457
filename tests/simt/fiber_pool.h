// Fibers that are kept and used again: each runs `body` from its start whenever it is resumed while idle, and
// where it left off whenever it is resumed while suspended.
//
// TRUE   a fiber's stack is kFiberStackBytes with a guard page below it; AddressSanitizer is told of every
//        switch
// TRUE   fibers hold no exception across a switch: REQUIRES that `body` lets none escape and that suspend()
//        is called outside of catch blocks
// OWNS   the stacks; idle fibers end with the pool. REQUIRES that none is suspended then.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace simt {

class FiberPool {
 public:
  explicit FiberPool(std::function<void()> body);
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  // An idle fiber; it counts as taken until its body has returned.
  int take_idle();

  // Runs `fiber` until it suspends or its body returns. REQUIRES: called from outside of the pool's fibers.
  void resume(int fiber);

  // Returns to the caller of resume(). REQUIRES: called on a fiber of the pool.
  void suspend();

  int running() const { return running_; }

 private:
  struct Fiber;

  void run_forever(Fiber& fiber);
  void leave(Fiber& fiber);

  std::function<void()> body_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<int> idle_;
  int running_ = -1;
  bool closing_ = false;
  const void* host_stack_ = nullptr;  // as AddressSanitizer names it
  std::size_t host_stack_bytes_ = 0;
};

}  // namespace simt
