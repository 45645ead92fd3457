// Ranks by hand: what each did, one launch after the other, in milliseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/ops/rank_activity.h"

namespace goodput::testing {

// A rank of a device. Every step holds the same; times count from the begin of the step.
class RankCase {
 public:
  // `groups`: those it belongs to.
  RankCase(std::int32_t rank, std::int32_t world_size, std::vector<ProcessGroup> groups);

  // Begins a step at `begin_ms`; its number counts on from 1.
  RankCase& step(double begin_ms);
  // Own work in [begin_ms, end_ms): extends the segment at hand. Idle time between work is a gap.
  RankCase& work(double begin_ms, double end_ms);
  // Launches a collective in the group at index `group`, whose kernel runs in [begin_ms, end_ms).
  RankCase& collective(std::int32_t group, double begin_ms, double end_ms, std::int64_t elements = 1000,
                       const std::string& name = "allreduce");
  RankCase& send(std::int32_t peer, double begin_ms, double end_ms) {
    return message(peer, true, begin_ms, end_ms);
  }
  RankCase& receive(std::int32_t peer, double begin_ms, double end_ms) {
    return message(peer, false, begin_ms, end_ms);
  }
  // Records that the last part launched is waited for.
  RankCase& wait();
  RankCase& end(double end_ms);

  // On another stream than 1, the one of collectives; work is on stream 0.
  RankCase& on_stream(std::uint32_t stream);
  // Of the part launched last.
  CommunicationPart& last_part() { return activity_.parts.back(); }
  [[nodiscard]] RankActivity take();

 private:
  RankCase& message(std::int32_t peer, bool is_send, double begin_ms, double end_ms);
  CommunicationPart& launch(double begin_ms, double end_ms);
  void cut(TrackCut::Kind kind, std::int32_t part);
  [[nodiscard]] std::int64_t ns(double ms) const;
  std::uint32_t name(const std::string& text);

  RankActivity activity_;
  double step_ms_ = 0;
  std::int64_t reached_ns_ = 0;  // end of the own work so far
  std::int64_t segment_begin_ns_ = 0;
  std::uint64_t streams_ = 0;
  std::uint32_t stream_ = 1;
};

}  // namespace goodput::testing
