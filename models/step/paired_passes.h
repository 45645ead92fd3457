// Two passes of a stage that run part by part in turn: while one communicates the other computes.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace goodput {

// A part of a pass as the GPU and its network see it.
struct TurnPart {
  double length = 0;
  bool is_communication = false;
};

// In which order the parts of passes 0 and 1 get the stream they want, computation or communication:
// whichever could start first, pass 0 among equals. The pass of each turn, which takes its next part.
[[nodiscard]] std::vector<std::size_t> take_turns(std::span<const TurnPart> first,
                                                  std::span<const TurnPart> second);

// The longest paths through two such passes, in which a part waits for the part before it and for the turn
// before it on its stream: [from][to] from the moment that pass `from` may start to the end of pass `to`;
// minus infinity where `to` does not wait for `from`.
using PairLengths = std::array<std::array<double, 2>, 2>;
[[nodiscard]] PairLengths pair_lengths(std::span<const TurnPart> first, std::span<const TurnPart> second);

}  // namespace goodput
