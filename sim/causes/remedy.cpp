#include "sim/causes/remedy.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "sim/base/errors.h"
#include "sim/base/parallel.h"
#include "sim/base/statistics.h"
#include "sim/engine/timing.h"
#include "sim/whatif/replay_values.h"

namespace goodput {
namespace {

bool before(const Patch& a, const Patch& b) {
  return std::tuple(a.block, a.op, a.lane) < std::tuple(b.block, b.op, b.lane);
}

// Sorts the patches and keeps one per op instance: the shortest, because each patch is the duration that
// remains when one cause is gone.
void merge(std::vector<Patch>& patches) {
  std::ranges::sort(patches, [](const Patch& a, const Patch& b) {
    return std::tuple(a.block, a.op, a.lane, a.value_s) < std::tuple(b.block, b.op, b.lane, b.value_s);
  });
  const auto same = [](const Patch& a, const Patch& b) { return !before(a, b) && !before(b, a); };
  patches.erase(std::unique(patches.begin(), patches.end(), same), patches.end());
}

// The values of one block under a remedy.
class RemedyReplay final : public OpValues {
 public:
  // `patches`: of this block, by op.
  RemedyReplay(const AnalysedJob& job, const Remedy& remedy, std::size_t block_index,
               std::span<const Patch> patches)
      : job_(job),
        remedy_(remedy),
        block_index_(block_index),
        block_(job.recording.blocks[block_index]),
        patches_(patches),
        coverage_(remedy.ideal, block_, job.recording.ops.size(), Side::kInside) {}

  [[nodiscard]] lanes::Values value(OpId op, std::span<double> scratch) const override {
    if (remedy_.messages_take_no_time && job_.recording.is_message(op)) return {nullptr, 0};
    const double ideal = job_.result.ideal_values[op];
    if (coverage_.extent(op) == Coverage::Extent::kAll) return {nullptr, ideal};
    const double* row = changed_row(op, scratch);
    if (coverage_.extent(op) == Coverage::Extent::kNone) return {row, 0};
    if (row != scratch.data()) std::copy_n(row, scratch.size(), scratch.begin());
    put_ideal(op, ideal, scratch);
    return {scratch.data(), 0};
  }

 private:
  // The row without the ideal instances: in `scratch`, where it is not as recorded.
  const double* changed_row(OpId op, std::span<double> scratch) const {
    const auto recorded = block_.row(block_.value_s, op);
    const auto [first, last] = std::equal_range(patches_.begin(), patches_.end(), Patch{0, op, 0, 0},
                                                [](const Patch& a, const Patch& b) { return a.op < b.op; });
    const TraceOp& at = job_.recording.ops[op];
    const bool has_stage = !remedy_.stages.empty() && is_pass(at.type);
    const bool has_micro_batch =
        !remedy_.micro_batches.of_block.empty() && is_pass(at.type) && at.mb_id != kUnset;
    const std::int32_t worker_row = remedy_.workers.row_of_stage.empty() || !is_pass(at.type)
                                        ? -1
                                        : remedy_.workers.row_of_stage[static_cast<std::size_t>(at.stage)];
    if (first == last && !has_stage && !has_micro_batch && worker_row < 0) return recorded.data();
    std::ranges::copy(recorded, scratch.begin());
    for (auto patch = first; patch != last; ++patch) scratch[patch->lane] = patch->value_s;
    if (has_stage) {
      const PassFactors& factors = remedy_.stages[static_cast<std::size_t>(at.stage)];
      const double factor = at.type == OpType::kForwardCompute ? factors.forward : factors.backward;
      for (double& value : scratch) value *= factor;
    }
    if (has_micro_batch) {
      const double* factors = remedy_.micro_batches.of_block[block_index_].data() +
                              static_cast<std::size_t>(at.mb_id) * block_.shape.stride();
      for (std::size_t lane = 0; lane < scratch.size(); ++lane) scratch[lane] *= factors[lane];
    }
    if (worker_row >= 0) {
      const double* factors = remedy_.workers.of_block[block_index_].data() +
                              static_cast<std::size_t>(worker_row) * block_.shape.stride();
      for (std::size_t lane = 0; lane < scratch.size(); ++lane) scratch[lane] *= factors[lane];
    }
    return scratch.data();
  }

