#include "tools/chart/thinned_line.h"

#include <algorithm>
#include <cmath>
#include <queue>

namespace goodput {
namespace {

// The points between two that are kept, and the one of them that lies furthest from the straight line.
struct ThinnedPart {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t furthest = 0;
  double distance = 0;

  // The larger distance goes first; of equal ones the earlier part.
  friend bool operator<(const ThinnedPart& a, const ThinnedPart& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.first > b.first;
  }
};

class LineThinning {
 public:
  explicit LineThinning(const std::vector<LinePoint>& line) : line_(line), kept_(line.size(), false) {
    const auto [low, high] = std::minmax_element(
        line.begin(), line.end(), [](const LinePoint& a, const LinePoint& b) { return a.y < b.y; });
    if (line.back().x > line.front().x) per_x_ = 1 / (line.back().x - line.front().x);
    if (high->y > low->y) per_y_ = 1 / (high->y - low->y);
  }

  ThinnedLine run(std::size_t most) {
    std::size_t count = 2;
    kept_.front() = kept_.back() = true;
    add({0, line_.size() - 1});
    for (; count < most && !parts_.empty(); ++count) {
      const ThinnedPart part = parts_.top();
      parts_.pop();
      kept_[part.furthest] = true;
      add({part.first, part.furthest});
      add({part.furthest, part.last});
    }
    return result();
  }

 private:
  // Parts that are straight need no point more.
  void add(ThinnedPart part) {
    for (std::size_t i = part.first + 1; i < part.last; ++i) {
      const double distance = distance_to(line_[i], line_[part.first], line_[part.last]);
      if (distance <= part.distance) continue;
      part.distance = distance;
      part.furthest = i;
    }
    constexpr double kStraight = 1e-9;  // of the picture: what rounding leaves
    if (part.distance > kStraight) parts_.push(part);
  }

  [[nodiscard]] double distance_to(const LinePoint& of, const LinePoint& a, const LinePoint& b) const {
    const double along_x = (b.x - a.x) * per_x_;
    const double along_y = (b.y - a.y) * per_y_;
    const double x = (of.x - a.x) * per_x_;
    const double y = (of.y - a.y) * per_y_;
    const double length = std::hypot(along_x, along_y);
    if (length == 0) return std::hypot(x, y);
    return std::abs(along_x * y - along_y * x) / length;
  }

  [[nodiscard]] ThinnedLine result() const {
    ThinnedLine thinned;
    thinned.of = line_.size();
    std::size_t before = 0;
    for (std::size_t i = 0; i < line_.size(); ++i) {
      if (!kept_[i]) continue;
      for (std::size_t k = before + 1; k < i; ++k)
        thinned.within = std::max(thinned.within, height_over(line_[k], line_[before], line_[i]));
      thinned.points.push_back(line_[i]);
      before = i;
    }
    return thinned;
  }

  static double height_over(const LinePoint& of, const LinePoint& a, const LinePoint& b) {
    if (b.x == a.x) return std::max({0.0, of.y - std::max(a.y, b.y), std::min(a.y, b.y) - of.y});
    return std::abs(of.y - (a.y + (b.y - a.y) * ((of.x - a.x) / (b.x - a.x))));
  }

  const std::vector<LinePoint>& line_;
  std::vector<bool> kept_;
  std::priority_queue<ThinnedPart> parts_{};
  double per_x_ = 1;
  double per_y_ = 1;
};

}  // namespace

ThinnedLine thinned(const std::vector<LinePoint>& line, std::size_t most) {
  if (line.size() <= 2) return {line, line.size(), 0};
  return LineThinning(line).run(most);
}

}  // namespace goodput
