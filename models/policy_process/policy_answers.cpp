#include "models/policy_process/policy_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/policy_process/answer_fields.h"
#include "models/policy_process/policy_command.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/config/config.h"
#include "sim/config/json_file.h"

namespace goodput {
namespace {

using config::Need;

constexpr std::string_view kResponseNames[] = {"ignore", "at_step_end", "interrupt"};
constexpr std::string_view kCourseNames[] = {"train", "wait", "give_up"};
constexpr std::string_view kResumeNames[] = {"here", "memory", "storage"};

// The members of an answer besides "answer", which says what it answers.
template <typename MakeFields>
Status read_answer(const Json& answer, std::string_view call, const MakeFields& fields) {
  const auto said = answer.find("answer");
  if (said == answer.end() || !said->is_string() || said->get<std::string>() != call)
    return Error{fmt::format("must contain \"answer\": \"{}\"", call)};
  Json members = answer;
  members.erase("answer");
  config::Place place;
  const config::ObjectAccess access{[] { return true; }, fields, []() -> Status { return Ok{}; }};
  return config::object(access).read(members, place);
}

Error at(std::string pointer, std::string what) {
  return {std::move(what), {.pointer = std::move(pointer)}};
}

config::Field wake_field(SimTime& wake_at) {
  return {"wake_at_ns", Need::kOptional, moment(wake_at), "when to call on_wake; null: never"};
}

Status check_wake(SimTime wake_at, SimTime earliest) {
  if (wake_at >= earliest) return Ok{};
  return at("/wake_at_ns", fmt::format("must be {} or later, not {}", earliest.time_since_epoch().count(),
                                       wake_at.time_since_epoch().count()));
}

// More than a sample a nanosecond, and nobody could count them to the end of the clock.
Status check_pace(const Pace& pace, std::int64_t step, std::int64_t samples_per_step) {
  if (pace.until <= step)
    return at("/until", fmt::format("must be after step {} (the next step), not {}", step, pace.until));
  if (pace.step.count() >= samples_per_step) return Ok{};
  return at("/step_ns", fmt::format("is {} for {} samples, which is more than one sample per nanosecond",
                                    pace.step.count(), samples_per_step));
}

// As it is written.
struct WrittenCourse {
  CourseAnswer answer{};
  std::size_t kind = 0;
  std::optional<Pace> pace{};
};

config::Fields course_fields(WrittenCourse& written) {
  Course& course = written.answer.course;
  return {{"kind", Need::kRequired, config::choice(course.kind, kCourseNames), "what the job does"},
          {"cause", Need::kOptional, config::choice(course.cause, kCauseNames), "cause shown in results"},
          {"from", Need::kOptional, config::choice(course.from, kResumeNames),
           "state that training resumes from"},
          {"phases", Need::kOptional, phases(course.phases), "phases before training resumes"},
          {"saves", Need::kOptional, config::flag(course.saves),
           "whether the checkpoint_save phase writes to storage"},
          {"nodes", Need::kOptional, config::integers(written.answer.nodes, 0),
           "IDs of the training nodes, ascending"},
          {"samples_per_step", Need::kOptional, config::integer(course.samples_per_step, 1, kMostPolicyNs),
           "number of samples per step"},
          {"checkpoints", Need::kOptional, config::object(course.checkpoints),
           "checkpoint rules during training"},
          {"decide_at_step", Need::kOptional, step_ahead(course.decide_at_step),
           "call decide again after this step"},
          {"reason", Need::kOptional, short_text(course.reason), "why the job waits or gives up"},
          {"pace", Need::kOptional, or_nothing(config::object(config::access(written.pace))),
           "pace of the first steps"},
          wake_field(written.answer.wake_at)};
}

// The order of the nodes, and that they are there.
Status check_nodes(std::span<const NodeId> nodes, const Membership& members) {
  if (nodes.empty()) return at("/nodes", "must list the nodes that train; it is empty");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string pointer = fmt::format("/nodes/{}", i);
    if (i > 0 && nodes[i] <= nodes[i - 1])
      return at(pointer, fmt::format("is {} after {}; node IDs must be ascending", nodes[i], nodes[i - 1]));
    if (!members.contains(nodes[i]))
      return at(pointer, fmt::format("is {}, but this node is not available", nodes[i]));
  }
  return Ok{};
}

// The clock ends after 292 years; whatever the course asks for has to be over by then.
Status check_clock(const Course& course, SimTime now) {
  SimDuration most = course.checkpoints[0].stall + course.checkpoints[0].lag + course.checkpoints[1].stall +
                     course.checkpoints[1].lag;
  for (const Phase& phase : course.phases.all()) most += phase.duration;
  if (most < kNoTime - now) return Ok{};
  return at("/phases", "must end within 292 years, the limit of the simulated clock");
}

Status check_training(const WrittenCourse& written, const JobState& job) {
  const Course& course = written.answer.course;
  GOODPUT_TRY_STATUS(check_nodes(written.answer.nodes, *job.members));
  if (course.samples_per_step == 0)
    return at("/samples_per_step", "is missing; give the number of samples per step");
  GOODPUT_TRY_STATUS(check_clock(course, job.now));
  const std::int64_t step = job.step_from(course.from);
  if (course.decide_at_step <= step)
    return at("/decide_at_step",
              fmt::format("must be after step {} (the step from which the job resumes), not {}", step,
                          course.decide_at_step));
  if (!written.pace) return Ok{};
  const Status paced = check_pace(*written.pace, step, course.samples_per_step);
  return paced ? Status(Ok{}) : Status(paced.error().inside("/pace"));
}

// No column of a table of results, now or ever, has such a name: what a policy says is not mistaken for what
// was found about it.
bool is_figure_name(std::string_view name) {
  constexpr std::string_view kPrefix = "my_";
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  constexpr std::size_t kLongest = 64;
  return name.starts_with(kPrefix) && name.size() > kPrefix.size() && name.size() <= kLongest &&
         name.find_first_not_of(kLetters) == std::string_view::npos;
}

}  // namespace

