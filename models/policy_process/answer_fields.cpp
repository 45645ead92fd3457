#include "models/policy_process/answer_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "models/checkpoint/save_interval.h"
#include "models/policy_process/policy_answers.h"
#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

using config::Need;
using config::Place;

constexpr std::size_t kMostTexts = 64;
constexpr std::size_t kLongestText = 400;
constexpr std::size_t kMostPhases = 8;
constexpr std::int64_t kMostBytes = 1'000'000'000'000'000'000;

// Of a phase: what is neither training nor no time of the job.
std::vector<std::string_view> phase_buckets() {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kTimeBucketCount; ++i) {
    const auto bucket = static_cast<TimeBucket>(i);
    const bool is_phase = bucket != TimeBucket::kProductive && bucket != TimeBucket::kWastedProgress &&
                          bucket != TimeBucket::kIdleNode;
    if (is_phase) names.push_back(kTimeBuckets[i].name);
  }
  return names;
}

TimeBucket bucket_named(std::string_view name) {
  const auto* const found = std::find_if(kTimeBuckets.begin(), kTimeBuckets.end(),
                                         [name](const TimeBucketInfo& info) { return info.name == name; });
  return static_cast<TimeBucket>(found - kTimeBuckets.begin());
}

Status read_text(const Json& from, const Place& place, std::string& text) {
  if (!from.is_string()) return place.not_wanted(from, "a string");
  text = from.get<std::string>();
  if (text.size() > kLongestText)
    return place.error(fmt::format("must have at most {} bytes, not {}", kLongestText, text.size()));
  if (on_one_line(text) != text) return place.error("must be one line of text without control characters");
  return Ok{};
}

// A phase as it is written: {"bucket": "checkpoint_restore", "ns": 5}.
struct NamedPhase {
  std::size_t bucket = 0;  // of phase_buckets()
  SimDuration duration{};
};

config::Fields phase_fields(NamedPhase& phase, std::span<const std::string_view> buckets) {
  return {{"bucket", Need::kRequired,
           config::choice([&phase] { return phase.bucket; },
                          [&phase](std::size_t index) { phase.bucket = index; }, buckets),
           "what the nodes do in the phase"},
          {"ns", Need::kRequired, nanoseconds(phase.duration, 0), "duration of the phase"}};
}

}  // namespace

config::Value or_nothing(config::Value value) {
  config::Value result = value;
  result.wanted += ", or null";
  result.read = [read = std::move(value.read)](const Json& from, Place& place) -> Status {
    return from.is_null() ? Status(Ok{}) : read(from, place);
  };
  return result;
}

config::Value nanoseconds(SimDuration& value, std::int64_t least) {
  const auto read = [&value, least](const Json& from, Place& place) -> Status {
    std::int64_t count = 0;
    GOODPUT_TRY_STATUS(config::integer(count, least, kMostPolicyNs).read(from, place));
    value = SimDuration{count};
    return Ok{};
  };
  return {"nanoseconds", read, {}, {}};
}

config::Value moment(SimTime& value) {
  const auto read = [&value](const Json& from, Place& place) -> Status {
    std::int64_t count = 0;
    constexpr std::int64_t kLast = kNoTime.time_since_epoch().count() - 1;
    GOODPUT_TRY_STATUS(config::integer(count, 0, kLast).read(from, place));
    value = SimTime{SimDuration{count}};
    return Ok{};
  };
  return or_nothing({"nanoseconds", read, {}, {}});
}

config::Value step_ahead(std::int64_t& value) {
  return or_nothing(config::integer(value, 1, kMostPolicySteps));
}

config::Value phases(Phases& phases) {
  const auto read = [&phases](const Json& from, const Place& place) -> Status {
    if (!from.is_array() || from.size() > kMostPhases)
      return place.not_wanted(from, fmt::format("an array of at most {} phases", kMostPhases));
    const std::vector<std::string_view> buckets = phase_buckets();
    std::size_t index = 0;
    for (const Json& element : from) {
      NamedPhase phase;
      Place at = place.at(std::to_string(index++));
      const config::ObjectAccess access{[] { return true; }, [&] { return phase_fields(phase, buckets); },
                                        []() -> Status { return Ok{}; }};
      GOODPUT_TRY_STATUS(config::object(access).read(element, at));
      phases.add(bucket_named(buckets[phase.bucket]), phase.duration);
    }
    return Ok{};
  };
  return {"an array of phases", read, {}, {}};
}

config::Value short_texts(std::vector<std::string>& texts) {
  const auto read = [&texts](const Json& from, const Place& place) -> Status {
    if (!from.is_array() || from.size() > kMostTexts)
      return place.not_wanted(from, fmt::format("an array of at most {} strings", kMostTexts));
    for (const Json& element : from) {
      const Place at = place.at(std::to_string(texts.size()));
      GOODPUT_TRY_STATUS(read_text(element, at, texts.emplace_back()));
    }
    return Ok{};
  };
  return {"an array of strings", read, {}, {}};
}

config::Value short_text(std::string& text) {
  const auto read = [&text](const Json& from, const Place& place) { return read_text(from, place, text); };
  return {"a string", read, {}, {}};
}

config::Fields config_fields(CheckpointRule& rule) {
  return {{"interval", Need::kOptional, config::integer(rule.interval, 0, kMostIntervalSteps),
           "number of steps between checkpoints; 0: never"},
          {"stall_ns", Need::kOptional, nanoseconds(rule.stall, 0),
           "how long training stops for each checkpoint"},
          {"lag_ns", Need::kOptional, nanoseconds(rule.lag, 0),
           "time from the end of the stall until the checkpoint can be used"},
          {"bytes", Need::kOptional, config::integer(rule.bytes.value, 0, kMostBytes),
           "number of bytes that each checkpoint writes"},
          {"asked", Need::kOptional, config::integer(rule.asked, 0, kMostIntervalSteps),
           "the requested interval, if storage could not keep up with that interval"}};
}

Status config_finish(CheckpointRule& rule) {
  if (rule.asked == 0 || rule.asked < rule.interval) return Ok{};
  return Error{fmt::format("must be 0, or below the interval ({}); found {}", rule.interval, rule.asked),
               {.pointer = "/asked"}};
}

config::Fields config_fields(CheckpointRules& rules) {
  return {{"memory", Need::kOptional, config::object(rules[0]), "checkpoints in the memory of nodes"},
          {"storage", Need::kOptional, config::object(rules[1]),
           "checkpoints in storage, which survive every failure"}};
}

Status config_finish(CheckpointRules& rules) {
  const auto& [memory, storage] = rules;
  if (memory.interval == 0 || storage.interval % memory.interval == 0) return Ok{};
  return Error{fmt::format("must be a multiple of the memory interval ({}), not {}", memory.interval,
                           storage.interval),
               {.pointer = "/storage/interval"}};
}

config::Fields config_fields(Pace& pace) {
  return {
      {"step_ns", Need::kRequired, nanoseconds(pace.step, 1), "duration of a step"},
      {"until", Need::kOptional, step_ahead(pace.until), "first step that may have a different duration"}};
}

}  // namespace goodput
