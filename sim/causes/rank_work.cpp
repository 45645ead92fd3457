#include "sim/causes/rank_work.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/statistics.h"

namespace goodput {
namespace {

// Work in seconds, by worker and step.
using WorkTable = std::vector<std::vector<double>>;

bool is_work(const Recording& recording, OpId op) {
  const OpClass op_class = recording.types[recording.ops[op].type].op_class;
  return op_class == OpClass::kCompute || op_class == OpClass::kHost;
}

// Counts the ops of one type, or all work if `type` is empty.
WorkTable work_of(const Recording& recording, const std::optional<OpType>& type) {
  WorkTable work(recording.ranks.size(), std::vector<double>(recording.steps.size()));
  const auto stages = static_cast<std::size_t>(recording.pp_size);
  for (OpId op = 0; op < recording.ops.size(); ++op) {
    if (!is_work(recording, op) || (type && recording.ops[op].type != *type)) continue;
    const auto stage = static_cast<std::size_t>(recording.ops[op].stage);
    for (const StepBlock& block : recording.blocks) {
      const auto values = block.row(block.value_s, op);
      for (std::size_t dp = 0; dp < block.shape.replicas; ++dp) {
        for (std::size_t step = 0; step < block.shape.steps; ++step)
          work[dp * stages + stage][block.first_step + step] += values[block.shape.lane(step, dp)];
      }
    }
  }
  return work;
}

std::map<OpType, WorkTable> work_by_type(const Recording& recording) {
  std::map<OpType, WorkTable> by_type;
  for (OpId op = 0; op < recording.ops.size(); ++op) {
    const OpType type = recording.ops[op].type;
    if (is_work(recording, op) && !by_type.contains(type)) by_type.emplace(type, work_of(recording, type));
  }
  return by_type;
}

std::vector<std::size_t> peers_of(const Recording& recording, std::size_t worker) {
  std::vector<std::size_t> peers;
  for (std::size_t other = 0; other < recording.ranks.size(); ++other) {
    const bool is_alike =
        recording.stages_are_alike || recording.worker(other).stage == recording.worker(worker).stage;
    if (other != worker && is_alike) peers.push_back(other);
  }
  return peers;
}

double median_of(std::vector<double> values) {
  return take_median(values);
}

// By step: how much longer a worker works than the median of its peers. REQUIRES: peers.
std::vector<double> extra_by_step(const WorkTable& work, std::size_t worker,
                                  const std::vector<std::size_t>& peers) {
  std::vector<double> extra;
  std::vector<double> of_peers(peers.size());
  for (std::size_t step = 0; step < work[worker].size(); ++step) {
    std::ranges::transform(peers, of_peers.begin(), [&](std::size_t peer) { return work[peer][step]; });
    extra.push_back(work[worker][step] - median_of(of_peers));
  }
  return extra;
}

// A robust standard deviation, from the distances to the median.
double scatter_of(std::vector<double> values) {
  const double middle = median_of(values);
  for (double& value : values) value = std::abs(value - middle);
  return kDeviationOfMedian * take_median(values);
}

// How much peers differ, each step against its own median.
double scatter_of_peers(const WorkTable& work, const std::vector<std::size_t>& peers) {
  std::vector<double> apart;
  std::vector<double> of_step(peers.size());
  for (std::size_t step = 0; step < work.front().size(); ++step) {
    std::ranges::transform(peers, of_step.begin(), [&](std::size_t peer) { return work[peer][step]; });
    const double middle = median_of(of_step);
    for (const double value : of_step) apart.push_back(value - middle);
  }
  return scatter_of(std::move(apart));
}

// Finds the op type with most of a worker's extra work.
void find_op_type(const Recording& recording, const std::map<OpType, WorkTable>& by_type,
                  const std::vector<std::size_t>& peers, RankWork::SlowRank& slow) {
  double most = 0;
  for (const auto& [type, work] : by_type) {
    const double extra = mean(extra_by_step(work, slow.worker, peers));
    if (extra <= most) continue;
    most = extra;
    slow.op_type = recording.types[type].label;
    slow.op_type_share = extra / slow.extra_s;
  }
}

}  // namespace

RankWork measure_rank_work(const Recording& recording) {
  RankWork result;
  const WorkTable work = work_of(recording, std::nullopt);
  std::map<OpType, WorkTable> by_type;
  for (std::size_t worker = 0; worker < recording.ranks.size(); ++worker) {
    const std::vector<std::size_t> peers = peers_of(recording, worker);
    if (peers.empty()) {
      result.extra_s.emplace_back();
      continue;
    }
    const std::vector<double> extra = extra_by_step(work, worker, peers);
    result.extra_s.emplace_back(mean(extra));
    std::vector<double> share = extra;
    for (std::size_t step = 0; step < share.size(); ++step) share[step] /= recording.step_base_s[step];
    const double scatter = std::hypot(scatter_of_peers(work, peers), scatter_of(extra));
    const bool is_slow = median_of(share) >= kSlowShare && median_of(extra) > kSlowScatter * scatter;
    if (!is_slow) continue;
    if (by_type.empty()) by_type = work_by_type(recording);
    result.slow.push_back({worker, *result.extra_s.back(), {}, 0});
    find_op_type(recording, by_type, peers, result.slow.back());
  }
  std::ranges::stable_sort(result.slow, [](const auto& a, const auto& b) { return a.extra_s > b.extra_s; });
  return result;
}

}  // namespace goodput
