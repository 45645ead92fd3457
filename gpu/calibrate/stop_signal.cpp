#include "gpu/calibrate/stop_signal.h"

#include <csignal>
#include <limits>
#include <utility>

namespace goodput::gpu::calibrate {
namespace {

// The one thing that a signal handler can leave behind.
volatile std::sig_atomic_t came = 0;

extern "C" void remember(int signal) {
  if (came == 0) came = signal;
}

}  // namespace

void remember_stop_signals() {
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGTERM, SIGINT}) sigaction(signal, &action, nullptr);
}

int stop_signal() {
  return came;
}

bench::Clock until_stopped(bench::Clock clock) {
  return [clock = std::move(clock)] {
    return stop_signal() == 0 ? clock() : std::numeric_limits<double>::infinity();
  };
}

}  // namespace goodput::gpu::calibrate
