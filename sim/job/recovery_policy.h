// What a job does when nodes come, go or slow down: the interface of fault-tolerance policies
// (models/policy/policies.def lists them).
//
// The job engine (sim/job/job_engine.h) knows the time, the nodes and what has been trained; the policy
// decides what happens next and how long it takes. A policy keeps state of its own (which nodes it uses, who
// holds what) and lives for one run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/units.h"
#include "sim/job/steady_training.h"
#include "sim/job/time_bucket.h"
#include "sim/nodes/membership.h"

namespace goodput {

inline constexpr std::int64_t kNoStep = std::numeric_limits<std::int64_t>::max();
inline constexpr SimTime kNoTime = SimTime::max();

// How long the steps take from the one that was asked about on, up to step `until`.
struct Pace {
  SimDuration step{};  // > 0
  std::int64_t until = kNoStep;
};

// A stretch of time in which the nodes of the job do one thing, and do not train.
struct Phase {
  TimeBucket bucket = TimeBucket::kProgramStartup;
  SimDuration duration{};
};

// The phases before training goes on, in turn.
class Phases {
 public:
  void add(TimeBucket bucket, SimDuration duration) {
    if (duration <= SimDuration{}) return;
    GOODPUT_CHECK(count_ < phases_.size(), "a recovery has too many phases");
    phases_[count_++] = {bucket, duration};
  }
  [[nodiscard]] std::span<const Phase> all() const { return {phases_.data(), count_}; }

 private:
  std::array<Phase, 8> phases_{};
  std::size_t count_ = 0;
};

// Which state a job goes on from.
enum class ResumeFrom : std::uint8_t {
  kHere,     // every step that is done; one cut short is lost
  kMemory,   // the last checkpoint in the nodes' memory; storage where that is newer
  kStorage,  // the last checkpoint in storage
};

// Why a course was taken: what results count and timelines show.
enum class Cause : std::uint8_t { kNone, kStart, kRestart, kReconfiguration, kScaleUp, kRebalancing };
inline constexpr std::string_view kCauseNames[] = {"none",     "start",      "restart", "reconfiguration",
                                                   "scale-up", "rebalancing"};
inline constexpr std::size_t kCauses = std::size(kCauseNames);

// What the job does from now on.
struct Course {
  enum class Kind : std::uint8_t {
    kTrain,   // after `phases`
    kWait,    // for other nodes; nobody works
    kGiveUp,  // for ever; `reason` says why
  };
  Kind kind = Kind::kTrain;
  Cause cause = Cause::kNone;
  ResumeFrom from = ResumeFrom::kHere;
  Phases phases{};
  // Every phase of kCheckpointSave writes the state it goes on from to storage; without one it takes no time.
  bool saves = false;
  Bytes saved_bytes{};  // that each of these phases writes
  std::span<const NodeId>
      nodes{};  // that take part, ascending; the policy's own memory, until it is next asked
  std::int64_t samples_per_step = 0;
  CheckpointRules checkpoints{};
  std::int64_t decide_at_step = kNoStep;  // at the end of which decide() is called
  std::string reason{};                   // of kWait and kGiveUp: "needs 4 nodes" follows "the job ..."
};

// How a policy takes a change of the nodes, or a timer of its own.
enum class Response : std::uint8_t {
  kIgnore,     // goes on with what it does
  kAtStepEnd,  // decide() once the step at hand is done, or before training starts
  kInterrupt,  // decide() now; the step at hand is lost
};

// When a run ends: whatever comes first.
struct JobGoal {
  std::optional<std::int64_t> samples{};
  std::optional<std::int64_t> steps{};
  std::optional<SimTime> until{};
};

// What a policy can see of the job.
struct JobView {
  SimTime now{};
  const Membership* members = nullptr;
  bool is_training = false;  // neither waits nor recovers
};

// Where the job stands, when no step is at hand.
struct JobState : JobView {
  std::int64_t step = 0;                                      // steps done that count so far
  std::array<std::int64_t, kCheckpointLevels> checkpoints{};  // of those, what each level holds
  bool was_interrupted = false;  // the phases of the last course did not come to an end
  std::int64_t samples = 0;      // of the steps
  JobGoal goal{};                // until the recording of nodes ends, at most

  [[nodiscard]] std::int64_t step_from(ResumeFrom from) const {
    return from == ResumeFrom::kHere ? step : checkpoints[from == ResumeFrom::kMemory ? 0 : 1];
  }
};

// A figure of a policy's own: name, unit in the name, value.
struct PolicyMetric {
  std::string name;
  double value = 0;
};

class RecoveryPolicy {
 public:
  virtual ~RecoveryPolicy() = default;

  // Nodes came, went or changed speed; `job.members` knows already.
  [[nodiscard]] virtual Response on_change(const JobView& job, const NodeChange& change) = 0;

  // The time has come for which wake_at() asked.
  [[nodiscard]] virtual Response on_wake(const JobView& /*job*/) { return Response::kIgnore; }
  // When on_wake() is to be called; asked after every other call. kNoTime: never.
  [[nodiscard]] virtual SimTime wake_at() const { return kNoTime; }

  // What to do now: at the start, after kInterrupt and kAtStepEnd, and at the end of `decide_at_step`.
  [[nodiscard]] virtual Course decide(const JobState& job) = 0;

  // While training as decide() said: the steps from `step` on (0 is the first).
  [[nodiscard]] virtual Pace pace(std::int64_t step) = 0;

  // What the run showed besides time. `steps` counted in the end.
  [[nodiscard]] virtual std::vector<PolicyMetric> metrics(std::int64_t /*steps*/) const { return {}; }

  // Why nothing of the run counts: a policy outside of this program failed, and has given the job up since.
  // Empty: it did not. Asked last.
  [[nodiscard]] virtual std::string failure() const { return {}; }
};

}  // namespace goodput
