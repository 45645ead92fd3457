// What a policy process says: lines of JSON, read strictly and checked against what the job engine takes, so
// that no answer can do worse than end the run of its policy.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"
#include "sim/job/recovery_policy.h"

namespace goodput {

// Numbers of one answer are no larger: 115 days, as durations of options are; what steps a job may have.
inline constexpr std::int64_t kMostPolicyNs = 10'000'000'000'000'000;
inline constexpr std::int64_t kMostPolicySteps = 1'000'000'000'000'000;

// One line. Fails on what is no object of JSON, is nested deeply or has a key twice.
[[nodiscard]] Result<Json> parse_policy_line(const std::string& line);

// To "hello": what the policy is.
struct HelloAnswer {
  std::string refuse{};                 // why it cannot run the job; empty: it can
  std::vector<std::string> metrics{};   // figures of its own, of every run
  std::vector<std::string> warnings{};  // about this job

  friend bool operator==(const HelloAnswer&, const HelloAnswer&) = default;
};
[[nodiscard]] Result<HelloAnswer> read_hello(const Json& answer);

// To "start_run".
[[nodiscard]] Status read_start(const Json& answer);

// To `call`, "on_change" or "on_wake". `earliest`: it can ask to be woken then.
struct ChangeAnswer {
  Response response = Response::kIgnore;
  SimTime wake_at = kNoTime;
};
[[nodiscard]] Result<ChangeAnswer> read_response(const Json& answer, std::string_view call, SimTime earliest);
// A policy cannot go on without a node that it uses. `used` and `lost` ascend.
[[nodiscard]] Status check_response(const ChangeAnswer& answer, std::span<const NodeId> used,
                                    std::span<const NodeId> lost);

// To "pace". `step`: that it is about.
[[nodiscard]] Result<Pace> read_pace(const Json& answer, std::int64_t step, std::int64_t samples_per_step);

// To "decide".
struct CourseAnswer {
  Course course{};  // without its nodes
  std::vector<NodeId> nodes{};
  std::optional<Pace> pace{};  // of the first steps, where the answer has it
  SimTime wake_at = kNoTime;
};
[[nodiscard]] Result<CourseAnswer> read_course(const Json& answer, const JobState& job);

// To "end_run": a value for each name, in their order.
[[nodiscard]] Result<std::vector<double>> read_metrics(const Json& answer,
                                                       std::span<const std::string> names);

}  // namespace goodput
