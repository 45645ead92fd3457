// The ranks of a job side by side: which steps all of them have, and which ranks do the same work.
//
// Ranks that exchange messages with each other, directly or through others, form a lane; the k-th rank of
// every lane is in slot k. In a pipeline a lane is a replica and a slot a stage. A job without messages has
// one slot, and every rank is a lane. Ranks of a slot run the same program: their tracks are cut at the same
// places in every step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/number_ranges.h"
#include "sim/ops/cleaning_finding.h"
#include "sim/ops/rank_activity.h"

namespace goodput {

// A part that every rank of a slot has in every step.
struct SlotPart {
  std::uint32_t cut = 0;  // of the slot: where it is launched
  std::uint32_t at = 0;   // of the parts launched there
};

struct RankSlot {
  std::vector<std::uint32_t> ranks;  // by lane
  std::vector<TrackCut::Kind> cuts;
  std::vector<SlotPart> parts;            // in the order of their launches
  std::vector<std::uint32_t> first_part;  // by cut, and one more: into parts
};

class JoinedRanks {
 public:
  struct Options {
    std::vector<NumberRange> steps = {};  // empty: all
    bool strict = false;                  // refuse what would be left out
  };

  // Fails if ranks are missing, no step is in all traces, or the ranks do not run the same program. Several
  // files of one rank, each with other steps, are joined. Adds to `notes` what the user should know.
  static Result<JoinedRanks> join(std::vector<RankActivity> activities, const Options& options,
                                  std::vector<std::string>& notes);

  [[nodiscard]] std::span<const RankActivity> ranks() const { return ranks_; }  // by rank
  [[nodiscard]] std::span<const std::int64_t> steps() const { return steps_; }  // the steps kept, ascending
  [[nodiscard]] std::size_t recorded_steps() const { return recorded_steps_; }
  [[nodiscard]] std::span<const RankSlot> slots() const { return slots_; }
  [[nodiscard]] std::size_t lanes() const { return slots_.front().ranks.size(); }
  [[nodiscard]] std::uint32_t slot_of(std::uint32_t rank) const { return slot_of_[rank]; }
  [[nodiscard]] std::uint32_t lane_of(std::uint32_t rank) const { return lane_of_[rank]; }
  [[nodiscard]] bool is_on_device() const { return ranks_.front().on_device; }
  // Whether a kept step is the first in the file of some rank.
  [[nodiscard]] bool is_first_of_files(std::size_t step) const;
  // Whether the slots are stages of a pipeline: not all of them do the same.
  [[nodiscard]] bool is_pipeline() const { return is_pipeline_; }
  [[nodiscard]] const std::vector<CleaningFinding>& findings() const { return findings_; }

  // Subtracts an offset from all times of a rank.
  void shift_clock(std::uint32_t rank, std::int64_t offset_ns);

  // Adds an idle gap that the rank's file does not show.
  void add_gap(std::uint32_t rank, IdleGap gap);

  // Of a kept step, by index into steps().
  [[nodiscard]] const RankActivity::Step& step(std::uint32_t rank, std::size_t step) const {
    return ranks_[rank].steps[step_index_[rank][step]];
  }
  [[nodiscard]] std::span<const TrackCut> cuts(std::uint32_t rank, std::size_t step) const {
    const RankActivity::Step& own = this->step(rank, step);
    return std::span(ranks_[rank].cuts).subspan(own.first_cut, own.cut_count);
  }
  // `part`: index into the parts of the rank's slot.
  [[nodiscard]] const CommunicationPart& part(std::uint32_t rank, std::size_t step, std::size_t part) const {
    const SlotPart& own = slots_[slot_of_[rank]].parts[part];
    return ranks_[rank].parts[static_cast<std::size_t>(cuts(rank, step)[own.cut].part) + own.at];
  }

 private:
  friend class RankJoiner;
  std::vector<RankActivity> ranks_;
  std::vector<std::int64_t> steps_;
  std::size_t recorded_steps_ = 0;
  std::vector<std::vector<std::uint32_t>> step_index_;  // [rank][kept step]: into RankActivity::steps
  std::vector<RankSlot> slots_;
  std::vector<std::uint32_t> slot_of_;
  std::vector<std::uint32_t> lane_of_;
  bool is_pipeline_ = false;
  std::vector<CleaningFinding> findings_;
};

// Whether one program gives a part the same size on every rank and in every step: all collectives but
// all-to-alls.
[[nodiscard]] bool has_equal_sizes(const RankActivity& rank, const CommunicationPart& part);

// Whether the trace says what a group is for ("mesh_dp").
[[nodiscard]] inline bool is_described(const ProcessGroup& group) {
  return !group.description.empty() && group.description != "undefined";
}
// Its description; `8 ranks` without one.
[[nodiscard]] std::string label_of(const ProcessGroup& group);

// `allreduce of 4096 float in group 7 (ranks 0-3)`
[[nodiscard]] std::string describe_part(const RankActivity& rank, const CommunicationPart& part);

}  // namespace goodput
