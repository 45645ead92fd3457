// Work split over threads so that the result does not depend on how many there are.
#pragma once

#include <cstddef>
#include <functional>

namespace goodput {

// Calls `work(begin, end)` on consecutive pieces of 0 .. count-1, one thread each, and waits for all. The
// pieces write to places of their own. An exception of a piece is rethrown (that of the first piece that
// failed).
void parallel_chunks(unsigned jobs, std::size_t count,
                     const std::function<void(std::size_t, std::size_t)>& work);

// The same on pieces of at most `at_once`, in their order, each as soon as a thread is free: for work that
// takes some pieces longer than others. After an exception no more of them are begun.
void parallel_pieces(unsigned jobs, std::size_t count, std::size_t at_once,
                     const std::function<void(std::size_t, std::size_t)>& work);

}  // namespace goodput
