// One recorded iteration of a job, row by row: what every rank routed in every micro-batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace goodput {

struct RankRows {
  std::size_t layers = 0;
  std::size_t rows = 0;  // of a layer: the ranks of the first micro-batch, those of the second, and so on
  std::size_t experts = 0;
  std::vector<std::int64_t> counts{};  // layers x rows x experts

  // Tokens by expert.
  [[nodiscard]] std::span<const std::int64_t> row(std::size_t layer, std::size_t row) const {
    return std::span(counts).subspan((layer * rows + row) * experts, experts);
  }

  friend bool operator==(const RankRows&, const RankRows&) = default;
};

}  // namespace goodput
