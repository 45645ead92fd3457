#include "sim/causes/micro_batches.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace goodput {
namespace {

using Instance = std::tuple<std::size_t, OpId, std::size_t>;  // block, op, lane

// A row of lanes for each micro-batch of each block.
using BlockRows = std::vector<std::vector<double>>;

// Relative times of passes in one direction, summed over stages and chunks.
class RelativeTimes {
 public:
  RelativeTimes(const Recording& recording, const std::vector<Pause>& pauses, std::size_t micro_batches)
      : recording_(recording), micro_batches_(micro_batches) {
    for (const Pause& pause : pauses) {
      const Patch& patch = pause.expected;
      expected_[{patch.block, patch.op, patch.lane}] = patch.value_s;
    }
    for (const StepBlock& block : recording.blocks)
      rows_.emplace_back(micro_batches * block.shape.stride(), 0.0);
  }

  // `passes`: of one stage and chunk, one a micro-batch.
  void add(const std::vector<OpId>& passes) {
    for (std::size_t dp = 0; dp < static_cast<std::size_t>(recording_.dp_size); ++dp) {
      const double of_worker = micro_batches_ == 1 ? mean_of_worker(passes, dp) : 0;
      for (std::size_t i = 0; i < recording_.blocks.size(); ++i) {
        for (std::size_t step = 0; step < recording_.blocks[i].shape.steps; ++step) {
          add_lane(i, recording_.blocks[i].shape.lane(step, dp), passes, of_worker);
        }
      }
    }
    ++summed_;
  }

  // The mean over what was added.
  [[nodiscard]] double at(std::size_t block, std::size_t micro_batch, std::size_t lane) const {
    return rows_[block][micro_batch * recording_.blocks[block].shape.stride() + lane] /
           static_cast<double>(summed_);
  }

 private:
  [[nodiscard]] double value(std::size_t block_index, OpId op, std::size_t lane) const {
    const auto expected = expected_.empty() ? expected_.end() : expected_.find({block_index, op, lane});
    if (expected != expected_.end()) return expected->second;
    const StepBlock& block = recording_.blocks[block_index];
    return block.row(block.value_s, op)[lane];
  }

  [[nodiscard]] double mean_of_worker(const std::vector<OpId>& passes, std::size_t dp) const {
    double sum = 0;
    for (std::size_t i = 0; i < recording_.blocks.size(); ++i) {
      const LaneShape& shape = recording_.blocks[i].shape;
      for (std::size_t step = 0; step < shape.steps; ++step) {
        for (const OpId op : passes) sum += value(i, op, shape.lane(step, dp));
      }
    }
    return sum / static_cast<double>(passes.size() * recording_.steps.size());
  }

  void add_lane(std::size_t block, std::size_t lane, const std::vector<OpId>& passes, double usual) {
    if (!(usual > 0)) {
      usual = 0;
      for (const OpId op : passes) usual += value(block, op, lane);
      usual /= static_cast<double>(passes.size());
    }
    const std::size_t stride = recording_.blocks[block].shape.stride();
    for (const OpId op : passes) {
      const auto micro_batch = static_cast<std::size_t>(recording_.ops[op].mb_id);
      rows_[block][micro_batch * stride + lane] += usual > 0 ? value(block, op, lane) / usual : 1;
    }
  }

  const Recording& recording_;
  std::size_t micro_batches_;
  std::map<Instance, double> expected_;
  BlockRows rows_;
  std::size_t summed_ = 0;
};

// Moments of pairs with mean 1.
struct PairMoments {
  double ff = 0;
  double bb = 0;
  double fb = 0;
  std::size_t count = 0;

