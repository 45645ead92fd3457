#include "sim/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace goodput {

void parallel_chunks(unsigned jobs, std::size_t count,
                     const std::function<void(std::size_t, std::size_t)>& work) {
  const std::size_t pieces = std::min<std::size_t>(std::max(1U, jobs), count);
  if (pieces <= 1) {
    if (count > 0) work(0, count);
    return;
  }
  std::vector<std::exception_ptr> failures(pieces);
  {
    std::vector<std::jthread> threads;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      threads.emplace_back([&, piece] {
        try {
          work(count * piece / pieces, count * (piece + 1) / pieces);
        } catch (...) {
          failures[piece] = std::current_exception();
        }
      });
    }
  }
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

void parallel_pieces(unsigned jobs, std::size_t count, std::size_t at_once,
                     const std::function<void(std::size_t, std::size_t)>& work) {
  const std::size_t threads = std::min<std::size_t>(std::max(1U, jobs), (count + at_once - 1) / at_once);
  std::atomic<std::size_t> next = 0;
  parallel_chunks(jobs, threads, [&](std::size_t, std::size_t) {
    try {
      for (std::size_t i = next.fetch_add(at_once); i < count; i = next.fetch_add(at_once))
        work(i, std::min(count, i + at_once));
    } catch (...) {
      next = count;
      throw;
    }
  });
}

}  // namespace goodput
