// Answers of a policy process, a line each: whatever they are, the job engine runs to its end or the policy
// has failed. A failed check of the engine is a finding.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/policy_process/process_policy.h"
#include "sim/base/errors.h"
#include "sim/base/json.h"
#include "sim/job/job_engine.h"
#include "tests/fuzz/fuzz_target.h"

namespace goodput::fuzz {
namespace {

// The lines, one after the other; behind the last the program has ended.
class Lines final : public LineChannel {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  [[nodiscard]] Result<std::string> exchange(std::string_view /*line*/) override {
    if (text_.empty()) return Error{"ended"};
    const std::size_t end = std::min(text_.find('\n'), text_.size());
    std::string line(text_.substr(0, end));
    text_.remove_prefix(std::min(end + 1, text_.size()));
    return line;
  }
  [[nodiscard]] std::string last_complaint() override { return {}; }

 private:
  std::string_view text_;
};

class Host final : public PolicyHost {
 public:
  [[nodiscard]] Result<OrderedJson> answer(const Json& /*question*/) override {
    return OrderedJson::object();
  }
};

// Three nodes, one of which is lost, comes back and slows down, for as long as the clock goes.
class Failures final : public FailureModel {
 public:
  [[nodiscard]] NodeId nodes() const override { return 3; }
  [[nodiscard]] std::optional<NodeEvent> next() override {
    using Kind = NodeEvent::Kind;
    if (told_ < 3) return NodeEvent{SimTime{}, Kind::kAdd, told_++, 1};
    constexpr Kind kTurns[] = {Kind::kRemove, Kind::kAdd, Kind::kSpeed};
    if (told_ > 60) return std::nullopt;
    const Kind kind = kTurns[told_ % 3];
    time_ += told_ < 30 ? SimDuration{std::chrono::seconds{100}} : SimDuration{std::chrono::hours{60'000}};
    ++told_;
    return NodeEvent{time_, kind, 1, kind == Kind::kSpeed ? 0.5 : 1};
  }

 private:
  NodeId told_ = 0;
  SimTime time_{};
};

}  // namespace
}  // namespace goodput::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace goodput;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const PolicyCommand command{"fuzz", "fuzz"};
  const std::vector<std::string> metrics = {"my_figure"};
  ProcessPolicy policy({&command, &metrics, {}},
                       std::make_unique<PolicyConversation>(std::make_unique<fuzz::Lines>(text.substr(1))),
                       std::make_unique<fuzz::Host>(), [](ProcessPolicy::Conversation) {});
  JobGoal goal;
  if (data[0] % 4 == 0) goal.until = SimTime{std::chrono::hours{1000}};
  if (data[0] % 4 == 1) goal.samples = 1'000'000;
  if (data[0] % 4 > 1) goal.steps = data[0] % 4 == 2 ? 1000 : 1'000'000'000'000;
  fuzz::Failures failures;
  const JobResult result = run_job(goal, {}, failures, policy);
  GOODPUT_CHECK(result.steps >= 0 && result.samples >= 0, "fewer than no steps");
  GOODPUT_CHECK(result.policy_failure == policy.failure(), "a failure that is not told");
  return 0;
}
