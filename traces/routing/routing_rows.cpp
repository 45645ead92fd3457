#include "traces/routing/routing_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace goodput {
namespace {

using Part = std::pair<std::int64_t, std::int64_t>;  // rank, micro-batch

Part part_of(const RoutingRowKey& key) {
  return {key.rank, key.micro_batch};
}

bool same_group(const RoutingRowKey& a, const RoutingRowKey& b) {
  return a.iteration == b.iteration && a.layer == b.layer;
}

template <typename Group>
std::int64_t iteration_of(const Group& group) {
  return group.front().key.iteration;
}

template <typename Group, typename OfKey>
std::int64_t count_distinct(const Group& group, OfKey of_key) {
  std::set<std::int64_t> distinct;
  for (const auto& row : group) distinct.insert(of_key(row.key));
  return static_cast<std::int64_t>(distinct.size());
}

std::string name_of(const Part& part) {
  return fmt::format("rank {} micro-batch {}", part.first, part.second);
}

}  // namespace

std::string to_string(const RoutingRowKey& key) {
  std::string text = fmt::format("iteration {}, layer {}", key.iteration, key.layer);
  if (part_of(key) != Part{0, 0}) text += ", " + name_of(part_of(key));
  return text;
}

Error RoutingRows::too_large() {
  return {fmt::format(
      "the trace has more than {} counts; read fewer iterations, or sum over ranks and micro-batches first",
      kMostRoutingCounts)};
}

Status RoutingRows::expect_experts(std::size_t experts, std::size_t line) {
  if (expected_experts_ == 0) {
    expected_experts_ = experts;
    expected_by_ = fmt::format("{}:{}", files_.back(), line);
  }
  if (experts == expected_experts_) return Ok{};
  return Error{fmt::format("has {} expert{}, but {} has {}", experts, experts == 1 ? "" : "s", expected_by_,
                           expected_experts_)};
}

Result<std::span<std::int64_t>> RoutingRows::add(const RoutingRowKey& key, std::size_t line,
                                                 std::size_t experts) {
  constexpr std::size_t kBlockCounts = std::size_t{1} << 17;
  counts_ += experts;
  if (counts_ > kMostRoutingCounts) return too_large();
  if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < experts) {
    blocks_.emplace_back().reserve(std::max(kBlockCounts, experts));
  }
  std::vector<std::int64_t>& block = blocks_.back();
  block.resize(block.size() + experts);
  const std::span<std::int64_t> counts = std::span(block).last(experts);
  rows_.push_back({key, files_.size() - 1, line, counts});
  return counts;
}

Result<RoutingReading> RoutingRows::finish(FirstRows first_rows) && {
  if (rows_.empty()) return Error{"has no rows", {.file = files_.empty() ? "" : files_.front()}};
  const auto by_key = [](const Row& a, const Row& b) { return a.key < b.key; };
  // In most files they are in order.
  if (!std::is_sorted(rows_.begin(), rows_.end(), by_key))
    std::stable_sort(rows_.begin(), rows_.end(), by_key);
  GOODPUT_TRY_STATUS(check_no_duplicates());

  const std::vector<Group> all = groups();
  const auto layers_from = [&all](std::size_t first) {
    std::size_t end = first;
    while (end < all.size() && iteration_of(all[end]) == iteration_of(all[first])) ++end;
    return std::span(all).subspan(first, end - first);
  };
  const std::span<const Group> first = layers_from(0);
  std::vector<std::int64_t> iterations;
  for (std::size_t i = 0; i < all.size(); i += first.size()) {
    GOODPUT_TRY_STATUS(check_layers(first, layers_from(i)));
    iterations.push_back(iteration_of(all[i]));
  }
  for (const Group& group : all) GOODPUT_TRY_STATUS(check_parts(all.front(), group));

  std::vector<std::int64_t> layers;
  for (const Group& group : first) layers.push_back(group.front().key.layer);
  std::size_t experts = 0;
  for (const Row& row : rows_) experts = std::max(experts, row.counts.size());
  GOODPUT_TRY(std::vector<std::int64_t> loads, sum(all, experts));
  RoutingReading reading;
  if (first_rows == FirstRows::kKeep) reading.first = rows_of(first, experts);
  reading.trace = RoutingTrace(std::move(iterations), std::move(layers), static_cast<std::int32_t>(experts),
                               std::move(loads));
  reading.ranks = count_distinct(all.front(), [](const RoutingRowKey& key) { return key.rank; });
  reading.micro_batches =
      count_distinct(all.front(), [](const RoutingRowKey& key) { return key.micro_batch; });
  return reading;
}

