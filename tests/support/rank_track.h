// The track of a rank, written cut by cut in nanoseconds: what tests of single rules of models/collectives
// give to them. Whole jobs are easier to write by rank_activity_case.h.
//
//   RankTrack rank(0, 2);
//   rank.add_group("0", {0, 1});
//   rank.begin_step(1, 0);
//   rank.collective(3 * kMs, {3 * kMs, 5 * kMs});  // launched when 3 ms of work are done
//   rank.end_step(9 * kMs);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/analysis/arranged_job.h"
#include "sim/ops/rank_activity.h"

namespace goodput::testing {

inline constexpr std::int64_t kMs = 1'000'000;  // in nanoseconds

struct PartTimes {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

class RankTrack {
 public:
  // Its file is rankN.json.
  RankTrack(std::int32_t rank, std::int32_t world_size, bool on_device = true);

  // Returns its index.
  std::int32_t add_group(std::string_view name, std::vector<std::int32_t> ranks,
                         std::string_view description = "");

  void begin_step(std::int64_t number, std::int64_t begin_ns);
  // Of the current step; also the end of its last segment.
  void end_step(std::int64_t end_ns);

  // Cuts the track at `cut_ns`, when the work before it has ended, with the launch of a part: an allreduce of
  // 1024 floats in the first group, on stream 1. Returns it, to be changed.
  CommunicationPart& collective(std::int64_t cut_ns, PartTimes times);
  CommunicationPart& send(std::int64_t cut_ns, std::int32_t peer, PartTimes times);
  CommunicationPart& receive(std::int64_t cut_ns, std::int32_t peer, PartTimes times);
  // Puts the last part into the kernel of the one before it: takes back its cut.
  void put_with_previous();

  // Cuts the track with a recorded wait for a part, by index.
  void wait(std::int64_t cut_ns, std::int32_t part);
  void end_pass(std::int64_t cut_ns);

  // Of the segment before the last cut.
  void label(std::string_view name);
  void work_on(std::uint32_t stream);         // it has work on this stream
  void first_work_at(std::int64_t begin_ns);  // which begins then

  void idle(std::int64_t begin_ns, std::int64_t end_ns);

  [[nodiscard]] std::uint32_t name(std::string_view text);  // index into names
  [[nodiscard]] std::int32_t last_part() const {
    return static_cast<std::int32_t>(activity.parts.size()) - 1;
  }

  RankActivity activity;

 private:
  CommunicationPart& launch(std::int64_t cut_ns, std::string_view name, PartTimes times);
  void cut(TrackCut::Kind kind, std::int64_t end_ns, std::int32_t part);
};

[[nodiscard]] std::vector<RankActivity> activities_of(const std::vector<RankTrack>& ranks);

// Of op `at` (a cut or a part of its slot) of a type, the recorded seconds of a rank in a step, by index.
// Throws if there is no such op.
[[nodiscard]] double recorded_s(const ArrangedJob& job, std::string_view type, int at, int rank,
                                std::size_t step);
// Names of the types of its ops, sorted, each once.
[[nodiscard]] std::vector<std::string> types_of(const ArrangedJob& job);

}  // namespace goodput::testing
