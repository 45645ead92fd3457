#include "traces/timeline/step_timeline.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "traces/io/chrome_writer.h"
#include "traces/timeline/critical_chain.h"
#include "traces/timeline/op_tracks.h"

namespace goodput {
namespace {

std::int64_t to_nanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

// Where a step and its replicas are to be found.
struct LanePlace {
  const StepBlock* block;
  std::size_t step_in_block;
  std::size_t step;  // index into Recording::steps
  std::size_t dp_rank;

  [[nodiscard]] std::size_t lane() const { return block->shape.lane(step_in_block, dp_rank); }
};

// The times of every op in a lane, in seconds from the origin of its step.
class StepClock {
 public:
  virtual ~StepClock() = default;
  [[nodiscard]] virtual std::pair<double, double> times(OpId op, const LanePlace& place) const = 0;
  [[nodiscard]] virtual double step_time_s(std::size_t step) const = 0;
};

class RecordedClock final : public StepClock {
 public:
  explicit RecordedClock(const Recording& recording) : recording_(recording) {}

  [[nodiscard]] std::pair<double, double> times(OpId op, const LanePlace& place) const override {
    const std::size_t at = op * place.block->shape.stride() + place.lane();
    const double origin = recording_.step_origin_s[place.step];
    return {place.block->start_s[at] - origin, place.block->end_s[at] - origin};
  }
  [[nodiscard]] double step_time_s(std::size_t step) const override { return recording_.step_base_s[step]; }

 private:
  const Recording& recording_;
};

class IdealClock final : public StepClock {
 public:
  IdealClock(std::span<const double> start_s, std::span<const double> end_s)
      : start_s_(start_s), end_s_(end_s) {
    if (start_s.empty()) return;
    origin_s_ = *std::min_element(start_s.begin(), start_s.end());
    span_s_ = std::max(0.0, *std::max_element(end_s.begin(), end_s.end()) - origin_s_);
  }

  [[nodiscard]] std::pair<double, double> times(OpId op, const LanePlace& /*place*/) const override {
    return {start_s_[op] - origin_s_, end_s_[op] - origin_s_};
  }
  [[nodiscard]] double step_time_s(std::size_t /*step*/) const override { return span_s_; }

 private:
  std::span<const double> start_s_;
  std::span<const double> end_s_;
  double origin_s_ = 0;
  double span_s_ = 0;
};

class StepsWriter {
 public:
  StepsWriter(const Recording& recording, const OpGraph& graph, const StepClock& clock, OpTracks& tracks)
      : recording_(recording), graph_(graph), clock_(clock), tracks_(tracks), times_(recording.ops.size()) {}

  Status write() {
    for (const StepBlock& block : recording_.blocks) {
      for (std::size_t i = 0; i < block.shape.steps; ++i) GOODPUT_TRY_STATUS(write_step(block, i));
    }
    return Ok{};
  }

 private:
  Status write_step(const StepBlock& block, std::size_t step_in_block) {
    const auto stages = static_cast<std::size_t>(recording_.pp_size);
    LanePlace place = {&block, step_in_block, block.first_step + step_in_block, 0};
    for (; place.dp_rank < block.shape.replicas; ++place.dp_rank) {
      for (OpId op = 0; op < times_.size(); ++op) times_[op] = times_of(op, place);
      const auto ranks = std::span(recording_.ranks).subspan(place.dp_rank * stages, stages);
      GOODPUT_TRY_STATUS(tracks_.write_lane(place.dp_rank, recording_.steps[place.step], ranks, times_));
    }
    const auto path = critical_chain(graph_, block.shape.replicas, [&](OpId op, std::size_t dp_rank) {
      return times_of(op, {&block, step_in_block, place.step, dp_rank});
    });
    tracks_.write_step(recording_.steps[place.step], origin_ns_, path);
    origin_ns_ += to_nanoseconds(1.1 * clock_.step_time_s(place.step));
    return Ok{};
  }

  [[nodiscard]] OpTimes times_of(OpId op, const LanePlace& place) const {
    const auto [start_s, end_s] = clock_.times(op, place);
    return {origin_ns_ + to_nanoseconds(start_s), origin_ns_ + to_nanoseconds(end_s)};
  }

  const Recording& recording_;
  const OpGraph& graph_;
  const StepClock& clock_;
  OpTracks& tracks_;
  std::vector<OpTimes> times_;  // by OpId, of the lane at hand
  std::int64_t origin_ns_ = 0;  // of the step at hand
};

Status write_timeline(const Recording& recording, const OpGraph& graph, const StepClock& clock,
                      const std::string& path, std::string_view final_path) {
  double length_s = 0;
  for (std::size_t step = 0; step < recording.steps.size(); ++step) length_s += 1.1 * clock.step_time_s(step);
  GOODPUT_CHECK(graph.size() == recording.ops.size(), "the graph belongs to a different trace");
  GOODPUT_TRY_STATUS(check_timeline_length(length_s, final_path));
  std::vector<ShownOp> shown;
  for (const TraceOp& op : recording.ops) shown.push_back({op, recording.types[op.type].name, false});
  GOODPUT_TRY(ChromeWriter writer,
              ChromeWriter::open(path, final_path, ChromeWriter::Precision::kNanoseconds));
  OpTracks tracks(writer, recording.dp_size, recording.pp_size, shown, recording.types);
  GOODPUT_TRY_STATUS(StepsWriter(recording, graph, clock, tracks).write());
  return writer.close();
}

}  // namespace

Status write_recorded_timeline(const Recording& recording, const OpGraph& graph, const std::string& path,
                               std::string_view final_path) {
  return write_timeline(recording, graph, RecordedClock(recording), path, final_path);
}

Status write_ideal_timeline(const Recording& recording, const OpGraph& graph, std::span<const double> start_s,
                            std::span<const double> end_s, const std::string& path,
                            std::string_view final_path) {
  GOODPUT_CHECK(start_s.size() == recording.ops.size() && end_s.size() == recording.ops.size(),
                "an ideal timeline needs one start and one end per op");
  return write_timeline(recording, graph, IdealClock(start_s, end_s), path, final_path);
}

}  // namespace goodput
