// What a policy process may ask of its job: times of steps, what checkpoints cost, how often nodes fail,
// random draws. The same question always has the same answer, but for draws, which go on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "models/policy/policy.h"
#include "models/policy/restart_options.h"
#include "models/policy_process/policy_conversation.h"
#include "sim/base/json_fwd.h"
#include "sim/base/random.h"

namespace goodput {

// Of one run.
class JobQuestions final : public PolicyHost {
 public:
  // Keeps a reference. `job`: with the speed of the plan's replicas, as plain checkpoint-restart has it.
  JobQuestions(const RestartJob& job, const RunKey& run) : job_(&job), run_(run) {}

  [[nodiscard]] Result<OrderedJson> answer(const Json& question) override;

 private:
  [[nodiscard]] Result<OrderedJson> answer(const std::string& asked, const Json& members);
  [[nodiscard]] Result<OrderedJson> usable_nodes(const Json& members) const;
  [[nodiscard]] Result<OrderedJson> step_time(const Json& members) const;
  [[nodiscard]] Result<OrderedJson> checkpoint(const Json& members) const;
  [[nodiscard]] Result<OrderedJson> mtbf(const Json& members) const;
  [[nodiscard]] Result<OrderedJson> random(const Json& members);

  const RestartJob* job_;
  RunKey run_;
  std::map<std::pair<std::string, std::int64_t>, RandomStream> streams_{};  // by name and id
};

// What "hello" says of the job: facts of the plan and its machines.
[[nodiscard]] OrderedJson job_facts(const JobModel& job);

}  // namespace goodput
