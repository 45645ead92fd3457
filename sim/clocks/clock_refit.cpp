#include "sim/clocks/clock_refit.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sim/clocks/clock_solver.h"

namespace goodput {
namespace {

// The first steps of the pieces of every node: of a clock its own, of a meeting point those of all its
// clocks.
std::vector<std::vector<std::size_t>> first_steps(const ClockNetwork& network,
                                                  const std::vector<ClockCourse>& courses) {
  std::vector<std::vector<std::size_t>> firsts(network.nodes);
  for (std::size_t clock = 0; clock < courses.size(); ++clock) {
    for (const ClockPiece& piece : courses[clock].pieces) firsts[clock].push_back(piece.first_step);
  }
  for (const ClockPair& pair : network.pairs) {
    if (pair.worker_b != kMeetingPoint) continue;
    std::vector<std::size_t>& own = firsts[pair.b];
    if (own.empty()) own.push_back(0);
    if (firsts[pair.a].size() > 1) own.insert(own.end(), firsts[pair.a].begin(), firsts[pair.a].end());
  }
  for (std::vector<std::size_t>& own : firsts) {
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  return firsts;
}

// The network of pieces, as if of one step.
class PieceNetwork {
 public:
  PieceNetwork(const ClockNetwork& network, std::span<const double> time,
               const std::vector<ClockCourse>& courses)
      : network_(network), time_(time), courses_(courses), firsts_(first_steps(network, courses)) {
    for (const std::vector<std::size_t>& own : firsts_) {
      first_node_.push_back(pieces_.nodes);
      pieces_.nodes += own.size();
    }
    for (std::size_t pair = 0; pair < network.pairs.size(); ++pair) add_pair(pair);
  }

  [[nodiscard]] const ClockNetwork& network() const { return pieces_; }
  [[nodiscard]] std::size_t node(std::size_t of, std::size_t piece) const { return first_node_[of] + piece; }

  // Of clocks as they are, of meeting points as the last of their pairs says.
  [[nodiscard]] std::vector<double> offsets() const {
    std::vector<double> offsets(pieces_.nodes, 0.0);
    for (std::size_t clock = 0; clock < courses_.size(); ++clock) {
      for (std::size_t piece = 0; piece < courses_[clock].pieces.size(); ++piece)
        offsets[node(clock, piece)] = courses_[clock].pieces[piece].offset_s;
    }
    for (std::size_t i = 0; i < pieces_.pairs.size(); ++i) {
      const ClockPair& pair = pieces_.pairs[i];
      if (pair.worker_b == kMeetingPoint) offsets[pair.b] = offsets[pair.a] - pieces_.differences[i].seconds;
    }
    return offsets;
  }

 private:
  void add_pair(std::size_t index) {
    const ClockPair& pair = network_.pairs[index];
    const bool meets = pair.worker_b == kMeetingPoint;
    const double slope = courses_[pair.a].slope - (meets ? 0.0 : courses_[pair.b].slope);
    std::size_t piece_a = 0;
    std::size_t piece_b = 0;
    for (std::size_t first = 0; first < time_.size();) {
      const std::size_t end = std::min(end_of_piece(pair.a, piece_a), end_of_piece(pair.b, piece_b));
      samples_.clear();
      for (std::size_t step = first; step < end; ++step) {
        const ClockDifference& at = network_.of_step(step)[index];
        samples_.push_back({at.seconds - slope * time_[step], at.noise_s});
      }
      pieces_.pairs.push_back({static_cast<std::uint32_t>(node(pair.a, piece_a)),
                               static_cast<std::uint32_t>(node(pair.b, piece_b)), pair.worker_a,
                               pair.worker_b});
      pieces_.differences.push_back(take_middle(samples_));
      first = end;
      piece_a += end == end_of_piece(pair.a, piece_a) ? 1U : 0U;
      piece_b += end == end_of_piece(pair.b, piece_b) ? 1U : 0U;
    }
  }

  [[nodiscard]] std::size_t end_of_piece(std::size_t of, std::size_t piece) const {
    return piece + 1 < firsts_[of].size() ? firsts_[of][piece + 1] : time_.size();
  }

  const ClockNetwork& network_;
  std::span<const double> time_;
  const std::vector<ClockCourse>& courses_;
  std::vector<std::vector<std::size_t>> firsts_;  // by node
  std::vector<std::size_t> first_node_;           // by node: of its pieces
  ClockNetwork pieces_;
  std::vector<ClockDifference> samples_;
};

}  // namespace

void refit_offsets(const ClockNetwork& network, std::span<const double> time,
                   std::vector<ClockCourse>& courses) {
  const PieceNetwork pieces(network, time, courses);
  ClockSolver solver(pieces.network(), pieces.offsets());
  const std::vector<double>& offsets = solver.solve(pieces.network().differences);
  for (std::size_t clock = 0; clock < courses.size(); ++clock) {
    for (std::size_t piece = 0; piece < courses[clock].pieces.size(); ++piece)
      courses[clock].pieces[piece].offset_s = offsets[pieces.node(clock, piece)];
  }
}

}  // namespace goodput
