// Policies under a recording that is repeated: as under one that is written out.
#include <doctest/doctest.h>

#include <vector>

#include "sim/base/random.h"
#include "tests/support/policy_case.h"
#include "tests/support/policy_contract.h"
#include "tests/support/routing_case.h"

namespace goodput::testing {
namespace {

constexpr std::int64_t kSpacing = 70;

using Rows = std::vector<LayerLoads>;

Rows random_rows(std::uint64_t seed, std::size_t rows) {
  RandomStream random(seed, "repeated routing");
  Rows all;
  while (all.size() < rows) {
    LayerLoads layers(12, std::vector<std::int64_t>(8));
    for (auto& layer : layers)
      for (std::int64_t& load : layer) load = 50 + static_cast<std::int64_t>(random.below(1000));
    all.push_back(std::move(layers));
  }
  return all;
}

JobPointer job_with(const Rows& rows, AfterEnd after_end) {
  std::vector<std::int64_t> iterations;
  for (std::size_t row = 0; row < rows.size(); ++row)
    iterations.push_back(static_cast<std::int64_t>(row) * kSpacing);
  return job_of(gpt_s_plan(10), recorded_routing(iterations, rows, after_end), JobStart::kRunning);
}

struct Case {
  const char* policy;
  std::string options;
};

}  // namespace

TEST_CASE("repeated routing: every policy runs as with the same rows written out") {
  const std::vector<Case> cases = {
      {"lazarus", round_elastic_options(R"("gather_s": 100, "rebalance_steps": 100)")},
      {"ds", round_options()},
      {"ds_ft", round_regrouping_options()},
      {"pec", round_options()},
      {"megatron", round_options(R"("balance": "eplb", "redundant_slots": 1, "rebalance_steps": 100)")}};
  const Rows rows = random_rows(3, 4);
  Rows looped = rows;
  Rows continued = rows;
  for (int cycle = 0; cycle < 4; ++cycle) {
    looped.insert(looped.end(), rows.begin(), rows.end());
    continued.insert(continued.end(), {rows[3], rows[2], rows[2], rows[3]});
  }
  for (const Case& one : cases) {
    CAPTURE(one.policy);
    for (const AfterEnd after_end : {AfterEnd::kLoop, AfterEnd::kContinue}) {
      const auto result_of = [&](JobPointer job) {
        PolicyCase policy(one.policy, one.options, std::move(job));
        return policy.run(steps(1300), held(10, {lost(seconds{200}, 3), joined(seconds{400}, 3)}));
      };
      const JobResult found = result_of(job_with(rows, after_end));
      const Rows& all = after_end == AfterEnd::kLoop ? looped : continued;
      CHECK(counts_of(found) == counts_of(result_of(job_with(all, AfterEnd::kHold))));
      CHECK(counts_of(found) != counts_of(result_of(job_with(rows, AfterEnd::kHold))));
    }
  }
}

}  // namespace goodput::testing
