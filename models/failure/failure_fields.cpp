#include "models/failure/failure_fields.h"

#include <cmath>

#include "sim/base/json.h"

namespace goodput {
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

}  // namespace goodput