Where RoutingRows::place(const Row& row) const {
  return {.file = files_[row.file], .position = Position::line(row.line)};
}

Status RoutingRows::check_no_duplicates() const {
  for (std::size_t i = 1; i < rows_.size(); ++i) {
    const Row& first = rows_[i - 1];
    if (first.key != rows_[i].key) continue;
    return Error{
        fmt::format("{} is already in {}; remove one of them", to_string(rows_[i].key), place(first).text()),
        place(rows_[i])};
  }
  return Ok{};
}

std::vector<RoutingRows::Group> RoutingRows::groups() const {
  const Group all(rows_);
  std::vector<Group> groups;
  for (std::size_t begin = 0; begin < all.size(); begin += groups.back().size()) {
    std::size_t end = begin + 1;
    while (end < all.size() && same_group(all[begin].key, all[end].key)) ++end;
    groups.push_back(all.subspan(begin, end - begin));
  }
  return groups;
}

// Of two iterations: the same layers.
Status RoutingRows::check_layers(std::span<const Group> first, std::span<const Group> other) const {
  const auto layer_of = [](const Group& group) { return group.front().key.layer; };
  std::size_t i = 0;
  while (i < first.size() && i < other.size() && layer_of(first[i]) == layer_of(other[i])) ++i;
  if (i == first.size() && i == other.size()) return Ok{};
  const std::int64_t iteration = iteration_of(other.front());
  if (i == first.size() || (i < other.size() && layer_of(other[i]) < layer_of(first[i]))) {
    return Error{fmt::format("iteration {} has layer {}, but iteration {} does not", iteration,
                             layer_of(other[i]), iteration_of(first.front())),
                 place(other[i].front())};
  }
  return Error{fmt::format("iteration {} does not have layer {}, but iteration {} does", iteration,
                           layer_of(first[i]), iteration_of(first.front())),
               place(other.front().front())};
}

// Of two layers or iterations: the same ranks and micro-batches.
Status RoutingRows::check_parts(Group first, Group other) const {
  const auto part = [](const Row& row) { return part_of(row.key); };
  std::size_t i = 0;
  while (i < first.size() && i < other.size() && part(first[i]) == part(other[i])) ++i;
  if (i == first.size() && i == other.size()) return Ok{};
  const RoutingRowKey& here = other.front().key;
  const RoutingRowKey& there = first.front().key;
  if (i == first.size() || (i < other.size() && part(other[i]) < part(first[i]))) {
    return Error{
        fmt::format("iteration {}, layer {} has {}, but iteration {}, layer {} does not", here.iteration,
                    here.layer, name_of(part(other[i])), there.iteration, there.layer),
        place(other[i])};
  }
  return Error{fmt::format("iteration {}, layer {} does not have {}, but iteration {}, layer {} does",
                           here.iteration, here.layer, name_of(part(first[i])), there.iteration, there.layer),
               place(other.front())};
}

RankRows RoutingRows::rows_of(std::span<const Group> groups, std::size_t experts) {
  RankRows all{groups.size(), groups.front().size(), experts};
  for (const Group& group : groups) {
    std::vector<Row> rows(group.begin(), group.end());
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.key.micro_batch < b.key.micro_batch; });
    for (const Row& row : rows) {
      all.counts.insert(all.counts.end(), row.counts.begin(), row.counts.end());
      all.counts.resize(all.counts.size() + experts - row.counts.size());
    }
  }
  return all;
}

// Dense: groups x experts.
Result<std::vector<std::int64_t>> RoutingRows::sum(const std::vector<Group>& groups,
                                                   std::size_t experts) const {
  if (groups.size() > kMostRoutingCounts / experts) return too_large().in_file(files_.front());
  std::vector<std::int64_t> loads(groups.size() * experts);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto into = std::span(loads).subspan(g * experts, experts);
    std::int64_t total = 0;
    for (const Row& row : groups[g]) {
      for (std::size_t e = 0; e < row.counts.size(); ++e) {
        if (__builtin_add_overflow(total, row.counts[e], &total)) {
          return Error{fmt::format("the counts of iteration {}, layer {} add up to 2^63 or more",
                                   row.key.iteration, row.key.layer),
                       place(row)};
        }
        into[e] += row.counts[e];
      }
    }
  }
  return loads;
}

}  // namespace goodput
