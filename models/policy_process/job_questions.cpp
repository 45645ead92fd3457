#include "models/policy_process/job_questions.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/policy/checkpoint_store.h"
#include "models/policy_process/answer_fields.h"
#include "models/policy_process/policy_answers.h"
#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "sim/config/config.h"

namespace goodput {
namespace {

using config::Need;

constexpr std::size_t kMostStreams = 10'000;
constexpr std::int64_t kMostDraws = 10'000;
constexpr std::string_view kQuestions[] = {"usable_nodes", "step_time", "checkpoint", "mtbf", "random"};

template <typename MakeFields>
Status read_members(const Json& members, const MakeFields& fields) {
  config::Place place;
  const config::ObjectAccess access{[] { return true; }, fields, []() -> Status { return Ok{}; }};
  return config::object(access).read(members, place);
}

OrderedJson step_or_null(std::int64_t step) {
  return step == kNoStep ? OrderedJson(nullptr) : OrderedJson(step);
}

// Steps on so many nodes, the slowest of which has that speed.
struct StepQuestion {
  std::int32_t nodes = 0;
  std::int64_t step = 0;
  double slowest = 1;
  SimDuration overhead{};

  [[nodiscard]] config::Fields fields() {
    return {{"nodes", Need::kRequired, config::integer(nodes, 1), "number of training nodes"},
            {"step", Need::kOptional, config::integer(step, 0, kMostPolicySteps),
             "number of the step in the job"},
            {"slowest", Need::kOptional, config::number(slowest, config::between(1e-3, 1)),
             "speed of the slowest node as a fraction of a healthy node's"},
            {"overhead_ns", Need::kOptional, nanoseconds(overhead, 0), "extra time per step"}};
  }

  [[nodiscard]] Result<StepTime> answer(const TrainingSpeed& speed) const {
    if (speed.usable(nodes) != nodes) {
      return Error{
          fmt::format("is {}, but the job can use only {} of these nodes", nodes, speed.usable(nodes)),
          {.pointer = "/nodes"}};
    }
    GOODPUT_TRY(StepTime time, speed.compute(nodes, step, slowest));
    if (time.step <= SimDuration{} || time.step.count() > kMostPolicyNs)
      return Error{fmt::format("cannot be {}: a step would take {} s", slowest, to_seconds(time.step)),
                   {.pointer = "/slowest"}};
    time.step += overhead;
    return time;
  }
};

enum class Draw : std::uint8_t { kUniform, kBelow, kExponential, kNormal };
constexpr std::string_view kDrawNames[] = {"uniform", "below", "exponential", "normal"};

struct DrawQuestion {
  std::string stream{};
  std::int64_t id = 0;
  std::int64_t count = 1;
  Draw draw = Draw::kUniform;
  std::int64_t bound = 1;
  double rate = 1;
  double mean = 0;
  double deviation = 1;

  [[nodiscard]] config::Fields fields() {
    return {
        {"stream", Need::kRequired, short_text(stream), "name of the random stream"},
        {"id", Need::kOptional, config::integer(id, 0, kMostPolicyNs),
         "number of the stream, such as a node ID"},
        {"count", Need::kOptional, config::integer(count, 1, kMostDraws), "number of random numbers to draw"},
        {"draw", Need::kOptional, config::choice(draw, kDrawNames), "distribution of the random numbers"},
        {"bound", Need::kOptional, config::integer(bound, 1, kMostPolicyNs),
         "for distribution below: numbers are from 0 to bound - 1"},
        {"rate", Need::kOptional, config::number(rate, {1e-100, 1e100}),
         "for distribution exponential: 1 / mean"},
        {"mean", Need::kOptional, config::number(mean, config::between(-1e100, 1e100)), "normal"},
        {"deviation", Need::kOptional, config::number(deviation, config::between(0, 1e100)), "normal"}};
  }

