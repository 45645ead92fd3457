// Told to stop: SIGTERM, or SIGINT of a terminal. What is under way ends at once, and what is known is saved.
#pragma once

#include "gpu/bench/sampling.h"

namespace goodput::gpu::calibrate {

// From now on these signals are only remembered.
void remember_stop_signals();
// The first that came; 0: none.
[[nodiscard]] int stop_signal();

// A clock at which every deadline has passed once a signal has come.
[[nodiscard]] bench::Clock until_stopped(bench::Clock clock);

}  // namespace goodput::gpu::calibrate
