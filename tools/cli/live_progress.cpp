#include "tools/cli/live_progress.h"

#include <utility>

namespace goodput {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(250);

}  // namespace

LiveProgress::LiveProgress(std::ostream& err, ProgressBar::Show show, std::string what, std::uint64_t total,
                           ProgressBar::Clock::time_point began)
    : bar_(err, show, std::move(what), total, began) {
  if (show == ProgressBar::Show::kNever) return;
  drawer_ = std::jthread([this](const std::stop_token& stopped) { draw(stopped); });
}

void LiveProgress::draw(const std::stop_token& stopped) {
  std::unique_lock lock(mutex_);
  while (!stopped.stop_requested()) {
    wakes_.wait_for(lock, stopped, kBetweenLooks, [] { return false; });
    bar_.update(done_.load(std::memory_order_relaxed));
  }
}

}  // namespace goodput
