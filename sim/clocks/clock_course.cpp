#include "sim/clocks/clock_course.h"

#include <algorithm>
#include <cmath>

#include "sim/base/statistics.h"

namespace goodput {
namespace {

constexpr double kLeastJumpS = 5e-4;
constexpr double kSureJump = 6;   // of its noise
constexpr double kSureSlope = 4;  // of its noise
// With this many steps beyond the two that a line needs, the noise of its slope is doubled, because so few
// steps may agree by chance.
constexpr double kDoubtOfFew = 6;

bool differ(const ClockDifference& x, const ClockDifference& y) {
  const double apart = std::abs(x.seconds - y.seconds);
  return apart > std::max(kLeastJumpS, kSureJump * std::hypot(x.noise_s, y.noise_s));
}

// Steps first .. first + level.size() - 1.
struct Piece {
  std::size_t first = 0;
  std::size_t end = 0;
  ClockDifference middle;
};

Piece piece_of(const std::vector<ClockDifference>& level, std::size_t first, std::size_t end) {
  std::vector<ClockDifference> own(level.begin() + static_cast<std::ptrdiff_t>(first),
                                   level.begin() + static_cast<std::ptrdiff_t>(end));
  return {first, end, take_middle(own)};
}

// Cuts the series wherever two neighbors differ, then joins pieces that do not differ as a whole.
std::vector<Piece> cut(const std::vector<ClockDifference>& level) {
  std::vector<Piece> pieces;
  std::size_t first = 0;
  for (std::size_t step = 1; step <= level.size(); ++step) {
    if (step < level.size() && !differ(level[step - 1], level[step])) continue;
    pieces.push_back(piece_of(level, first, step));
    first = step;
  }
  for (bool joined = true; joined;) {
    joined = false;
    std::vector<Piece> kept = {pieces.front()};
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      if (differ(kept.back().middle, pieces[i].middle)) {
        kept.push_back(pieces[i]);
      } else {
        kept.back() = piece_of(level, kept.back().first, pieces[i].end);
        joined = true;
      }
    }
    pieces = std::move(kept);
  }
  return pieces;
}

// Whether the collectives of the piece allow an offset of `seconds` in all its steps.
bool allows(const std::vector<ClockDifference>& level, const std::vector<ClockSlack>& slack,
            const Piece& piece, double seconds) {
  for (std::size_t step = piece.first; step < piece.end && step < slack.size(); ++step) {
    const double late = level[step].seconds - seconds;
    if (late > slack[step].late_s + kClockWorthAligningS ||
        -late > slack[step].early_s + kClockWorthAligningS)
      return false;
  }
  return true;
}

// Joins a short piece with both neighbors if these agree, else with the closer one, if the collectives of its
// steps allow it. Joining hardly changes the median of the neighbor.
void join_short_pieces(const std::vector<ClockDifference>& level, std::size_t least,
                       const std::vector<ClockSlack>& slack, std::vector<Piece>& pieces) {
  for (std::size_t at = 0; at < pieces.size() && pieces.size() > 1;) {
    const Piece& own = pieces[at];
    const auto may_join = [&](std::size_t other) {
      return other < pieces.size() && allows(level, slack, own, pieces[other].middle.seconds);
    };
    const auto apart = [&](std::size_t other) {
      return std::abs(pieces[other].middle.seconds - own.middle.seconds);
    };
    const bool with_before = at > 0 && may_join(at - 1);
    const bool with_after = may_join(at + 1);
    if (own.end - own.first >= least || !(with_before || with_after)) {
      ++at;
      continue;
    }
    const bool agree = with_before && with_after && !differ(pieces[at - 1].middle, pieces[at + 1].middle);
    const bool is_nearer_before = with_before && (!with_after || apart(at - 1) <= apart(at + 1));
    const std::size_t first = agree || is_nearer_before ? at - 1 : at;
    const std::size_t last = agree || !is_nearer_before ? at + 1 : at;
    pieces[first] = piece_of(level, pieces[first].first, pieces[last].end);
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                 pieces.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    at = first > 0 ? first - 1 : 0;
  }
}

std::vector<ClockDifference> without_slope(std::span<const ClockDifference> series, std::span<const double> x,
                                           double slope) {
  std::vector<ClockDifference> level(series.begin(), series.end());
  for (std::size_t step = 0; step < level.size(); ++step) level[step].seconds -= slope * x[step];
  return level;
}

struct Slope {
  double value = 0;
  double noise = std::numeric_limits<double>::infinity();
};

// Least squares with a separate level for every piece.
Slope common_slope(std::span<const ClockDifference> series, std::span<const double> x,
                   const std::vector<Piece>& pieces) {
  double product = 0;
  double square = 0;
  double variation = 0;
  for (const Piece& piece : pieces) {
    double weight = 0;
    double mean_x = 0;
    double mean = 0;
    for (std::size_t step = piece.first; step < piece.end; ++step) {
      const double own = 1 / (series[step].noise_s * series[step].noise_s);
      weight += own;
      mean_x += own * x[step];
      mean += own * series[step].seconds;
    }
    mean_x /= weight;
    mean /= weight;
    for (std::size_t step = piece.first; step < piece.end; ++step) {
      const double own = 1 / (series[step].noise_s * series[step].noise_s);
      product += own * (x[step] - mean_x) * (series[step].seconds - mean);
      square += own * (x[step] - mean_x) * (x[step] - mean_x);
      variation += own * (series[step].seconds - mean) * (series[step].seconds - mean);
    }
  }
  if (!(square > 0)) return {};
  const double slope = product / square;
  const std::size_t known = pieces.size() + 1;
  if (series.size() <= known) return {slope, 1 / std::sqrt(square)};
  const auto spare = static_cast<double>(series.size() - known);
  const double left = std::max(1.0, (variation - slope * product) / spare);
  return {slope, (1 + kDoubtOfFew / spare) * std::sqrt(left / square)};
}

bool is_sure(const Slope& slope, std::span<const double> x, const CourseLimits& limits) {
  if (std::abs(slope.value) > limits.steepest || std::abs(slope.value) <= kSureSlope * slope.noise)
    return false;
  return x.size() >= limits.enough_steps ||
         std::abs(slope.value) * (x.back() - x.front()) > kClockWorthAligningS;
}

}  // namespace

