// A mixture-of-experts block as the checks time it: its sizes, who hosts which experts, and how tokens are
// routed. Loads are exact and the same on every rank, so that anybody can compute what every expert gets.
// Host only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/bench/routed_rank.h"

namespace goodput::gpu::calibrate {

enum class MoeDispatch : std::uint8_t {
  kFlexible,  // this repository's: any number of replicas of an expert on any rank, no padding
  kPadded,    // one expert a rank, and all get as many rows as the fullest one
};
[[nodiscard]] constexpr const char* name_of(MoeDispatch dispatch) {
  return dispatch == MoeDispatch::kFlexible ? "flexible" : "padded";
}

struct MoeShape {
  std::string model;    // "mixtral-8x7b"; empty: none that is known
  std::int64_t tokens;  // of a rank
  std::int64_t hidden;
  std::int64_t ffn;
  bool is_gated;  // SwiGLU: gate and up in one product; else two linear layers
  std::int64_t top_k;
  std::int64_t ranks;
  std::int64_t slots;      // replicas of experts that a rank hosts; ranks x slots: at least the experts
  std::string loads_name;  // "smartmoe-like"
  std::vector<int> loads;  // of every expert, in any unit; none above 1 / top_k of all
  std::int64_t load_ratio =
      0;  // Lazarus, Fig. 10a: eighths of the tokens that one expert gets; 0: other loads
  MoeDispatch dispatch = MoeDispatch::kFlexible;  // kPadded: as many ranks as experts, one slot

  [[nodiscard]] std::int64_t experts() const { return static_cast<std::int64_t>(loads.size()); }
  // Columns of the first product of an expert.
  [[nodiscard]] std::int64_t up() const { return is_gated ? 2 * ffn : ffn; }
  // Slots of a rank's tokens for every expert (rows_by_load()).
  [[nodiscard]] std::vector<std::int64_t> slots_of_experts() const;
  // Rows of every expert of the busiest rank, padding included, and of it.
  [[nodiscard]] std::vector<std::int64_t> busiest_rows() const;
};

// Loads that fall linearly: expert e gets `experts` - e.
[[nodiscard]] std::vector<int> linear_loads(int experts);
// One of 8 experts gets `ratio` eighths of all slots; the others share the rest evenly.
[[nodiscard]] std::vector<int> ratio_loads(int ratio);

// Replicas, ranks x experts. An expert has one at least; every further slot goes to the expert whose replicas
// have the most rows (the first if several do). Without further slots experts lie on the ranks in order; else
// replicas are dealt out to one rank after another. REQUIRES: as many slots as experts or more.
[[nodiscard]] std::vector<std::int32_t> replicas_by_load(const std::vector<std::int64_t>& slots_of_experts,
                                                         std::int64_t ranks, std::int64_t slots);

// tokens x top_k: expert e is chosen by slots_of_experts[e] tokens, once by each; the order of tokens is
// drawn. REQUIRES: the sum is tokens x top_k, none exceeds tokens.
[[nodiscard]] std::vector<std::int32_t> routing_of(const std::vector<std::int64_t>& slots_of_experts,
                                                   std::int64_t tokens, std::int64_t top_k,
                                                   std::uint64_t seed);

// The busiest rank, the first of such. A padded shape: as it would be without padding.
[[nodiscard]] bench::RoutedInput routed_input(const MoeShape& shape);

}  // namespace goodput::gpu::calibrate
