#include "models/policy_process/process_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

// Of a policy that has failed: the job gives up at the next decision, and trains nothing until then.
constexpr Pace kNeverDone{SimDuration{kMostPolicyNs}};

// [[id, speed], ...] of those of the nodes that are not healthy, or of all of them.
enum class Speeds : std::uint8_t { kAll, kSlow };
void add_speeds(const Membership& members, const std::vector<NodeId>& nodes, Speeds which,
                OrderedJson& speeds) {
  for (const NodeId node : nodes) {
    const double speed = members.speed(node);
    if (which == Speeds::kAll || speed != 1) speeds.push_back({node, speed});
  }
}

OrderedJson view_json(std::string_view call, const JobView& job) {
  return {{"call", call}, {"now_ns", job.now.time_since_epoch().count()}, {"is_training", job.is_training}};
}

}  // namespace

std::string policy_named(const PolicyCommand& command) {
  return fmt::format("policy {} ({})", in_quotes(command.name), on_one_line(command.command));
}

ProcessPolicy::ProcessPolicy(const Run& run, Result<Conversation> conversation,
                             std::unique_ptr<PolicyHost> host, GiveBack give_back)
    : run_(run), host_(std::move(host)), give_back_(std::move(give_back)) {
  if (!conversation) {
    failure_ = conversation.error().message();
    return;
  }
  conversation_ = *std::move(conversation);
  const OrderedJson message{{"call", "start_run"}, {"seed", run_.key.seed}, {"trial", run_.key.trial}};
  static_cast<void>(ask<Ok>("start_run", message, read_start));
}

void ProcessPolicy::fail(std::string_view call, const Error& error) const {
  failure_ = fmt::format("{} during {} of trial {}: {}", policy_named(*run_.command), call, run_.key.trial,
                         error.message());
  conversation_ = nullptr;
}

template <typename T, typename Read>
std::optional<T> ProcessPolicy::ask(std::string_view call, const OrderedJson& message,
                                    const Read& read) const {
  if (!conversation_) return std::nullopt;
  const Result<Json> answer = conversation_->call(message, *host_);
  if (!answer) {
    fail(call, answer.error());
    return std::nullopt;
  }
  Result<T> value = read(*answer);
  if (value) return *std::move(value);
  fail(call, conversation_->with_complaint(Error{"wrong answer: " + value.error().message()}));
  return std::nullopt;
}

Response ProcessPolicy::respond(std::string_view call, const OrderedJson& message, SimTime earliest,
                                std::span<const NodeId> lost) {
  const auto answer = ask<ChangeAnswer>(call, message, [&](const Json& said) -> Result<ChangeAnswer> {
    GOODPUT_TRY(const ChangeAnswer change, read_response(said, call, earliest));
    GOODPUT_TRY_STATUS(check_response(change, nodes_, lost));
    return change;
  });
  wake_at_ = answer ? answer->wake_at : kNoTime;
  return answer ? answer->response : Response::kInterrupt;  // to give up
}

Response ProcessPolicy::on_change(const JobView& job, const NodeChange& change) {
  OrderedJson message = view_json("on_change", job);
  message["lost"] = change.lost;
  message["joined"] = change.joined;
  message["speeds"] = OrderedJson::array();
  add_speeds(*job.members, change.joined, Speeds::kSlow, message["speeds"]);
  add_speeds(*job.members, change.changed_speed, Speeds::kAll, message["speeds"]);
  return respond("on_change", message, job.now, change.lost);
}

Response ProcessPolicy::on_wake(const JobView& job) {
  return respond("on_wake", view_json("on_wake", job), job.now + SimDuration{1}, {});
}

Course ProcessPolicy::decide(const JobState& job) {
  OrderedJson message = view_json("decide", job);
  message["step"] = job.step;
  message["checkpoints"] = {{"memory", job.checkpoints[0]}, {"storage", job.checkpoints[1]}};
  message["was_interrupted"] = job.was_interrupted;
  if (!std::exchange(has_members_, true)) {
    const std::vector<NodeId> members(job.members->nodes().begin(), job.members->nodes().end());
    message["members"] = members;
    message["speeds"] = OrderedJson::array();
    add_speeds(*job.members, members, Speeds::kSlow, message["speeds"]);
  }
  auto answer =
      ask<CourseAnswer>("decide", message, [&job](const Json& said) { return read_course(said, job); });
  pace_ = std::nullopt;
  nodes_.clear();
  wake_at_ = answer ? answer->wake_at : kNoTime;
  if (!answer) {
    Course course;
    course.kind = Course::Kind::kGiveUp;
    return course;
  }
  Course course = std::move(answer->course);
  if (course.kind != Course::Kind::kTrain) return course;
  nodes_ = std::move(answer->nodes);
  course.nodes = nodes_;
  samples_per_step_ = course.samples_per_step;
  pace_ = answer->pace;
  paced_from_ = job.step_from(course.from);
  return course;
}

Pace ProcessPolicy::pace(std::int64_t step) {
  if (!pace_ || step < paced_from_ || step >= pace_->until) {
    const OrderedJson message{{"call", "pace"}, {"step", step}};
    pace_ = ask<Pace>("pace", message,
                      [&](const Json& said) { return read_pace(said, step, samples_per_step_); });
    paced_from_ = step;
  }
  return pace_.value_or(kNeverDone);
}

std::vector<PolicyMetric> ProcessPolicy::metrics(std::int64_t steps) const {
  const auto values =
      ask<std::vector<double>>("end_run", {{"call", "end_run"}, {"steps", steps}},
                               [this](const Json& said) { return read_metrics(said, *run_.metrics); });
  std::vector<PolicyMetric> metrics;
  if (!values) return metrics;
  for (std::size_t i = 0; i < values->size(); ++i) metrics.push_back({(*run_.metrics)[i], (*values)[i]});
  give_back_(std::move(conversation_));
  return metrics;
}

}  // namespace goodput
