#include "models/planner/plan_space.h"

#include <fmt/format.h>

#include <utility>

#include "models/schedule/schedule.h"
#include "sim/base/json.h"

namespace goodput {
namespace {

using config::Need;

constexpr std::int64_t kMostInList = 10'000'000;

// An array of what `one` reads and writes.
template <typename T, typename OneOf>
config::Value list_value(std::vector<T>& values, std::string wanted, OneOf one) {
  const auto read = [&values, wanted, one](const Json& from, config::Place& place) -> Status {
    if (!from.is_array()) return place.not_wanted(from, wanted);
    values.clear();
    for (const Json& element : from) {
      T value{};
      config::Place at = place.at(std::to_string(values.size()));
      GOODPUT_TRY_STATUS(one(value).read(element, at));
      values.push_back(std::move(value));
    }
    return Ok{};
  };
  const auto write = [&values, one](OrderedJson& into) {
    into = OrderedJson::array();
    for (T value : values) one(value).write(into.emplace_back());
  };
  return {std::move(wanted), read, write, {}};
}

}  // namespace

config::Fields config_fields(PlanSpace& space) {
  const auto sizes = [](std::vector<std::int32_t>& values) {
    return config::integers(values, 1, kMostInList);
  };
  return {
      {"dp", Need::kOptional, sizes(space.dp), "numbers of data-parallel replicas to try"},
      {"pp", Need::kOptional, sizes(space.pp), "numbers of pipeline stages to try"},
      {"tp", Need::kOptional, sizes(space.tp), "tensor-parallel sizes to try"},
      {"cp", Need::kOptional, sizes(space.cp), "context-parallel sizes to try"},
      {"ep", Need::kOptional, sizes(space.ep), "expert-parallel sizes to try"},
      {"etp", Need::kOptional, sizes(space.etp),
       "expert tensor-parallel sizes to try (default: the base plan's or the stack's; otherwise tp and 1)"},
      {"vpp", Need::kOptional, config::integers(space.vpp, 1, 10'000),
       "numbers of model chunks per stage to try"},
      {"zero", Need::kOptional, config::integers(space.zero, 0, 3), "values of zero to try, as in plans"},
      {"micro_batch", Need::kOptional, sizes(space.micro_batch),
       "numbers of sequences per micro-batch to try"},
      {"recompute", Need::kOptional,
       list_value(space.recompute, R"(an array of "none", "selective", "full")",
                  [](Recompute& value) { return config::choice(value, kRecomputeNames); }),
       "values of recompute to try, as in plans"},
      {"schedules", Need::kOptional,
       list_value(space.schedules, "an array of names", [](std::string& name) { return config::text(name); }),
       "pipeline schedules to try; see `goodput list schedules`"},
  };
}

Status config_finish(PlanSpace& space) {
  for (std::size_t i = 0; i < space.schedules.size(); ++i) {
    const auto found = find_schedule(space.schedules[i]);
    if (!found) return Error{found.error().what, {.pointer = fmt::format("/schedules/{}", i)}};
  }
  return Ok{};
}

}  // namespace goodput