Result<Json> parse_policy_line(const std::string& line) {
  auto parsed = config::parse_text(line, {});
  if (!parsed) {
    Error error = parsed.error();
    error.where.position = {};  // in a line that is told itself
    return Error{fmt::format("{} in {}", error.message(), in_quotes(line))};
  }
  if (!parsed->is_object()) return Error{fmt::format("is not a JSON object: {}", in_quotes(line))};
  return parsed;
}

Result<HelloAnswer> read_hello(const Json& answer) {
  std::int64_t protocol = 0;
  if (const auto spoken = answer.find("protocol"); spoken != answer.end() && spoken->is_number_integer())
    protocol = spoken->get<std::int64_t>();
  if (protocol != kPolicyProtocol) {
    return at("/protocol", fmt::format("is {}, but must be {}, the protocol version of goodput",
                                       answer.contains("protocol") ? answer["protocol"].dump() : "missing",
                                       kPolicyProtocol));
  }
  HelloAnswer hello;
  GOODPUT_TRY_STATUS(read_answer(answer, "hello", [&]() -> config::Fields {
    return {{"protocol", Need::kRequired, config::integer(protocol, 1, 1), "protocol version"},
            {"refuse", Need::kOptional, short_text(hello.refuse), "why the policy cannot run the job"},
            {"metrics", Need::kOptional, short_texts(hello.metrics), "names of the policy's own metrics"},
            {"warnings", Need::kOptional, short_texts(hello.warnings), "warnings about this job"}};
  }));
  for (auto name = hello.metrics.begin(); name != hello.metrics.end(); ++name) {
    const std::string pointer = fmt::format("/metrics/{}", name - hello.metrics.begin());
    if (!is_figure_name(*name)) {
      return at(pointer,
                fmt::format("must be my_ followed by letters a to z, digits and _ (such as my_swaps), not {}",
                            in_quotes(*name)));
    }
    if (std::find(hello.metrics.begin(), name, *name) != name) return at(pointer, "occurs twice");
  }
  return hello;
}

Status read_start(const Json& answer) {
  return read_answer(answer, "start_run", [] { return config::Fields{}; });
}

Result<ChangeAnswer> read_response(const Json& answer, std::string_view call, SimTime earliest) {
  ChangeAnswer change;
  GOODPUT_TRY_STATUS(read_answer(answer, call, [&]() -> config::Fields {
    return {{"response", Need::kRequired, config::choice(change.response, kResponseNames), "when to decide"},
            wake_field(change.wake_at)};
  }));
  GOODPUT_TRY_STATUS(check_wake(change.wake_at, earliest));
  return change;
}

Status check_response(const ChangeAnswer& answer, std::span<const NodeId> used,
                      std::span<const NodeId> lost) {
  if (answer.response == Response::kInterrupt) return Ok{};
  for (const NodeId node : lost) {
    if (!std::binary_search(used.begin(), used.end(), node)) continue;
    return at("/response", fmt::format("must be \"interrupt\", not \"{}\": node {} is in use and was lost",
                                       kResponseNames[static_cast<std::size_t>(answer.response)], node));
  }
  return Ok{};
}

Result<Pace> read_pace(const Json& answer, std::int64_t step, std::int64_t samples_per_step) {
  Pace pace;
  GOODPUT_TRY_STATUS(read_answer(answer, "pace", [&] { return config_fields(pace); }));
  GOODPUT_TRY_STATUS(check_pace(pace, step, samples_per_step));
  return pace;
}

Result<CourseAnswer> read_course(const Json& answer, const JobState& job) {
  WrittenCourse written;
  GOODPUT_TRY_STATUS(read_answer(answer, "decide", [&] { return course_fields(written); }));
  GOODPUT_TRY_STATUS(check_wake(written.answer.wake_at, job.now));
  if (written.answer.course.kind == Course::Kind::kTrain) {
    GOODPUT_TRY_STATUS(check_training(written, job));
  } else if (written.answer.course.reason.empty()) {
    return at("/reason", "is missing; give the reason, such as \"needs 4 nodes\"");
  }
  written.answer.pace = written.pace;
  return std::move(written.answer);
}

Result<std::vector<double>> read_metrics(const Json& answer, std::span<const std::string> names) {
  const auto given = answer.find("metrics");
  if (names.empty() && given != answer.end() && given->is_object() && !given->empty())
    return at("/metrics", "has metrics, but the answer to \"hello\" named none");
  std::vector<double> values(names.size());
  const auto fields = [&] {
    config::Fields all;
    for (std::size_t i = 0; i < names.size(); ++i) {
      all.push_back({names[i], Need::kRequired, config::number(values[i], config::between(-1e300, 1e300)),
                     "value of the metric for this run"});
    }
    return all;
  };
  const config::ObjectAccess metrics{[] { return true; }, fields, []() -> Status { return Ok{}; }};
  const Need need = names.empty() ? Need::kOptional : Need::kRequired;
  GOODPUT_TRY_STATUS(read_answer(answer, "end_run", [&]() -> config::Fields {
    return {{"metrics", need, config::object(metrics), "metrics of the run"}};
  }));
  return values;
}

}  // namespace goodput
