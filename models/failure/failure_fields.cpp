#include "models/failure/failure_fields.h"

#include <cmath>

#include "sim/base/json.h"

namespace goodput {
namespace {

// `element` reads one of an array.
template <typename T, typename Element>
config::Value array_value(std::vector<T>& values, const std::string& wanted, Element element) {
  const auto read = [&values, wanted, element](const Json& from, const config::Place& place) -> Status {
    if (!from.is_array()) return place.not_wanted(from, wanted);
    values.clear();
    for (const Json& one : from) {
      T value{};
      config::Place at = place.at(std::to_string(values.size()));
      GOODPUT_TRY_STATUS(element(value).read(one, at));
      values.push_back(std::move(value));
    }
    return Ok{};
  };
  const auto write = [&values](OrderedJson& into) {
    if (!values.empty()) into = values;
  };
  return {wanted, read, write, {}};
}

}  // namespace

config::Value optional_number(std::optional<double>& value, const config::Range& range) {
  return config::number([&value] { return value; }, [&value](double given) { value = given; }, range);
}

config::Value optional_integer(std::optional<std::int32_t>& value, std::int64_t least, std::int64_t most) {
  std::int32_t unused = 0;
  const std::string wanted = config::integer(unused, least, most).wanted;
  const auto read = [&value, least, most](const Json& from, config::Place& place) -> Status {
    std::int32_t given = 0;
    GOODPUT_TRY_STATUS(config::integer(given, least, most).read(from, place));
    value = given;
    return Ok{};
  };
  const auto write = [&value](OrderedJson& into) {
    if (value) into = *value;
  };
  return {wanted, read, write, {}};
}

config::Value seconds_value(SimDuration& value, const config::Range& range) {
  return config::number(value, range, std::chrono::seconds{1});
}

config::Value seconds_value(std::optional<SimDuration>& value, const config::Range& range) {
  return config::number([&value] { return value ? std::optional(to_seconds(*value)) : std::nullopt; },
                        [&value](double given) { value = from_seconds(given); }, range);
}

config::Value numbers(std::vector<double>& values, const config::Range& range) {
  double unused = 0;
  const std::string wanted = "an array, each " + config::number(unused, range).wanted;
  return array_value(values, wanted, [range](double& value) { return config::number(value, range); });
}

config::Value texts(std::vector<std::string>& values) {
  return array_value(values, "an array of texts", [](std::string& value) { return config::text(value); });
}

}  // namespace goodput
