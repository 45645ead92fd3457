#include "sim/live/step_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace goodput {
namespace {

constexpr std::size_t kMostNamed = 4;  // missing workers in a sentence

constexpr std::size_t kForward = index_of(OpType::kForwardCompute);
constexpr std::size_t kBackward = index_of(OpType::kBackwardCompute);

// Another number of micro-batches, and nothing that is not there at all.
bool is_other_batch(const TypeCounts& counts, const TypeCounts& expected) {
  if (counts[kForward] == expected[kForward] || counts[kForward] != counts[kBackward]) return false;
  for (std::size_t type = 0; type < kNdtimelineTypeCount; ++type) {
    if (expected[type] > 0 && counts[type] == 0) return false;
  }
  return true;
}

// The stages of which all replicas, two at least, went on with the same ops.
std::vector<std::int32_t> agreed_stages(const OpenStep& step, const StageCounts& own, std::int32_t dp_size) {
  std::map<std::int32_t, std::int32_t> replicas;
  for (const auto& [key, worker] : step.workers) {
    if (worker.is_past && worker.counts == own.at(key.second)) ++replicas[key.second];
  }
  std::vector<std::int32_t> stages;
  for (const auto& [stage, count] : replicas) {
    if (count == dp_size && count > 1) stages.push_back(stage);
  }
  return stages;
}

class WholeWorkers {
 public:
  WholeWorkers(const OpenStep& step, const WorkerKey& sizes, const KnownCounts& known)
      : own_(count_stages(step)),
        agreed_(agreed_stages(step, own_, sizes.first)),
        known_(known),
        is_known_run_(known.run == step.id.run) {}

  [[nodiscard]] bool has(const OpenStep::Worker& worker, std::int32_t stage) const {
    if (!has_all(worker.counts, own_, stage)) return false;
    const auto expected = known_.expected.find(stage);
    if (!is_known_run_ || expected == known_.expected.end())
      return worker.is_past || looks_whole(worker.counts);
    if (has_all(worker.counts, known_.expected, stage)) return true;
    if (is_other_batch(worker.counts, expected->second)) return true;
    if (!worker.is_past) return false;
    if (std::ranges::binary_search(agreed_, stage)) return true;
    const auto before = known_.given_before.find(stage);
    return before != known_.given_before.end() && before->second == worker.counts;
  }

 private:
  StageCounts own_;
  std::vector<std::int32_t> agreed_;
  const KnownCounts& known_;
  bool is_known_run_;
};

}  // namespace

MissingWorkers find_missing(const OpenStep& step, const WorkerKey& sizes, const KnownCounts& known) {
  const WholeWorkers whole(step, sizes, known);
  MissingWorkers missing;
  missing.count = static_cast<std::size_t>(sizes.first) * static_cast<std::size_t>(sizes.second);
  for (const auto& [key, worker] : step.workers) missing.count -= whole.has(worker, key.second) ? 1 : 0;
  const std::size_t listed = std::min(missing.count, MissingWorkers::kMost);
  for (WorkerKey key{0, 0}; missing.places.size() < listed;) {
    const auto worker = step.workers.find(key);
    if (worker == step.workers.end() || !whole.has(worker->second, key.second))
      missing.places.push_back({key.first, key.second, -1, {}});
    key = key.second + 1 < sizes.second ? WorkerKey{key.first, key.second + 1} : WorkerKey{key.first + 1, 0};
  }
  return missing;
}

std::string describe_missing(const OpenStep& step, const MissingWorkers& missing, const WorkerKey& sizes) {
  std::string names;
  const std::size_t named = std::min(missing.places.size(), kMostNamed);
  for (std::size_t i = 0; i < named; ++i) names += (i > 0 ? ", " : "") + describe(missing.places[i]);
  if (missing.count > named) names += fmt::format(" and {} more", missing.count - named);
  const bool any_rows = std::ranges::any_of(missing.places, [&](const WorkerPlace& place) {
    return step.workers.contains({place.dp_rank, place.stage});
  });
  return fmt::format("{2} rows arrived from {0} of {1} workers: {3}", missing.count,
                     static_cast<std::uint64_t>(sizes.first) * static_cast<std::uint64_t>(sizes.second),
                     any_rows ? "too few" : "no", names);
}

}  // namespace goodput
