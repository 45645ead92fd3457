#include "gpu/nccl/call_apart.h"

#include <thread>
#include <utility>

namespace goodput::gpu {

std::future<void> call_apart(std::function<void()> call) {
  std::packaged_task<void()> task(std::move(call));
  std::future<void> returned = task.get_future();
#if defined(GOODPUT_SIMT)
  task();  // emulated devices have one thread
#else
  std::thread(std::move(task)).detach();
#endif
  return returned;
}

}  // namespace goodput::gpu