const ClockPiece& ClockCourse::piece_of(std::size_t step) const {
  const auto after =
      std::upper_bound(pieces.begin(), pieces.end(), step,
                       [](std::size_t at, const ClockPiece& piece) { return at < piece.first_step; });
  return *(after - 1);
}

double steady_slope(std::span<const double> values, std::span<const double> x, const CourseLimits& limits) {
  if (values.size() < limits.least_steps) return 0;
  const std::size_t apart = std::max<std::size_t>(1, values.size() / 8);
  std::vector<double> slopes;
  for (std::size_t i = apart; i < values.size(); ++i) {
    if (x[i] > x[i - apart]) slopes.push_back((values[i] - values[i - apart]) / (x[i] - x[i - apart]));
  }
  const double slope = slopes.empty() ? 0.0 : take_median(slopes);
  return std::abs(slope) <= limits.steepest ? slope : 0.0;
}

ClockCourse fit_course(std::span<const ClockDifference> series, std::span<const double> x, double slope,
                       const CourseLimits& limits, const std::vector<ClockSlack>& slack) {
  ClockCourse course;
  const std::vector<ClockDifference> about_level = without_slope(series, x, slope);
  std::vector<Piece> pieces = cut(about_level);
  join_short_pieces(about_level, limits.least_piece, slack, pieces);
  if (series.size() >= limits.least_steps) {
    const Slope found = common_slope(series, x, pieces);
    course.slope = is_sure(found, x, limits) ? found.value : 0;
    course.measured_slope = found.value;
    course.slope_noise = found.noise;
  }
  const std::vector<ClockDifference> level = without_slope(series, x, course.slope);
  for (const Piece& piece : pieces) {
    const ClockDifference middle = piece_of(level, piece.first, piece.end).middle;
    course.pieces.push_back({piece.first, middle.seconds, middle.noise_s});
  }
  return course;
}

}  // namespace goodput