  void add(double f, double b) {
    ff += (f - 1) * (f - 1);
    bb += (b - 1) * (b - 1);
    fb += (f - 1) * (b - 1);
    ++count;
  }
};

// What makes the work of all micro-batches of a step the same: `work` is a lane's part of the step times the
// micro-batch's part of the lane.
MicroBatchFactors balance(const Recording& recording, const RelativeTimes& forwards,
                          const RelativeTimes& backwards, std::size_t micro_batches, const Pace& pace) {
  const bool is_one = micro_batches == 1;
  // What is slow in all steps is slow for another reason.
  const auto lane_work = [&](std::size_t step, std::size_t dp) {
    if (is_one) return 1.0;  // the forwards and backwards say it
    const bool has_replicas = pace.own.stages() > 1;
    const double now =
        has_replicas ? pace.replica_step[dp * recording.steps.size() + step] : pace.own.steps_of(dp, 0)[step];
    const PeerPace& peer = has_replicas ? pace.replica[dp] : pace.worker[dp];
    return peer.is_slow(0) ? now / peer.mean : now;
  };
  MicroBatchFactors factors;
  for (std::size_t i = 0; i < recording.blocks.size(); ++i) {
    const StepBlock& block = recording.blocks[i];
    std::vector<double> rows(micro_batches * block.shape.stride(), 1.0);
    for (std::size_t step = 0; step < block.shape.steps; ++step) {
      double sum = 0;
      for (std::size_t dp = 0; dp < block.shape.replicas; ++dp) {
        const std::size_t lane = block.shape.lane(step, dp);
        for (std::size_t mb = 0; mb < micro_batches; ++mb) {
          const double work = lane_work(block.first_step + step, dp) *
                              (forwards.at(i, mb, lane) + backwards.at(i, mb, lane)) / 2;
          rows[mb * block.shape.stride() + lane] = work;
          sum += work;
        }
      }
      const double even = sum / static_cast<double>(block.shape.replicas * micro_batches);
      for (std::size_t dp = 0; dp < block.shape.replicas; ++dp) {
        for (std::size_t mb = 0; mb < micro_batches; ++mb) {
          double& factor = rows[mb * block.shape.stride() + block.shape.lane(step, dp)];
          factor = factor > 0 ? even / factor : 1;
        }
      }
    }
    factors.of_block.push_back(std::move(rows));
  }
  return factors;
}

}  // namespace

std::optional<MicroBatchWork> measure_micro_batches(const Recording& recording,
                                                    const std::vector<PassPair>& pairs,
                                                    const std::vector<Pause>& pauses, const Pace& pace) {
  if (pairs.empty()) return std::nullopt;
  std::map<std::pair<std::int16_t, std::int16_t>, std::pair<std::vector<OpId>, std::vector<OpId>>> chunks;
  std::size_t micro_batches = 0;
  for (const PassPair& pair : pairs) {
    auto& [forwards, backwards] = chunks[{pair.stage, pair.mc}];
    forwards.push_back(pair.forward);
    backwards.push_back(pair.backward);
    micro_batches = std::max(micro_batches, static_cast<std::size_t>(recording.ops[pair.forward].mb_id) + 1);
  }
  // Every chunk works on every micro-batch, or the passes of chunks cannot be added up.
  for (const auto& [chunk, passes] : chunks) {
    if (passes.first.size() != micro_batches) return std::nullopt;
  }
  RelativeTimes forwards(recording, pauses, micro_batches);
  RelativeTimes backwards(recording, pauses, micro_batches);
  for (const auto& [chunk, passes] : chunks) {
    forwards.add(passes.first);
    backwards.add(passes.second);
  }
  PairMoments moments;
  for (std::size_t i = 0; i < recording.blocks.size(); ++i) {
    for (std::size_t lane = 0; lane < recording.blocks[i].shape.lanes(); ++lane) {
      for (std::size_t mb = 0; mb < micro_batches; ++mb)
        moments.add(forwards.at(i, mb, lane), backwards.at(i, mb, lane));
    }
  }
  if (!(moments.ff > 0) || !(moments.bb > 0)) return std::nullopt;
  return MicroBatchWork{moments.fb / std::sqrt(moments.ff * moments.bb),
                        std::sqrt(moments.ff / static_cast<double>(moments.count)), moments.count,
                        balance(recording, forwards, backwards, micro_batches, pace)};
}

}  // namespace goodput
