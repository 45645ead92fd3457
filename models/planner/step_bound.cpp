#include "models/planner/step_bound.h"

#include <algorithm>
#include <map>
#include <utility>

namespace goodput {
namespace {

using CostKind = OpCost::Kind;

// Indices of the first and the last backward of a stage.
std::pair<std::size_t, std::size_t> ends_of_backwards(const std::vector<Pass>& passes) {
  const auto is_backward = [](const Pass& pass) { return pass.kind == Pass::Kind::kBackward; };
  const auto first = std::find_if(passes.begin(), passes.end(), is_backward);
  const auto last = std::find_if(passes.rbegin(), passes.rend(), is_backward);
  return {static_cast<std::size_t>(first - passes.begin()),
          static_cast<std::size_t>(passes.rend() - last) - 1};
}

}  // namespace

// Moments before which something cannot be, in nanoseconds.
struct StepBound::Times {
  std::span<const double> values;
  std::vector<double> first_forward;   // starts; by pipeline and position
  std::vector<double> first_backward;  // starts; the same
  std::vector<double> last_backward;   // ends; the same
  std::vector<double> passes;          // end; by stage

  [[nodiscard]] double sum(const std::vector<Work>& work, std::int32_t Work::*count) const {
    double sum = 0;
    for (const Work& of_entry : work) sum += of_entry.*count * values[of_entry.entry];
    return sum;
  }
};

StepBound::StepBound(const PipelineSchedule& schedule, const ScheduleShape& shape)
    : layout_(schedule, shape) {
  place_of_.resize(static_cast<std::size_t>(shape.stages) * static_cast<std::size_t>(schedule.chunks(shape)));
  const std::vector<std::vector<Pass>> passes = schedule.all_passes(shape);
  for (std::int32_t stage = 0; stage < shape.stages; ++stage) {
    stages_.push_back(stage_of(schedule, shape, stage, passes[static_cast<std::size_t>(stage)]));
    const std::vector<Chunk>& chunks = stages_.back().chunks;
    for (std::size_t i = 0; i < chunks.size(); ++i)
      place_of_[index(chunks[i])] = {static_cast<std::size_t>(stage), i};
  }
}

StepBound::Stage StepBound::stage_of(const PipelineSchedule& schedule, const ScheduleShape& shape,
                                     std::int32_t number, const std::vector<Pass>& passes) const {
  Stage stage;
  for (std::int32_t i = 0; i < schedule.chunks(shape); ++i) {
    const ChunkPlace place = schedule.place(shape, number, i);
    stage.chunks.push_back({place.pipeline, place.position, layout_.entry_of(Pass{}, place.position)});
  }
  const auto chunk_of = [&](std::size_t pass) -> Chunk& {
    return stage.chunks[static_cast<std::size_t>(passes[pass].chunk)];
  };
  const auto entry_of = [&](std::size_t pass) {
    return layout_.entry_of(passes[pass], chunk_of(pass).position);
  };
  const auto [first, last] = ends_of_backwards(passes);
  stage.first = static_cast<std::size_t>(passes.front().chunk);
  stage.first_backward = static_cast<std::size_t>(passes[first].chunk);
  stage.last_backward = static_cast<std::size_t>(passes[last].chunk);
  std::map<std::size_t, Work> work;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    if (passes[i].kind == Pass::Kind::kBackward) chunk_of(i).last_backward = entry_of(i);
    std::size_t end = i;  // of two that run in turn: the second
    std::size_t entry = entry_of(i);
    if (passes[i].overlaps_next) {
      end = i + 1;
      chunk_of(end).last_backward = entry_of(end);
      entry =
          layout_.entry_of_pair(chunk_of(i).position, chunk_of(end).position) + StepLayout::kLongestOfPair;
    }
    Work& together = work[entry];
    ++together.all;
    if (end < first) ++together.to_first_backward;
    if (i >= first) ++together.from_first_backward;
    if (end < last || (end == last && end == i)) ++together.to_last_backward;
    if (i > last) ++together.after_last_backward;
    // Of a pair that it ends a backward waits for what is in front, and takes as long as by itself.
    if (end > i && end == first) ++work[entry_of(end)].from_first_backward;
    if (end > i && end == last) ++work[entry_of(end)].to_last_backward;
    i = end;
  }
  for (std::size_t i = passes.size(); i-- > 0;) {
    if (passes[i].kind == Pass::Kind::kBackward) chunk_of(i).first_backward = entry_of(i);
  }
  for (auto& [entry, counted] : work) {
    counted.entry = entry;
    stage.work.push_back(counted);
  }
  return stage;
}

