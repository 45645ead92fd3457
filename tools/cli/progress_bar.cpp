#include "tools/cli/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

// "1 min 20 s": two units at most.
std::string time_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(std::min(seconds, 1e15)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
  const std::int64_t days = whole / 86400;
  return fmt::format("{} day{} {} h", days, days == 1 ? "" : "s", whole % 86400 / 3600);
}

}  // namespace

ProgressBar::ProgressBar(std::ostream& err, Show show, std::string what, std::uint64_t total,
                         Clock::time_point began)
    : err_(err), show_(show), what_(std::move(what)), total_(total), began_(began) {}

ProgressBar::~ProgressBar() {
  if (is_drawn_) err_ << "\r\x1b[K" << std::flush;
}

// At the rate of all that is done. Between two steps it counts down, but not below what would be left if the
// next one were done right now: a step that takes long moves the end.
std::optional<ProgressBar::Seconds> ProgressBar::left(Clock::time_point now) const {
  if (done_ == 0 || done_ >= total_) return std::nullopt;
  const auto done = static_cast<double>(done_);
  const auto rest = static_cast<double>(total_ - done_);
  const Seconds counted = Seconds(done_at_ - began_) * (rest / done) - Seconds(now - done_at_);
  return std::max(counted, Seconds(now - began_) * ((rest - 1) / (done + 1)));
}

// Before anything is done there is only how long that has been.
std::string ProgressBar::times(Clock::time_point now) const {
  if (total_ == 0) return "";
  if (done_ == 0) return fmt::format("  {} so far", time_text(Seconds(now - began_).count()));
  const std::optional<Seconds> rest = left(now);
  return rest ? fmt::format("  {} left", time_text(rest->count())) : "";
}

void ProgressBar::update(std::uint64_t done, Clock::time_point now) {
  if (done > done_) {
    done_ = done;
    done_at_ = now;
  }
  if (show_ == Show::kNever || now - began_ < kPatience) return;
  if (is_drawn_ && now - drawn_ < kBetweenDrawings) return;
  err_ << '\r' << drawing(what_, done, total_) << times(now) << "\x1b[K" << std::flush;
  drawn_ = now;
  is_drawn_ = true;
}

}  // namespace goodput
