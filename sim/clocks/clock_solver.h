// Offsets of clocks from the differences of pairs: robust least squares over the graph of pairs.
//
// Minimises sum rho((o_a - o_b - difference) / noise) with Huber's rho (quadratic up to 1.5, then linear), so
// that a pair that contradicts the others pulls no harder than one that is 1.5 of its noise off. Solved by
// reweighting; each round is conjugate gradients on the sparse normal equations. What all clocks of a
// component have in common cannot be seen: it stays as in the offsets that the solver starts from.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/clocks/clock_network.h"

namespace goodput {

class ClockSolver {
 public:
  static constexpr int kMostRounds = 8;

  // Keeps a reference: `network` must outlive the solver. `offsets_s`: by node, to start from.
  ClockSolver(const ClockNetwork& network, std::vector<double> offsets_s);

  // By node, seconds. Starts from what the last call found: most steps are like the one before, and settle in
  // fewer rounds.
  [[nodiscard]] const std::vector<double>& solve(std::span<const ClockDifference> differences,
                                                 int most_rounds = kMostRounds);

 private:
  void multiply(const std::vector<double>& x, std::vector<double>& product) const;
  void reweight(std::span<const ClockDifference> differences);
  double correct(std::span<const ClockDifference> differences);

  const ClockNetwork& network_;
  std::vector<double> offset_s_;  // by node
  std::vector<double> weight_;    // by pair, 1/s^2
  std::vector<double> diagonal_;  // of the normal equations, by node
  std::vector<double> residual_;
  std::vector<double> step_;
  std::vector<double> direction_;
  std::vector<double> product_;
};

}  // namespace goodput
