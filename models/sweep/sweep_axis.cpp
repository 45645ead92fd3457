#include "models/sweep/sweep_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/failure/failure_fields.h"
#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

using config::Need;

// Text as on the command line, or an array of JSON values as they are.
config::Value axis_values_value(SweepAxis& axis) {
  const std::string wanted = "a string as on the command line, or an array of values";
  const auto read = [&axis, wanted](const Json& from, const config::Place& place) -> Status {
    axis.values_json = from.dump();
    axis.file = place.file;
    if (from.is_string()) {
      auto values = AxisValues::parse(from.get_ref<const std::string&>());
      if (!values) return place.error(values.error().what);
      axis.values = *std::move(values);
      return Ok{};
    }
    if (!from.is_array() || from.empty()) return place.not_wanted(from, wanted);
    std::vector<std::string> values;
    for (const Json& value : from) values.push_back(value.dump());
    axis.values = AxisValues::of(std::move(values));
    return Ok{};
  };
  const auto write = [&axis](OrderedJson& into) {
    if (!axis.values_json.empty()) into = OrderedJson::parse(axis.values_json);
  };
  return {wanted, read, write, {}};
}

config::Value sweep_settings_value(std::vector<SweepSetting>& sets) {
  const std::string wanted = "an object that maps JSON pointers to expressions";
  const auto read = [&sets, wanted](const Json& from, const config::Place& place) -> Status {
    if (!from.is_object()) return place.not_wanted(from, wanted);
    sets.clear();
    for (const auto& [pointer, text] : from.items()) {
      const config::Place at = place.at(pointer);
      if (!text.is_string()) return at.not_wanted(text, "a string such as \"128 + spares\"");
      auto value = Expression::parse(text.get_ref<const std::string&>());
      if (!value) return at.error(value.error().what);
      sets.push_back({pointer, *std::move(value)});
    }
    return Ok{};
  };
  const auto write = [&sets](OrderedJson& into) {
    for (const SweepSetting& setting : sets) into[setting.pointer] = setting.value.text();
  };
  return {wanted, read, write, {}};
}

Status check_sweep_pointer(const std::string& pointer, std::string_view key) {
  if (pointer.starts_with('/')) return Ok{};
  return Error{
      fmt::format(
          "{} is not a JSON pointer; a JSON pointer begins with a slash, such as /failures/mtbf_hours",
          in_quotes(pointer)),
      {.pointer = std::string(key)}};
}

Status check_tuples(const SweepAxis& axis) {
  const auto refuse = [&axis](const std::string& what) {
    return Error{fmt::format("{}, but each value must be an array of {} values, one per JSON pointer", what,
                             axis.pointers.size()),
                 {.pointer = "/values"}};
  };
  const auto count = axis.values.count();
  if (!count) return refuse("is a range");
  for (std::uint64_t i = 0; i < *count; ++i) {
    const Json value = Json::parse(axis.values.at(i));
    if (!value.is_array() || value.size() != axis.pointers.size()) return refuse("has " + value.dump());
  }
  return Ok{};
}

Status check_spares_values(const AxisValues& values) {
  const auto wrong = values.find_unlike([](const std::string& value) {
    const Json number = Json::parse(value);
    return number.is_number() && number.get<double>() >= 0 &&
           std::trunc(number.get<double>()) == number.get<double>();
  });
  if (!wrong) return Ok{};
  return Error{fmt::format("spares must be whole numbers of nodes, 0 or more, not {}", on_one_line(*wrong)),
               {.pointer = "/values"}};
}

}  // namespace

std::vector<std::string> SweepAxis::parameters() const {
  if (!pointers.empty()) return pointers;
  return {pointer.empty() ? name : pointer};
}

std::vector<std::string> SweepAxis::split(const std::string& value) const {
  if (pointers.empty()) return {value};
  std::vector<std::string> parts;
  for (const Json& part : Json::parse(value)) parts.push_back(part.dump());
  return parts;
}

config::Fields config_fields(SweepAxis& axis) {
  return {{"pointer", Need::kOptional, config::text(axis.pointer),
           "JSON pointer to the key that varies, such as /failures/mtbf_hours; give exactly one of pointer, "
           "pointers and name"},
          {"pointers", Need::kOptional, config::texts(axis.pointers),
           "JSON pointers that vary together; each value is an array with one entry per pointer"},
          {"name", Need::kOptional, config::text(axis.name),
           "name of a variable that the values in `sets` are computed from"},
          {"values", Need::kRequired, axis_values_value(axis),
           "\"10,25,50\", \"0..8\", \"0..64:8\", \"600..86400/7:log\", or [10, \"young\"]"},
          {"sets", Need::kOptional, sweep_settings_value(axis.sets),
           "values that depend on variables; the default for the variable spares is {\"/nodes\": "
           "\"plan_nodes + spares\"}"}};
}

Status config_finish(SweepAxis& axis) {
  const int given =
      (axis.pointer.empty() ? 0 : 1) + (axis.pointers.empty() ? 0 : 1) + (axis.name.empty() ? 0 : 1);
  if (given != 1)
    return Error{"must have exactly one of pointer, pointers and name, which define what varies"};
  if (!axis.pointer.empty()) GOODPUT_TRY_STATUS(check_sweep_pointer(axis.pointer, "/pointer"));
  for (const std::string& pointer : axis.pointers)
    GOODPUT_TRY_STATUS(check_sweep_pointer(pointer, "/pointers"));
  if (!axis.pointers.empty()) GOODPUT_TRY_STATUS(check_tuples(axis));
  for (const SweepSetting& setting : axis.sets)
    GOODPUT_TRY_STATUS(check_sweep_pointer(setting.pointer, "/sets"));
  if (axis.name.empty()) {
    if (axis.sets.empty()) return Ok{};
    return Error{"uses variables, so the axis must have a name instead of a JSON pointer",
                 {.pointer = "/sets"}};
  }
  if (axis.is_spares()) GOODPUT_TRY_STATUS(check_spares_values(axis.values));
  if (is_variable_name(axis.name) && axis.name != kPlanNodes) return Ok{};
  if (axis.name.find('/') != std::string::npos) return check_sweep_pointer(axis.name, "/name");
  return Error{
      fmt::format("{} is not a valid name for a variable; use letters, digits and underscores, but not {}",
                  in_quotes(axis.name), kPlanNodes),
      {.pointer = "/name"}};
}

Result<SweepAxis> parse_sweep_axis(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return Error{"expected POINTER=VALUES, for example /failures/mtbf_hours=10,100, or spares=0..8"};
  SweepAxis axis;
  const std::string_view what = text.substr(0, equals);
  std::vector<std::string> pointers;
  for (std::size_t begin = 0; begin != std::string_view::npos;) {  // a comma of a name has no slash behind it
    const std::size_t comma = what.find(",/", begin);
    pointers.emplace_back(what.substr(begin, comma == std::string_view::npos ? comma : comma - begin));
    begin = comma == std::string_view::npos ? comma : comma + 1;
  }
  if (!what.starts_with('/'))
    axis.name = what;
  else if (pointers.size() == 1)
    axis.pointer = what;
  else
    axis.pointers = std::move(pointers);
  const std::string_view values = text.substr(equals + 1);
  axis.values_json = Json(values).dump();
  GOODPUT_TRY(axis.values, AxisValues::parse(values));
  GOODPUT_TRY_STATUS(config_finish(axis));
  return axis;
}

}  // namespace goodput
