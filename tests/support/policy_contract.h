// What every recovery policy promises, whatever happens to the nodes: built in or of the user's. (The engine
// itself checks at every run that time adds up and that nobody trains on nodes that are gone.)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/failure/failure_models.h"
#include "sim/job/job_engine.h"
#include "tests/support/policy_case.h"

namespace goodput::testing {

// Of 12 nodes of which the job uses 10: single ones, racks and the whole fleet, slow nodes, quick returns.
[[nodiscard]] std::vector<FailureConfig> random_failures(std::uint64_t seed);
[[nodiscard]] std::unique_ptr<FailureModel> failure_model(const std::vector<FailureConfig>& configs,
                                                          std::uint64_t seed);

// Everything that is counted, but for figures of the policy's own.
[[nodiscard]] std::string counts_of(const JobResult& result);
// And those.
[[nodiscard]] std::string summary_of(const JobResult& result);

// Twelve hours under random_failures(seed): samples fit the steps, and the run repeats, again by the same
// policy, after another run, and by a policy of its own. `make`: on gpt_s(10). Returns the steps that count.
[[nodiscard]] std::int64_t check_contract(const std::function<PolicyCase(JobStart)>& make,
                                          std::uint64_t seed);

}  // namespace goodput::testing
