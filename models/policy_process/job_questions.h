// What a policy process may ask of its job: times of steps, what checkpoints cost, how often nodes fail,
// random draws. The same question always has the same answer, but for draws, which go on.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "models/policy/policy.h"
#include "models/policy/restart_options.h"
#include "models/policy_process/policy_conversation.h"
#include "sim/base/random.h"

namespace goodput {

// Of one run.
class JobQuestions final : public PolicyHost {
 public:
  // Keeps a reference. `job`: with the speed of the plan's replicas, as plain checkpoint-restart has it.
  JobQuestions(const RestartJob& job, const RunKey& run) : job_(&job), run_(run) {}

  [[nodiscard]] Result<nlohmann::ordered_json> answer(const nlohmann::json& question) override;

 private:
  [[nodiscard]] Result<nlohmann::ordered_json> answer(const std::string& asked,
                                                      const nlohmann::json& members);
  [[nodiscard]] Result<nlohmann::ordered_json> usable_nodes(const nlohmann::json& members) const;
  [[nodiscard]] Result<nlohmann::ordered_json> step_time(const nlohmann::json& members) const;
  [[nodiscard]] Result<nlohmann::ordered_json> checkpoint(const nlohmann::json& members) const;
  [[nodiscard]] Result<nlohmann::ordered_json> mtbf(const nlohmann::json& members) const;
  [[nodiscard]] Result<nlohmann::ordered_json> random(const nlohmann::json& members);

  const RestartJob* job_;
  RunKey run_;
  std::map<std::pair<std::string, std::int64_t>, RandomStream> streams_{};  // by name and id
};

// What "hello" says of the job: facts of the plan and its machines.
[[nodiscard]] nlohmann::ordered_json job_facts(const JobModel& job);

}  // namespace goodput
