#include "tools/monitor/stop_signal.h"

#include <array>
#include <ctime>
#include <utility>

namespace goodput {
namespace {

constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGHUP};
constexpr timespec kSignalPause = {0, 100'000'000};  // whether it is over

sigset_t stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kStopSignals) sigaddset(&signals, signal);
  return signals;
}

}  // namespace

StopSignal::StopSignal(std::function<void()> on_stop) : before_() {
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_BLOCK, &signals, &before_);
  thread_ = std::thread([this, signals, on_stop = std::move(on_stop)] {
    while (!is_over_) {
      if (sigtimedwait(&signals, nullptr, &kSignalPause) < 0) continue;
      if (!was_received_.exchange(true)) on_stop();
    }
  });
}

StopSignal::~StopSignal() {
  is_over_ = true;
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace goodput
