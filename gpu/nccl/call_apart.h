// Calls that may never return, in a thread of their own: whoever asked for one waits as long as he likes, and
// leaves it behind.
#pragma once

#include <functional>
#include <future>

namespace goodput::gpu {

// Begins `call`, which throws nothing; ready when it has returned.
[[nodiscard]] std::future<void> call_apart(std::function<void()> call);

}  // namespace goodput::gpu