// Down the pipeline, each behind the parameters of its stage, which are gathered chunk by chunk.
void StepBound::find_first_forwards(Times& times, const megatron::StepFeatures& features) const {
  times.first_forward.assign(place_of_.size(), 0);
  for (std::size_t i = 0; i < place_of_.size(); ++i) {
    const auto [stage, number] = place_of_[i];
    const std::vector<Chunk>& chunks = stages_[stage].chunks;
    double& start = times.first_forward[i];
    for (std::size_t other = 0; features.gathers_params && other <= number; ++other)
      start += times.values[layout_.entry_of({CostKind::kParamsGather, chunks[other].position})];
    const std::int32_t position = chunks[number].position;
    if (position == 0) continue;
    const auto [stage_before, chunk_before] = place_of_[i - 1];
    const double arrives = times.first_forward[i - 1] +
                           times.values[stages_[stage_before].chunks[chunk_before].forward] +
                           times.values[layout_.entry_of({CostKind::kSendOnward, position - 1})];
    start = std::max(start, arrives);
  }
}

// Back up the pipeline.
void StepBound::find_backwards(Times& times) const {
  times.first_backward.assign(place_of_.size(), 0);
  times.last_backward.assign(place_of_.size(), 0);
  for (std::size_t i = place_of_.size(); i-- > 0;) {
    const auto [stage_number, number] = place_of_[i];
    const Stage& stage = stages_[stage_number];
    const Chunk& chunk = stage.chunks[number];
    const double begins = times.first_forward[index(stage.chunks[stage.first])];
    double& first = times.first_backward[i];
    double& last = times.last_backward[i];
    if (chunk.position + 1 == layout_.positions()) {
      first = times.first_forward[i] + times.values[chunk.forward];
    } else {
      const auto [stage_after, chunk_after] = place_of_[i + 1];
      const Chunk& after = stages_[stage_after].chunks[chunk_after];
      const double sends = times.values[layout_.entry_of({CostKind::kSendOnward, chunk.position})];
      first = times.first_backward[i + 1] + times.values[after.first_backward] + sends;
      last = times.last_backward[i + 1] + sends + times.values[chunk.last_backward];
    }
    if (number == stage.first_backward)
      first = std::max(first, begins + times.sum(stage.work, &Work::to_first_backward));
    if (number == stage.last_backward)
      last = std::max(last, begins + times.sum(stage.work, &Work::to_last_backward));
  }
  for (const Stage& stage : stages_) {
    const double begins = times.first_forward[index(stage.chunks[stage.first])];
    const double first = times.first_backward[index(stage.chunks[stage.first_backward])];
    const double last = times.last_backward[index(stage.chunks[stage.last_backward])];
    times.passes.push_back(std::max({begins + times.sum(stage.work, &Work::all),
                                     first + times.sum(stage.work, &Work::from_first_backward),
                                     last + times.sum(stage.work, &Work::after_last_backward)}));
  }
}

// When the stage is ready to clip its gradients, but for the embedding.
double StepBound::reductions_end(std::size_t number, const Times& times,
                                 const megatron::StepFeatures& features) const {
  const std::vector<Chunk>& chunks = stages_[number].chunks;
  const auto reduction = [&](const Chunk& chunk) {
    return times.values[layout_.entry_of({CostKind::kGradientReduction, chunk.position})];
  };
  const double layernorm =
      times.values[layout_.entry_of({CostKind::kLayernormReduction, static_cast<std::int32_t>(number)})];
  double end = times.passes[number];
  if (!features.overlaps_reduction) {
    for (const Chunk& chunk : chunks) end += features.reduces_gradients ? reduction(chunk) : 0;
    return end + layernorm;
  }
  double reduced = 0;
  for (std::size_t i = chunks.size(); i-- > 0;)
    reduced = std::max(reduced, times.last_backward[index(chunks[i])]) + reduction(chunks[i]);
  const double separate = times.values[layout_.entry_of({CostKind::kSeparateReduction})];
  return std::max(end, reduced) + layernorm + separate;
}

double StepBound::step(std::span<const double> values, const megatron::StepFeatures& features) const {
  Times times{.values = values, .first_forward = {}, .first_backward = {}, .last_backward = {}, .passes = {}};
  find_first_forwards(times, features);
  find_backwards(times);
  double reduced = 0;
  double rest = 0;
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    const auto number = static_cast<std::int32_t>(stage);
    const bool has_embedding = features.reduces_embedding && (stage == 0 || stage + 1 == stages_.size());
    const double embedding = has_embedding ? values[layout_.entry_of({CostKind::kEmbeddingReduction})] : 0;
    reduced = std::max(reduced, reductions_end(stage, times, features) + embedding);
    rest = std::max(rest, values[layout_.entry_of({CostKind::kClip, number})] +
                              values[layout_.entry_of({CostKind::kOptimizer, number})]);
  }
  return reduced + rest;
}

}  // namespace goodput
