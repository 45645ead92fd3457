// A recovery policy in another process. Every call of RecoveryPolicy is a line that it is sent; answers that
// the job engine could not take, and a process that crashes, hangs or says nonsense, end the run with one
// line that names policy and command (RecoveryPolicy::failure()).
//
// A process is used for one run at a time and then for others, by whichever thread: a run must not depend on
// those before it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/policy/policy.h"
#include "models/policy_process/policy_answers.h"
#include "models/policy_process/policy_command.h"
#include "models/policy_process/policy_conversation.h"
#include "sim/base/json_fwd.h"
#include "sim/job/recovery_policy.h"

namespace goodput {

// The policy of one run.
class ProcessPolicy final : public RecoveryPolicy {
 public:
  // Whoever the run is of. What it refers to outlives the run.
  struct Run {
    const PolicyCommand* command = nullptr;
    const std::vector<std::string>* metrics = nullptr;  // names
    RunKey key{};
  };
  using Conversation = std::unique_ptr<PolicyConversation>;
  // Takes a conversation in which a run came to its end, for the next one.
  using GiveBack = std::function<void(Conversation)>;

  // `conversation`: in which "hello" was answered, or why there is none.
  ProcessPolicy(const Run& run, Result<Conversation> conversation, std::unique_ptr<PolicyHost> host,
                GiveBack give_back);

  [[nodiscard]] Response on_change(const JobView& job, const NodeChange& change) override;
  [[nodiscard]] Response on_wake(const JobView& job) override;
  [[nodiscard]] SimTime wake_at() const override { return wake_at_; }
  [[nodiscard]] Course decide(const JobState& job) override;
  [[nodiscard]] Pace pace(std::int64_t step) override;
  [[nodiscard]] std::vector<PolicyMetric> metrics(std::int64_t steps) const override;
  [[nodiscard]] std::string failure() const override { return failure_; }

 private:
  // The answer as `read` has it: (const Json&) -> Result<T>. None: the policy has failed, now or
  // before.
  template <typename T, typename Read>
  [[nodiscard]] std::optional<T> ask(std::string_view call, const OrderedJson& message,
                                     const Read& read) const;
  [[nodiscard]] Response respond(std::string_view call, const OrderedJson& message, SimTime earliest,
                                 std::span<const NodeId> lost);
  void fail(std::string_view call, const Error& error) const;

  Run run_;
  // Written by metrics() too, which ends the run.
  mutable Conversation conversation_;  // none: it has failed, or the run is over
  std::unique_ptr<PolicyHost> host_;
  GiveBack give_back_;
  mutable std::string failure_;

  bool has_members_ = false;   // it was told which nodes there are
  std::vector<NodeId> nodes_;  // of the course; empty: nobody trains
  std::int64_t samples_per_step_ = 0;
  std::optional<Pace> pace_;  // that it gave for the steps from `paced_from_` on
  std::int64_t paced_from_ = 0;
  SimTime wake_at_ = kNoTime;
};

// "policy "mine" (python3 mine.py)": who a message is about.
[[nodiscard]] std::string policy_named(const PolicyCommand& command);

}  // namespace goodput
