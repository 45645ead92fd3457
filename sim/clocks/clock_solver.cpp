#include "sim/clocks/clock_solver.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace goodput {
namespace {

constexpr double kHuber = 1.5;
constexpr double kSettledS = 2e-6;     // a hundredth of the noise of one message
constexpr double kLeastEnergy = 1e-5;  // of residuals in units of their noise, squared

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace

ClockSolver::ClockSolver(const ClockNetwork& network, std::vector<double> offsets_s)
    : network_(network),
      offset_s_(std::move(offsets_s)),
      weight_(network.pairs.size()),
      diagonal_(network.nodes),
      residual_(network.nodes),
      step_(network.nodes),
      direction_(network.nodes),
      product_(network.nodes) {}

void ClockSolver::multiply(const std::vector<double>& x, std::vector<double>& product) const {
  std::fill(product.begin(), product.end(), 0.0);
  for (std::size_t i = 0; i < network_.pairs.size(); ++i) {
    const auto [a, b, worker_a, worker_b] = network_.pairs[i];
    const double flow = weight_[i] * (x[a] - x[b]);
    product[a] += flow;
    product[b] -= flow;
  }
}

// Pairs of one clock say nothing about offsets and weigh nothing.
void ClockSolver::reweight(std::span<const ClockDifference> differences) {
  std::fill(diagonal_.begin(), diagonal_.end(), 0.0);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const auto [a, b, worker_a, worker_b] = network_.pairs[i];
    const double noise = differences[i].noise_s;
    const double off = std::abs(offset_s_[a] - offset_s_[b] - differences[i].seconds) / noise;
    weight_[i] = a == b ? 0.0 : std::min(1.0, kHuber / off) / (noise * noise);
    diagonal_[a] += weight_[i];
    diagonal_[b] += weight_[i];
  }
}

// Conjugate gradients, preconditioned by the diagonal. Returns the largest correction.
double ClockSolver::correct(std::span<const ClockDifference> differences) {
  std::fill(residual_.begin(), residual_.end(), 0.0);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const auto [a, b, worker_a, worker_b] = network_.pairs[i];
    const double flow = weight_[i] * (differences[i].seconds - (offset_s_[a] - offset_s_[b]));
    residual_[a] += flow;
    residual_[b] -= flow;
  }
  const auto precondition = [this] {
    for (std::size_t i = 0; i < step_.size(); ++i)
      step_[i] = diagonal_[i] > 0 ? residual_[i] / diagonal_[i] : 0.0;
  };
  precondition();
  direction_ = step_;
  double energy = dot(residual_, step_);
  const std::vector<double> before = offset_s_;
  for (std::size_t round = 0; round < 2 * network_.nodes && energy > kLeastEnergy; ++round) {
    multiply(direction_, product_);
    const double curvature = dot(direction_, product_);
    if (!(curvature > 0)) break;
    const double length = energy / curvature;
    for (std::size_t i = 0; i < offset_s_.size(); ++i) {
      offset_s_[i] += length * direction_[i];
      residual_[i] -= length * product_[i];
    }
    precondition();
    const double next = dot(residual_, step_);
    const double turn = next / energy;
    for (std::size_t i = 0; i < direction_.size(); ++i) direction_[i] = step_[i] + turn * direction_[i];
    energy = next;
  }
  double largest = 0;
  for (std::size_t i = 0; i < offset_s_.size(); ++i)
    largest = std::max(largest, std::abs(offset_s_[i] - before[i]));
  return largest;
}

const std::vector<double>& ClockSolver::solve(std::span<const ClockDifference> differences, int most_rounds) {
  for (int round = 0; round < most_rounds; ++round) {
    reweight(differences);
    if (correct(differences) < kSettledS) break;
  }
  return offset_s_;
}

}  // namespace goodput
