#include "models/migration/reconfiguration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "sim/base/json.h"

namespace goodput {
namespace {

constexpr config::Range kReconfigurationSeconds = config::between(0, 3600);

// The two numbers of {"uniform": [10, 20]}.
Result<TimeRange> read_uniform(const Json& from, const config::Place& place, config::Range limits) {
  const bool is_pair = from.size() == 1 && from.contains("uniform") && from["uniform"].is_array() &&
                       from["uniform"].size() == 2;
  if (!is_pair) {
    return place.error(
        R"(must have one key, "uniform", with an array of two numbers, for example {"uniform": [10, 20]})");
  }
  std::array<SimDuration, 2> ends{};
  config::Place list = place.at("uniform");
  for (std::size_t i = 0; i < ends.size(); ++i) {
    config::Place at = list.at(std::to_string(i));
    GOODPUT_TRY_STATUS(config::number(ends[i], limits, from_seconds(1)).read(from["uniform"][i], at));
  }
  if (ends[0] > ends[1]) {
    return list.error(fmt::format("must be in ascending order, not [{}, {}]; swap the two numbers",
                                  to_seconds(ends[0]), to_seconds(ends[1])));
  }
  return TimeRange{ends[0], ends[1]};
}

}  // namespace

SimDuration TimeRange::draw(RandomStream& random) const {
  if (is_fixed()) return least;
  return least + SimDuration{static_cast<std::int64_t>(random.uniform() *
                                                       static_cast<double>((most - least).count()))};
}

config::Value time_range(TimeRange& range, config::Range limits) {
  const std::string wanted = config::number(range.least, limits, from_seconds(1)).wanted +
                             R"(, or {"uniform": [MIN, MAX]} with two such numbers)";
  const auto read = [&range, limits, wanted](const Json& from, config::Place& place) -> Status {
    if (from.is_object()) {
      GOODPUT_TRY(range, read_uniform(from, place, limits));
      return Ok{};
    }
    if (!from.is_number()) return place.not_wanted(from, wanted);
    GOODPUT_TRY_STATUS(config::number(range.least, limits, from_seconds(1)).read(from, place));
    range.most = range.least;
    return Ok{};
  };
  const auto write = [&range](OrderedJson& into) {
    into = to_seconds(range.least);
    if (!range.is_fixed())
      into = {{"uniform", OrderedJson::array({to_seconds(range.least), to_seconds(range.most)})}};
  };
  return {wanted, read, write, {}};
}

config::Fields config_fields(ReconfigurationTiming& timing) {
  config::Fields fields = config_fields(timing.moves);
  for (config::Field& field : fields) {
    if (field.key == "detect_s") field.value = time_range(timing.detect, kReconfigurationSeconds);
    if (field.key == "regroup_s") field.value = time_range(timing.regroup, kReconfigurationSeconds);
  }
  fields.push_back({"overlap", config::Need::kOptional, config::flag(timing.overlap),
                    "whether nodes form new process groups while the failure is being detected: the longer "
                    "time counts instead of the sum"});
  fields.push_back({"dense_state", config::Need::kOptional, config::flag(timing.dense_state),
                    "whether nodes that join also fetch the parameters and optimizer states outside of the "
                    "experts, which every other node can send"});
  return fields;
}

TimeRange until_regrouped(const ReconfigurationTiming& timing) {
  if (!timing.overlap) return timing.detect + timing.regroup;
  return {std::max(timing.detect.least, timing.regroup.least),
          std::max(timing.detect.most, timing.regroup.most)};
}

double mean_s_until_regrouped(const ReconfigurationTiming& timing) {
  if (!timing.overlap) return to_seconds(timing.detect.middle() + timing.regroup.middle());
  constexpr int kParts = 200;  // of either range: the mean of the longer time at their middles
  const auto part = [](const TimeRange& range, int i) {
    return to_seconds(range.least) + (i + 0.5) / kParts * to_seconds(range.most - range.least);
  };
  double sum = 0;
  for (int i = 0; i < kParts; ++i) {
    for (int j = 0; j < kParts; ++j) sum += std::max(part(timing.detect, i), part(timing.regroup, j));
  }
  return sum / (kParts * kParts);
}

ReconfigurationTimes ReconfigurationDraws::next(const ReconfigurationTiming& timing, bool has_lost) {
  const SimDuration detect = timing.detect.draw(detect_);
  const SimDuration regroup = timing.regroup.draw(regroup_);
  if (!timing.overlap || !has_lost) return {detect, regroup};
  return {detect, std::max(regroup - detect, SimDuration{})};
}

}  // namespace goodput
