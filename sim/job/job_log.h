// What a job did, stretch by stretch: for timelines and curves. Recorded only when asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/job/recovery_policy.h"
#include "sim/nodes/failure_model.h"

namespace goodput {

// A stretch in which the job did one thing with the same nodes.
struct JobSpan {
  TimeBucket bucket = TimeBucket::kProductive;
  SimTime begin{};
  SimTime end{};
  std::uint32_t nodes = 0;  // which: a position in JobLog::node_sets
  // Training (kProductive) only: checkpoints are saved in between, and the last step may be cut short.
  std::int64_t first_step = 0;  // steps done before
  std::int64_t steps = 0;       // done in it
  std::int64_t samples = 0;     // that counted at `begin`
  std::int64_t samples_per_step = 0;
  SimDuration step{};
  SimDuration saving{};  // of its time
};

// Something that takes no time.
struct JobInstant {
  enum class Kind : std::uint8_t { kLost, kJoined, kSpeed, kCourse, kEnd };
  Kind kind = Kind::kCourse;
  SimTime time{};
  NodeId node = -1;             // kLost, kJoined, kSpeed
  double speed = 1;             // kSpeed
  Cause cause = Cause::kNone;   // kCourse
  std::int64_t lost_steps = 0;  // kCourse: that are trained again
  std::string text{};           // kCourse: what it waits for; kEnd: why it stopped
};

struct JobLog {
  std::vector<std::vector<NodeId>> node_sets{};
  std::vector<JobSpan> spans{};
  std::vector<JobInstant> instants{};
};

}  // namespace goodput
