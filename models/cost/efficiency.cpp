#include "models/cost/efficiency.h"

#include "models/cost/stated_values.h"
#include "sim/base/json.h"

namespace goodput {
namespace {

using config::Need;

config::Value tier_value(std::optional<Tier>& tier) {
  const auto read = [&tier](const Json& from, config::Place& place) -> Status {
    Tier stated{};
    GOODPUT_TRY_STATUS(config::tier(stated).value.read(from, place));
    tier = stated;
    return Ok{};
  };
  const auto write = [&tier](OrderedJson& into) {
    if (tier) into = to_string(*tier);
  };
  Tier unread{};
  return {config::tier(unread).value.wanted, read, write, {}};
}

}  // namespace

RooflineParameters replaced(RooflineParameters parameters, const StatedEfficiency& stated) {
  if (stated.values.front()) parameters.fp8_gemm_efficiency = 0;
  for (std::size_t i = 0; i < kEfficiencyKeys.size(); ++i) {
    if (stated.values[i]) parameters.*kEfficiencyKeys[i].value = *stated.values[i];
  }
  parameters.tier = stated.tier.value_or(parameters.tier);
  return parameters;
}

config::Fields config_fields(RooflineParameters& parameters) {
  config::Fields fields;
  for (const EfficiencyKey& key : kEfficiencyKeys) {
    config::Value value = config::number(parameters.*key.value, key.range);
    if (key.zero_is_absent) value = stated::unless(parameters.*key.value, 0.0, std::move(value));
    fields.push_back({key.name, Need::kOptional, std::move(value), key.meaning});
  }
  fields.push_back(config::tier(parameters.tier));
  return fields;
}

config::Fields config_fields(StatedEfficiency& stated) {
  config::Fields fields;
  for (std::size_t i = 0; i < kEfficiencyKeys.size(); ++i) {
    std::optional<double>& value = stated.values[i];
    fields.push_back({kEfficiencyKeys[i].name, Need::kOptional,
                      config::number([&value] { return value; }, [&value](double given) { value = given; },
                                     kEfficiencyKeys[i].range),
                      kEfficiencyKeys[i].meaning});
  }
  fields.push_back(
      {"tier", Need::kOptional, tier_value(stated.tier), "how reliable the numbers of this object are"});
  return fields;
}

}  // namespace goodput
