// The rows of a routing trace while its files are read, and the trace that comes of them.
//
// Readers add rows in any order, as fine as their files have them: a row a rank and micro-batch, or one row
// for all. finish() sorts, checks that nothing is missing or double, and sums ranks and micro-batches out.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "sim/routing/rank_rows.h"
#include "sim/routing/routing_trace.h"

namespace goodput {

inline constexpr std::int64_t kMostRoutingExperts = 65536;  // of a layer; numbers of layers are below it too
inline constexpr std::size_t kMostRoutingCounts = std::size_t{1} << 28;  // in memory: 2 GiB

struct RoutingRowKey {
  std::int64_t iteration = 0;
  std::int64_t layer = 0;
  std::int64_t rank = 0;
  std::int64_t micro_batch = 0;

  friend auto operator<=>(const RoutingRowKey&, const RoutingRowKey&) = default;
};

// `iteration 1, layer 0`, with rank and micro-batch where they are not 0.
[[nodiscard]] std::string to_string(const RoutingRowKey& key);

// A trace and what its files were.
struct RoutingReading {
  RoutingTrace trace;
  std::string format;      // a name of routing_formats(): that of every file
  std::int64_t ranks = 0;  // recorded one by one, and summed; 1 where the files do not tell them apart
  std::int64_t micro_batches = 0;  // the same
  RankRows first{};  // the rows of the first iteration, not summed; none unless FirstRows::kKeep
};
enum class FirstRows : bool { kDrop, kKeep };

class RoutingRows {
 public:
  // Of the rows that follow.
  void begin_file(std::string path) { files_.push_back(std::move(path)); }

  // For formats that list every expert: all rows must have as many as the first. The Error has no place.
  Status expect_experts(std::size_t experts, std::size_t line);

  // A new row: where its `experts` counts go, all 0 now and valid until finish(). Rows may differ in length;
  // what is not there counts as 0. Fails when the trace gets too large; the Error has no place. REQUIRES: a
  // file was begun.
  Result<std::span<std::int64_t>> add(const RoutingRowKey& key, std::size_t line, std::size_t experts);

  // What add() fails with.
  [[nodiscard]] static Error too_large();

  // Of all rows of all files. The reading's format is left to the caller.
  Result<RoutingReading> finish(FirstRows first) &&;

 private:
  struct Row {
    RoutingRowKey key;
    std::size_t file = 0;
    std::size_t line = 0;
    std::span<const std::int64_t> counts{};  // in blocks_
  };
  // The rows of one layer at one iteration, by rank and micro-batch.
  using Group = std::span<const Row>;

  [[nodiscard]] Where place(const Row& row) const;
  [[nodiscard]] Status check_no_duplicates() const;
  [[nodiscard]] std::vector<Group> groups() const;
  [[nodiscard]] Status check_layers(std::span<const Group> first, std::span<const Group> other) const;
  [[nodiscard]] Status check_parts(Group first, Group other) const;
  [[nodiscard]] static RankRows rows_of(std::span<const Group> groups, std::size_t experts);
  [[nodiscard]] Result<std::vector<std::int64_t>> sum(const std::vector<Group>& groups,
                                                      std::size_t experts) const;

  std::vector<std::string> files_;
  std::vector<Row> rows_;
  std::vector<std::vector<std::int64_t>> blocks_;  // filled up to their capacity: rows stay where they are
  std::size_t counts_ = 0;                         // in all blocks
  std::size_t expected_experts_ = 0;
  std::string expected_by_;
};

}  // namespace goodput