  [[nodiscard]] OrderedJson next(RandomStream& random) const {
    switch (draw) {
      case Draw::kBelow:
        return random.below(static_cast<std::uint64_t>(bound));
      case Draw::kExponential:
        return random.exponential(rate);
      case Draw::kNormal:
        return random.normal(mean, deviation);
      case Draw::kUniform:
        break;
    }
    return random.uniform();
  }
};

}  // namespace

Result<OrderedJson> JobQuestions::answer(const Json& question) {
  Json members = question;
  const Json asked = members["ask"];
  members.erase("ask");
  if (!asked.is_string()) return Error{"must be the name of a question", {.pointer = "/ask"}};
  return answer(asked.get<std::string>(), members);
}

Result<OrderedJson> JobQuestions::answer(const std::string& asked, const Json& members) {
  GOODPUT_TRY(const std::size_t index, index_of_name(kQuestions, "question", asked));
  switch (index) {
    case 0:
      return usable_nodes(members);
    case 1:
      return step_time(members);
    case 2:
      return checkpoint(members);
    case 3:
      return mtbf(members);
    default:
      return random(members);
  }
}

Result<OrderedJson> JobQuestions::usable_nodes(const Json& members) const {
  std::int32_t nodes = 0;
  GOODPUT_TRY_STATUS(read_members(members, [&nodes]() -> config::Fields {
    return {{"nodes", Need::kRequired, config::integer(nodes, 0), "number of available nodes"}};
  }));
  return OrderedJson{{"nodes", job_->speed->usable(nodes)}};
}

Result<OrderedJson> JobQuestions::step_time(const Json& members) const {
  StepQuestion question;
  GOODPUT_TRY_STATUS(read_members(members, [&question] { return question.fields(); }));
  GOODPUT_TRY(const StepTime time, question.answer(*job_->speed));
  return OrderedJson{{"step_ns", time.step.count()},
                     {"forward_backward_ns", time.forward_backward.count()},
                     {"samples", time.samples},
                     {"until", step_or_null(job_->speed->stretch(question.step).until)}};
}

// Whole checkpoints in storage that all nodes share, as `checkpoint` and its like have them.
Result<OrderedJson> JobQuestions::checkpoint(const Json& members) const {
  StepQuestion question;
  CheckpointSettings settings;
  SimDuration restart{};
  GOODPUT_TRY_STATUS(read_members(members, [&] {
    config::Fields fields = question.fields();
    fields.push_back({"settings", Need::kOptional, checkpoint_value(settings, {}),
                      "how checkpoints are written and read: same keys as in `checkpoint`"});
    fields.push_back(
        {"restart_ns", Need::kOptional, nanoseconds(restart, 0), "time from a loss until training resumes"});
    return fields;
  }));
  if (const Status known = check_interval(settings, *job_->job); !known)
    return known.error().inside("/settings");
  GOODPUT_TRY(const StepTime time, question.answer(*job_->speed));
  const StorageCheckpoints store(*job_->job, settings);
  const SimDuration restore = store.restore_time(ResumeFrom::kStorage, question.nodes);
  const CheckpointRule rule = store.rules(time, question.nodes, restart + restore)[1];
  return OrderedJson{{"bytes", store.bytes().value},
                     {"restore_ns", restore.count()},
                     {"save_ns", store.planned_save(question.nodes).count()},
                     {"rule",
                      {{"interval", rule.interval},
                       {"stall_ns", rule.stall.count()},
                       {"lag_ns", rule.lag.count()},
                       {"bytes", rule.bytes.value},
                       {"asked", rule.asked}}}};
}

// None known: null. Never: no failure can hit the job.
Result<OrderedJson> JobQuestions::mtbf(const Json& members) const {
  std::int32_t nodes = 0;
  GOODPUT_TRY_STATUS(read_members(members, [&nodes, most = job_->job->most_nodes()]() -> config::Fields {
    return {{"nodes", Need::kRequired, config::integer(nodes, 1, most), "number of nodes that the job uses"}};
  }));
  const std::optional<double> seconds = job_->job->mtbf_s(nodes);
  const bool is_finite = seconds && std::isfinite(*seconds);
  return OrderedJson{{"mtbf_s", is_finite ? OrderedJson(*seconds) : OrderedJson(nullptr)},
                     {"never", seconds && !is_finite}};
}

Result<OrderedJson> JobQuestions::random(const Json& members) {
  DrawQuestion question;
  GOODPUT_TRY_STATUS(read_members(members, [&question] { return question.fields(); }));
  const std::pair key{question.stream, question.id};
  auto stream = streams_.find(key);
  if (stream == streams_.end()) {
    if (streams_.size() == kMostStreams)
      return Error{fmt::format("exceeds the limit of {} streams", kMostStreams), {.pointer = "/stream"}};
    // Never a stream of the failures: their future is not to be known.
    const std::string name = fmt::format("policy, trial {}: {}", run_.trial, question.stream);
    stream =
        streams_.emplace(key, RandomStream(run_.seed, name, static_cast<std::uint64_t>(question.id))).first;
  }
  OrderedJson values = OrderedJson::array();
  for (std::int64_t i = 0; i < question.count; ++i) values.push_back(question.next(stream->second));
  return OrderedJson{{"values", std::move(values)}};
}

OrderedJson job_facts(const JobModel& job) {
  const TrainingPlan& plan = job.plan();
  const ParallelPlan& parallel = plan.parallel;
  return {{"model", plan.model.name},
          {"parameters", job.modules().parameters()},
          {"experts", job.modules().experts},
          {"nodes", job.most_nodes()},
          {"nodes_ever", job.most_nodes_ever()},
          {"plan_nodes", job.plan_nodes()},
          {"gpus_per_node", plan.cluster.gpus_per_node},
          {"start", kJobStartNames[static_cast<std::size_t>(job.start())]},
          {"batch", kBatchRuleNames[static_cast<std::size_t>(job.steps().batch().rule())]},
          {"global_batch", parallel.global_batch},
          {"sequence_length", parallel.sequence_length},
          {"dp", parallel.dp},
          {"pp", parallel.pp},
          {"tp", parallel.tp},
          {"cp", parallel.cp},
          {"ep", parallel.ep}};
}

}  // namespace goodput
