#include "models/step/paired_passes.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace goodput {

std::vector<std::size_t> take_turns(std::span<const TurnPart> first, std::span<const TurnPart> second) {
  const std::array<std::span<const TurnPart>, 2> passes = {first, second};
  std::array<std::size_t, 2> next{};
  std::array<double, 2> pass_ready{};
  std::array<double, 2> stream_free{};  // computation, communication
  const auto stream_of_next = [&](std::size_t pass) -> std::size_t {
    return passes[pass][next[pass]].is_communication ? 1 : 0;
  };
  const auto could_start = [&](std::size_t pass) {
    return std::max(pass_ready[pass], stream_free[stream_of_next(pass)]);
  };
  std::vector<std::size_t> turns;
  turns.reserve(first.size() + second.size());
  while (turns.size() < first.size() + second.size()) {
    const bool is_second =
        next[0] == first.size() || (next[1] < second.size() && could_start(1) < could_start(0));
    const std::size_t pass = is_second ? 1 : 0;
    const std::size_t stream = stream_of_next(pass);
    pass_ready[pass] = stream_free[stream] = could_start(pass) + passes[pass][next[pass]].length;
    ++next[pass];
    turns.push_back(pass);
  }
  return turns;
}

PairLengths pair_lengths(std::span<const TurnPart> first, std::span<const TurnPart> second) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  const std::array<std::span<const TurnPart>, 2> passes = {first, second};
  const std::vector<std::size_t> turns = take_turns(first, second);
  PairLengths lengths{};
  for (std::size_t from = 0; from < 2; ++from) {
    std::array<std::size_t, 2> next{};
    std::array<double, 2> pass_end = {kNever, kNever};
    std::array<double, 2> stream_end = {kNever, kNever};
    pass_end[from] = 0;
    for (const std::size_t pass : turns) {
      const TurnPart& part = passes[pass][next[pass]++];
      double& stream = stream_end[part.is_communication ? 1 : 0];
      pass_end[pass] = stream = std::max(pass_end[pass], stream) + part.length;
    }
    lengths[from] = pass_end;
  }
  return lengths;
}

}  // namespace goodput