  void put_ideal(OpId op, double ideal, std::span<double> scratch) const {
    const unsigned char* mask = coverage_.mask(op);
    for (std::size_t lane = 0; lane < scratch.size(); ++lane) {
      if (mask[lane] != 0) scratch[lane] = ideal;
    }
  }

  const AnalysedJob& job_;
  const Remedy& remedy_;
  std::size_t block_index_;
  const StepBlock& block_;
  std::span<const Patch> patches_;
  Coverage coverage_;
};

bool changes_everywhere(const Remedy& remedy) {
  return !remedy.ideal.boxes.empty() || !remedy.stages.empty() || !remedy.micro_batches.of_block.empty() ||
         !remedy.workers.of_block.empty() || remedy.messages_take_no_time;
}

// Of one block. REQUIRES: they are sorted.
std::span<const Patch> patches_of(const Remedy& remedy, std::size_t block) {
  const auto [first, last] =
      std::equal_range(remedy.patches.begin(), remedy.patches.end(), Patch{block, 0, 0, 0},
                       [](const Patch& a, const Patch& b) { return a.block < b.block; });
  return {first, last};
}

}  // namespace

Remedy united(Remedy a, const Remedy& b) {
  GOODPUT_CHECK(a.stages.empty() || b.stages.empty(), "two remedies change the stage partition");
  GOODPUT_CHECK(a.micro_batches.of_block.empty() || b.micro_batches.of_block.empty(),
                "two remedies change the micro-batches");
  GOODPUT_CHECK(a.workers.of_block.empty() || b.workers.of_block.empty(), "two remedies change the workers");
  a.ideal.boxes.insert(a.ideal.boxes.end(), b.ideal.boxes.begin(), b.ideal.boxes.end());
  a.patches.insert(a.patches.end(), b.patches.begin(), b.patches.end());
  if (!b.stages.empty()) a.stages = b.stages;
  if (!b.micro_batches.of_block.empty()) a.micro_batches = b.micro_batches;
  if (!b.workers.of_block.empty()) a.workers = b.workers;
  a.messages_take_no_time |= b.messages_take_no_time;
  a.launches_at_once |= b.launches_at_once;
  return a;
}

std::vector<double> replay_with(const AnalysedJob& job, Remedy remedy) {
  merge(remedy.patches);
  std::vector<double> spans = job.result.nodelay.span_s;
  parallel_chunks(job.jobs, job.recording.blocks.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const StepBlock& block = job.recording.blocks[i];
      const std::span<const Patch> patches = patches_of(remedy, i);
      if (patches.empty() && !changes_everywhere(remedy)) continue;
      TimingEngine engine(job.graph, block.shape, {}, TimingEngine::Keep::kStepTimes);
      engine.propagate(RemedyReplay(job, remedy, i, patches));
      std::ranges::copy(engine.spans(), spans.begin() + static_cast<std::ptrdiff_t>(block.first_step));
    }
  });
  return spans;
}

Recording repaired(const AnalysedJob& job, Remedy remedy) {
  merge(remedy.patches);
  Recording recording = job.recording;
  recording.float32_times = false;
  parallel_chunks(job.jobs, recording.blocks.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      StepBlock& block = recording.blocks[i];
      TimingEngine engine(job.graph, block.shape, {}, TimingEngine::Keep::kAllTimes);
      engine.propagate(RemedyReplay(job, remedy, i, patches_of(remedy, i)));
      const std::size_t stride = block.shape.stride();
      for (OpId op = 0; op < recording.ops.size(); ++op) {
        const auto starts = engine.starts(op);
        const auto ends = engine.ends(op);
        for (std::size_t lane = 0; lane < block.shape.lanes(); ++lane) {
          block.start_s[op * stride + lane] = starts[lane];
          block.value_s[op * stride + lane] = ends[lane] - starts[lane];
        }
      }
    }
  });
  derive_times(recording, job.graph);
  return recording;
}

Gain gain_of(const AnalysedJob& job, Remedy remedy) {
  const double before_s = mean(remedy.launches_at_once ? job.result.base_s : job.result.nodelay.span_s);
  const double step_s = mean(replay_with(job, std::move(remedy)));
  return {step_s, before_s / step_s};
}

}  // namespace goodput
