// V-half (Qi et al., "Pipeline Parallelism with Controllable Memory", 2024, arXiv 2405.15362): a V of two
// chunks per stage that keeps half the activations of 1F1B, at most (p+2)/2 micro-batches of a stage, rounded
// down.
//
// The paper repeats one building block per micro-batch, every six units of time: one unit per pass.
// Activations live from a forward to the weight pass of the same chunk, so the delays between stages decide
// how many are alive. Here each stage follows its predecessor in the pipeline by 2 units (forwards down the
// V), 1 (forwards up), 2 (backwards down) and 1 (backwards up). Six units in all mean about p chunks alive,
// which are p/2 micro-batches of a stage. From stage to stage chunk 0 lives 3 units shorter and chunk 1 3
// units longer, so that all stages need the same. How the six units are divided, the offsets at the turns and
// the slots of the weight passes are ours: they keep the passes of a stage apart, and the peak at the paper's
// figure.
//
// Stages run the repeated blocks with passes of one unit. A stage that would have to wait takes the next
// forward or backward that is ready and does not raise its peak, or else the next weight pass. After the last
// forward of chunk 0 weight passes always come last, where they fill the gaps.
//
// Step with f = b = w, free messages, m > p > 1: 6m f + (3p-4) f for odd p and 6m f + (3p-5) f for even p.
// The paper gives a bubble of about p/(2m), that is 3p f.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "models/schedule/v_shape.h"

namespace goodput {
namespace {

constexpr std::int64_t kInterval = 6;  // units per micro-batch: one per pass

struct BlockPass {
  Pass::Kind kind;
  std::int16_t chunk;
};
constexpr std::array<BlockPass, 6> kBlock = {{{Pass::Kind::kForward, 0},
                                              {Pass::Kind::kForward, 1},
                                              {Pass::Kind::kBackward, 1},
                                              {Pass::Kind::kBackward, 0},
                                              {Pass::Kind::kBackwardWeight, 1},
                                              {Pass::Kind::kBackwardWeight, 0}}};
using BlockTimes = std::array<std::int64_t, kBlock.size()>;   // of micro-batch 0
using BlockCounts = std::array<std::int32_t, kBlock.size()>;  // passes that have run

// The first time from `after` on that is `slot` in its interval.
std::int64_t next_in_slot(std::int64_t after, std::int64_t slot) {
  return after + (slot - after % kInterval + kInterval) % kInterval;
}

// When a stage runs the passes of the building block.
BlockTimes block_times(std::int64_t stages, std::int64_t stage) {
  const bool is_odd = stages % 2 != 0;
  const std::int64_t leg = stages - 1;
  const std::int64_t second_forward = 3 * leg + (is_odd ? 2 : 4);  // on stage 0, down and back up
  const std::int64_t first_backward = second_forward + 1;          // the same
  const std::int64_t second_backward = first_backward + 3 * leg + (is_odd ? 1 : 5);
  BlockTimes times = {2 * stage, second_forward - stage, first_backward + 2 * stage, second_backward - stage};
  std::array<std::int64_t, 2> free{};
  std::size_t found = 0;
  for (std::int64_t slot = 0; slot < kInterval; ++slot) {
    const bool is_taken = std::any_of(times.begin(), times.begin() + 4,
                                      [&](std::int64_t time) { return time % kInterval == slot; });
    if (is_taken) continue;
    GOODPUT_CHECK(found < free.size(), "passes of a building block must not share a slot");
    free[found++] = slot;
  }
  // Gradients of weights take the slots that are left, so that activations live as short as possible.
  const std::array<std::int64_t, 2> straight = {next_in_slot(times[2], free[0]),
                                                next_in_slot(times[3], free[1])};
  const std::array<std::int64_t, 2> crossed = {next_in_slot(times[2], free[1]),
                                               next_in_slot(times[3], free[0])};
  const bool cross = crossed[0] + crossed[1] < straight[0] + straight[1];
  std::copy_n(cross ? crossed.begin() : straight.begin(), 2, times.begin() + 4);
  return times;
}

class VHalfStages {
 public:
  explicit VHalfStages(const ScheduleShape& shape)
      : shape_(shape),
        most_alive_(2 * ((shape.stages + 2) / 2)),
        stages_(static_cast<std::size_t>(shape.stages)) {
    for (std::int32_t stage = 0; stage < shape.stages; ++stage)
      stages_[static_cast<std::size_t>(stage)].times = block_times(shape.stages, stage);
  }

