#include "tools/cli/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

namespace goodput {
namespace {

constexpr auto kPatience = std::chrono::seconds(2);
constexpr auto kBetweenDrawings = std::chrono::milliseconds(100);
constexpr std::size_t kWidth = 30;

std::string drawing(const std::string& what, std::uint64_t done, std::uint64_t total) {
  if (total == 0) return fmt::format("{} {} MB", what, done / 1000000);
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kWidth));
  return fmt::format("{} [{:#<{}}{:.<{}}] {:3.0f} %", what, "", filled, "", kWidth - filled, 100 * share);
}

}  // namespace

ProgressBar::ProgressBar(std::ostream& err, Show show, std::string what, std::uint64_t total)
    : err_(err), show_(show), what_(std::move(what)), total_(total) {}

ProgressBar::~ProgressBar() {
  if (is_drawn_) err_ << "\r\x1b[K" << std::flush;
}

void ProgressBar::update(std::uint64_t done, Clock::time_point now) {
  if (show_ == Show::kNever || now - began_ < kPatience) return;
  if (is_drawn_ && now - drawn_ < kBetweenDrawings) return;
  err_ << '\r' << drawing(what_, done, total_) << "\x1b[K" << std::flush;
  drawn_ = now;
  is_drawn_ = true;
}

}  // namespace goodput
