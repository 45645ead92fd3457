// Policies, failures and runs with something wrong with them: what a suite must not let pass.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/job/job_engine.h"
#include "sim/job/recovery_policy.h"
#include "sim/nodes/failure_model.h"

namespace goodput::testing {

// What is wrong; what is not given is as it should be.
struct Mutant {
  std::string name{};
  std::function<void(Course& course)> course{};
  std::function<Response(Response response, const NodeChange& change)> response{};
  std::function<SimTime(SimTime wake_at)> wake_at{};
  std::function<Pace(Pace pace)> pace{};
  std::function<NodeEvent(NodeEvent event, NodeId nodes)> event{};  // of a model of so many nodes
  std::function<void(JobResult& result)> result{};
};

// Twelve of them.
[[nodiscard]] std::vector<Mutant> mutants();

// The policy, wrong. `mutant` must outlive it.
[[nodiscard]] std::unique_ptr<RecoveryPolicy> mutated(std::unique_ptr<RecoveryPolicy> policy,
                                                      const Mutant& mutant);
[[nodiscard]] std::unique_ptr<FailureModel> mutated(std::unique_ptr<FailureModel> failures,
                                                    const Mutant& mutant);

}  // namespace goodput::testing
