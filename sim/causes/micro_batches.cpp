#include "sim/causes/micro_batches.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace goodput {
namespace {

constexpr double kHardlyChance = 3;  // standard errors of a mean; fewer than a named cause needs

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

// The work of a lane relative to the other lanes. If a replica is slower than the median one on average over
// the steps, and hardly by chance, it has another reason than its sequences, so its mean is divided out.
class LaneWork {
 public:
  explicit LaneWork(const PassPace& pace) : pace_(pace), has_stages_(pace.own.stages() > 1) {
    const std::vector<PeerPace>& peers = has_stages_ ? pace.replica : pace.worker;
    std::vector<double> means;
    for (const PeerPace& peer : peers) means.push_back(peer.mean);
    const auto middle = means.begin() + static_cast<std::ptrdiff_t>((means.size() - 1) / 2);
    std::nth_element(means.begin(), middle, means.end());
    for (const PeerPace& peer : peers) {
      const PeerPace against{peer.mean / *middle, peer.error};
      slower_.push_back(against.is_slow(0, kHardlyChance) ? against.mean : 1);
    }
  }

  [[nodiscard]] double of(std::size_t dp_rank, std::size_t step) const {
    const double now = has_stages_ ? pace_.replica_step[dp_rank * pace_.own.steps() + step]
                                   : pace_.own.steps_of(dp_rank, 0)[step];
    return now / slower_[dp_rank];
  }

 private:
  const PassPace& pace_;
  bool has_stages_;
  std::vector<double> slower_;  // by replica
};

// Work of the micro-batches of one step of a block to the factors that make it the same.
void even_out(std::vector<double>& rows, const LaneShape& shape, std::size_t step) {
  const std::size_t micro_batches = rows.size() / shape.stride();
  double sum = 0;
  const auto for_each = [&](auto visit) {
    for (std::size_t dp = 0; dp < shape.replicas; ++dp) {
      for (std::size_t mb = 0; mb < micro_batches; ++mb)
        visit(rows[mb * shape.stride() + shape.lane(step, dp)]);
    }
  };
  for_each([&](double work) { sum += work; });
  const double even = sum / static_cast<double>(shape.replicas * micro_batches);
  for_each([&](double& work) { work = work > 0 ? even / work : 1; });
}

// The work of a micro-batch is its lane's part of the step times its part of the lane.
MicroBatchFactors balance(const Recording& recording, const RelativeTimes& forwards,
                          const RelativeTimes& backwards, std::size_t micro_batches, const PassPace& pace) {
  MicroBatchFactors factors;
  const LaneWork work(pace);
  for (std::size_t i = 0; i < recording.blocks.size(); ++i) {
    const StepBlock& block = recording.blocks[i];
    std::vector<double> rows(micro_batches * block.shape.stride(), 1.0);
    for (std::size_t step = 0; step < block.shape.steps; ++step) {
      for (std::size_t dp = 0; dp < block.shape.replicas; ++dp) {
        const std::size_t lane = block.shape.lane(step, dp);
        // Of one micro-batch its passes say it, against those of other steps.
        const double of_lane = micro_batches == 1 ? 1 : work.of(dp, block.first_step + step);
        for (std::size_t mb = 0; mb < micro_batches; ++mb) {
          rows[mb * block.shape.stride() + lane] =
              of_lane * (forwards.at(i, mb, lane) + backwards.at(i, mb, lane)) / 2;
        }
      }
      even_out(rows, block.shape, step);
    }
    factors.of_block.push_back(std::move(rows));
  }
  return factors;
}

// The passes of a stage and chunk, one a micro-batch.
struct ChunkPasses {
  std::vector<OpId> forwards;
  std::vector<OpId> backwards;
};

std::vector<ChunkPasses> passes_by_chunk(const std::vector<PassPair>& pairs) {
  std::map<std::pair<std::int16_t, std::int16_t>, ChunkPasses> chunks;
  for (const PassPair& pair : pairs) {
    ChunkPasses& chunk = chunks[{pair.stage, pair.mc}];
    chunk.forwards.push_back(pair.forward);
    chunk.backwards.push_back(pair.backward);
  }
  std::vector<ChunkPasses> result;
  for (auto& [place, chunk] : chunks) result.push_back(std::move(chunk));
  return result;
}

}  // namespace

std::optional<MicroBatchWork> measure_micro_batches(const Recording& recording,
                                                    const std::vector<PassPair>& pairs,
                                                    const std::vector<Pause>& pauses, const PassPace& pace) {
  const std::vector<ChunkPasses> chunks = passes_by_chunk(pairs);
  std::size_t micro_batches = 0;
  for (const PassPair& pair : pairs)
    micro_batches = std::max(micro_batches, static_cast<std::size_t>(recording.ops[pair.forward].mb_id) + 1);
  // Every chunk works on every micro-batch, or passes of chunks could not be added up.
  const bool are_whole = std::ranges::all_of(
      chunks, [&](const ChunkPasses& chunk) { return chunk.forwards.size() == micro_batches; });
  if (chunks.empty() || !are_whole) return std::nullopt;
  RelativeTimes forwards(recording, pauses, micro_batches);
  RelativeTimes backwards(recording, pauses, micro_batches);
  for (const ChunkPasses& chunk : chunks) {
    forwards.add(chunk.forwards);
    backwards.add(chunk.backwards);
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
