// Lists of a config file, element by element.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/json.h"
#include "sim/config/config.h"

namespace goodput::stated {

// REQUIRES: `read_one` reads an element into its last argument.
template <typename T, typename ReadOne>
Status read_array(const Json& from, config::Place& place, std::vector<T>& values, std::string_view of,
                  ReadOne read_one) {
  if (!from.is_array()) return place.error(fmt::format("must be an array of {}", of));
  values.clear();
  for (const Json& element : from) {
    config::Place at = place.at(std::to_string(values.size()));
    GOODPUT_TRY_STATUS(read_one(element, at, values.emplace_back()));
    if (at.tier) place.tier = lowest(place.tier.value_or(*at.tier), *at.tier);
  }
  return Ok{};
}

inline Status always_fine(const Json&, const config::Place&) {
  return Ok{};
}

// `check` sees an element before it is read.
template <typename T>
config::Value objects(std::vector<T>& values, std::string_view of,
                      Status (*check)(const Json&, const config::Place&) = always_fine) {
  const auto read = [&values, of, check](const Json& from, config::Place& place) {
    return read_array(from, place, values, of,
                      [check](const Json& one, config::Place& at, T& value) -> Status {
                        GOODPUT_TRY_STATUS(check(one, at));
                        return config::object(value).read(one, at);
                      });
  };
  const auto write = [&values](OrderedJson& into) {
    if (!values.empty()) into = OrderedJson::array();
    for (T& value : values) into.push_back(config::write(config_fields(value)));
  };
  return {fmt::format("an array of {}", of), read, write, {}};
}

}  // namespace goodput::stated
