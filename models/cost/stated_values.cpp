#include "models/cost/stated_values.h"

#include "sim/base/json.h"

namespace goodput::stated {

using config::Value;

Value count(std::int64_t& value, std::int64_t most) {
  return unless(value, std::int64_t{0}, config::integer(value, 1, most));
}
Value positive(double& value) {
  return unless(value, 0.0, config::number(value, config::above(0)));
}
Value not_negative(double& value) {
  return unless(value, 0.0, config::number(value, config::at_least(0)));
}
Value text(std::string& value) {
  return unless(value, std::string{}, config::text(value));
}
Value flag(bool& value) {
  return unless(value, false, config::flag(value));
}
Value flag(std::optional<bool>& value) {
  bool unread = false;
  const auto read = [&value](const Json& from, config::Place& place) -> Status {
    bool stated = false;
    GOODPUT_TRY_STATUS(config::flag(stated).read(from, place));
    value = stated;
    return Ok{};
  };
  const auto write = [&value](OrderedJson& into) {
    if (value) into = *value;
  };
  return {config::flag(unread).wanted, read, write, {}};
}

}  // namespace goodput::stated