  // Unit by unit, until all passes have run.
  std::vector<std::vector<Pass>> list() && {
    std::vector<std::vector<Pass>> passes(stages_.size());
    const std::size_t each = kBlock.size() * static_cast<std::size_t>(shape_.micro_batches);
    std::size_t left = each * stages_.size();
    std::vector<std::optional<std::size_t>> chosen(stages_.size());
    while (left > 0) {
      const std::size_t before = left;
      for (std::size_t stage = 0; stage < stages_.size(); ++stage)
        chosen[stage] = stages_[stage].has_news ? choose(stage) : std::nullopt;
      for (Stage& stage : stages_) stage.has_news = false;
      for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        if (!chosen[stage]) continue;
        for (std::size_t near = stage - std::min<std::size_t>(stage, 1); near <= stage + 1; ++near) {
          if (near < stages_.size()) stages_[near].has_news = true;
        }
        const BlockPass& pass = kBlock[*chosen[stage]];
        passes[stage].push_back({pass.kind, pass.chunk, stages_[stage].ran[*chosen[stage]]++,
                                 pass.kind == Pass::Kind::kBackward});
        --left;
      }
      GOODPUT_CHECK(left < before, "the pass that comes first in the repeated blocks must be ready");
    }
    return passes;
  }

 private:
  enum Index : std::size_t { kForward0, kForward1, kBackward1, kBackward0, kWeight1, kWeight0 };

  struct Stage {
    BlockTimes times{};
    BlockCounts ran{};
    bool has_news = true;  // this stage or a neighbor ran a pass in the unit before; if not, it still waits
  };

  [[nodiscard]] bool is_left(const BlockCounts& ran, std::size_t pass) const {
    return ran[pass] < shape_.micro_batches;
  }
  // In the repeated blocks.
  static std::int64_t next_time(const Stage& stage, const BlockCounts& ran, std::size_t pass) {
    return stage.times[pass] + kInterval * ran[pass];
  }

  // The pass to run, if any can.
  [[nodiscard]] std::optional<std::size_t> choose(std::size_t stage) const {
    const Stage& own = stages_[stage];
    std::array<std::size_t, kBlock.size()> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return next_time(own, own.ran, a) < next_time(own, own.ran, b);
    });
    const auto can_run = [&](std::size_t pass) { return is_left(own.ran, pass) && is_ready(stage, pass); };
    const auto first =
        std::find_if(order.begin(), order.end(), [&](std::size_t pass) { return is_left(own.ran, pass); });
    if (first == order.end()) return std::nullopt;
    if (is_left(own.ran, kForward0) && is_ready(stage, *first)) return *first;
    for (const std::size_t pass : order) {
      if (pass < kWeight1 && can_run(pass) && has_room(own, pass)) return pass;
    }
    const auto weight = std::find_if(order.begin(), order.end(),
                                     [&](std::size_t pass) { return pass >= kWeight1 && can_run(pass); });
    return weight == order.end() ? std::nullopt : std::optional(*weight);
  }

  [[nodiscard]] bool is_ready(std::size_t stage, std::size_t pass) const {
    const BlockCounts& own = stages_[stage].ran;
    const bool is_last_stage = stage + 1 == stages_.size();
    switch (pass) {
      case kForward0:
        return stage == 0 || stages_[stage - 1].ran[kForward0] > own[pass];
      case kForward1:
        return (is_last_stage ? own[kForward0] : stages_[stage + 1].ran[kForward1]) > own[pass];
      case kBackward1:
        return own[kForward1] > own[pass] && (stage == 0 || stages_[stage - 1].ran[kBackward1] > own[pass]);
      case kBackward0:
        return (is_last_stage ? own[kBackward1] : stages_[stage + 1].ran[kBackward0]) > own[pass];
      case kWeight1:
        return own[kBackward1] > own[pass];
      default:
        return own[kBackward0] > own[pass];
    }
  }

  // Whether a stage that runs `pass` now and then the rest as the repeated blocks have it stays below its
  // peak.
  [[nodiscard]] bool has_room(const Stage& stage, std::size_t pass) const {
    if (kBlock[pass].kind != Pass::Kind::kForward) return true;
    const std::int64_t time = next_time(stage, stage.ran, pass);
    BlockCounts ran = stage.ran;
    std::int32_t alive = ran[kForward0] + ran[kForward1] - ran[kWeight0] - ran[kWeight1];
    while (alive < most_alive_) {
      std::optional<std::size_t> next;
      for (const std::size_t other : {kForward0, kForward1, kWeight1, kWeight0}) {
        const std::int64_t at = next_time(stage, ran, other);
        if (is_left(ran, other) && at < time && (!next || at < next_time(stage, ran, *next))) next = other;
      }
      if (!next) return true;
      ++ran[*next];
      alive += kBlock[*next].kind == Pass::Kind::kForward ? 1 : -1;
    }
    return false;
  }

  ScheduleShape shape_;
  std::int32_t most_alive_;  // forwards of both chunks
  std::vector<Stage> stages_;
};

class VHalf final : public VShapedSchedule {
 public:
  VHalf() : VShapedSchedule("v-half") {}

  [[nodiscard]] std::vector<Pass> passes(const ScheduleShape& shape, std::int32_t stage) const override {
    return std::move(all_passes(shape)[static_cast<std::size_t>(stage)]);
  }
  [[nodiscard]] std::vector<std::vector<Pass>> all_passes(const ScheduleShape& shape) const override {
    return VHalfStages(shape).list();
  }
};

}  // namespace

ScheduleInfo schedule_v_half() {
  static const VHalf schedule;
  return {"v-half", "two chunks per stage in a V; takes half the activation memory of 1F1B", schedule};
}

}  // namespace goodput
