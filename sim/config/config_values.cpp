// The kinds of values: numbers, texts, choices.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/config/config.h"

namespace goodput::config {
namespace {

std::string wanted_integer(std::int64_t least, std::int64_t most) {
  return fmt::format("an integer from {} to {}", least, most);
}

std::string wanted_number(const Range& range) {
  const bool has_least = std::isfinite(range.least);
  const bool has_most = std::isfinite(range.most);
  if (range.is_least_excluded && has_most)
    return fmt::format("a number above {} and at most {}", range.least, range.most);
  if (range.is_least_excluded) return fmt::format("a number above {}", range.least);
  if (has_least && has_most) return fmt::format("a number from {} to {}", range.least, range.most);
  return has_least ? fmt::format("a number of at least {}", range.least) : "a number";
}

bool contains(const Range& range, double number) {
  return number >= range.least && number <= range.most && !(range.is_least_excluded && number == range.least);
}

// At most 15 digits and then zeros: no other integer that is written so is read as the same double.
bool is_short(std::int64_t number) {
  while (number != 0 && number % 10 == 0) number /= 10;
  return std::abs(number) < 1'000'000'000'000'000;
}

// 1e6 is whole as well, and so is 1e18. Of others beyond 2^53 a double does not say which integer was meant.
std::optional<std::int64_t> whole_number(const Json& value) {
  if (value.is_number_float()) {
    constexpr double kMostExact = 9007199254740992;  // 2^53
    constexpr double kMost = 9223372036854775808.0;  // 2^63
    const auto number = value.get<double>();
    if (std::abs(number) >= kMost || std::trunc(number) != number) return std::nullopt;
    const auto whole = static_cast<std::int64_t>(number);
    if (std::abs(number) > kMostExact && !is_short(whole)) return std::nullopt;
    return whole;
  }
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && !std::in_range<std::int64_t>(value.get<std::uint64_t>()))
    return std::nullopt;
  return value.get<std::int64_t>();
}

std::optional<std::int64_t> integer_within(const Json& value, std::int64_t least, std::int64_t most) {
  const std::optional<std::int64_t> number = whole_number(value);
  if (!number || *number < least || *number > most) return std::nullopt;
  return number;
}

template <typename Integer>
Value integer_value(Integer& value, std::int64_t least, std::int64_t most) {
  const std::string wanted = wanted_integer(least, most);
  const auto read = [&value, least, most, wanted](const Json& from, const Place& place) -> Status {
    const auto number = integer_within(from, least, most);
    if (!number) return place.not_wanted(from, wanted);
    value = static_cast<Integer>(*number);
    return Ok{};
  };
  return {wanted, read, [&value](OrderedJson& into) { into = value; }, {}};
}

Value text_value(std::string& value, bool is_path) {
  const auto read = [&value, is_path](const Json& from, const Place& place) -> Status {
    if (!from.is_string()) return place.not_wanted(from, is_path ? "a file path" : "a string");
    value = from.get<std::string>();
    if (is_path) value = (place.folder() / value).lexically_normal().string();
    return Ok{};
  };
  const auto write = [&value, is_path](OrderedJson& into) {
    if (!is_path || !value.empty()) into = value;
  };
  return {is_path ? "a file path" : "a string", read, write, {}};
}

// `value_of` reads and writes one element.
template <typename T, typename ValueOf>
Value scalars(std::vector<T>& values, std::string wanted, ValueOf value_of) {
  const auto value_at = [&values, value_of](std::size_t i) {
    if (i == values.size()) values.emplace_back();
    return value_of(values[i]);
  };
  Value value =
      list({[&values] { values.clear(); }, [&values] { return values.size(); }, value_at}, std::move(wanted));
  value.write = [&values](OrderedJson& into) {
    if (!values.empty()) into = values;
  };
  return value;
}

}  // namespace

Value integer(std::int32_t& value, std::int64_t least, std::int64_t most) {
  return integer_value(value, least, most);
}
Value integer(std::int64_t& value, std::int64_t least, std::int64_t most) {
  return integer_value(value, least, most);
}

Value integers(std::vector<std::int32_t>& values, std::int64_t least, std::int64_t most) {
  const std::string wanted = fmt::format("an array of integers from {} to {}", least, most);
  const auto read = [&values, least, most, wanted](const Json& from, const Place& place) -> Status {
    if (!from.is_array()) return place.not_wanted(from, wanted);
    values.clear();
    for (const Json& element : from) {
      std::int32_t value = 0;
      Place at = place.at(std::to_string(values.size()));
      GOODPUT_TRY_STATUS(integer(value, least, most).read(element, at));
      values.push_back(value);
    }
    return Ok{};
  };
  return {fmt::format("an array of integers from {} to {}", least, most),
          read,
          [&values](OrderedJson& into) { into = values; },
          {}};
}

Value texts(std::vector<std::string>& values) {
  return scalars(values, "an array of strings", [](std::string& value) { return text(value); });
}
Value numbers(std::vector<double>& values, Range range) {
  return scalars(values, "an array, each element " + wanted_number(range),
                 [range](double& value) { return number(value, range); });
}

Value flag(bool& value) {
  const auto read = [&value](const Json& from, const Place& place) -> Status {
    if (!from.is_boolean()) return place.not_wanted(from, "true or false");
    value = from.get<bool>();
    return Ok{};
  };
  return {"true or false", read, [&value](OrderedJson& into) { into = value; }, {}};
}

Value text(std::string& value) {
  return text_value(value, false);
}
Value path(std::string& value) {
  return text_value(value, true);
}

Value number(std::function<std::optional<double>()> get, std::function<void(double)> set, Range range) {
  const auto read = [set = std::move(set), range](const Json& from, const Place& place) -> Status {
    if (!from.is_number() || !contains(range, from.get<double>()))
      return place.not_wanted(from, wanted_number(range));
    set(from.get<double>());
    return Ok{};
  };
  const auto write = [get = std::move(get)](OrderedJson& into) {
    if (const auto value = get()) into = *value;
  };
  return {wanted_number(range), read, write, {}};
}

Value number(double& value, Range range, double unit) {
  return number([&value, unit] { return value / unit; },
                [&value, unit](double given) { value = given * unit; }, range);
}
Value number(Bytes& value, Range range, double unit) {
  return number([&value, unit] { return static_cast<double>(value.value) / unit; },
                [&value, unit](double given) { value.value = std::llround(given * unit); }, range);
}
Value number(SimDuration& value, Range range, SimDuration unit) {
  const auto count = [](SimDuration duration) { return static_cast<double>(duration.count()); };
  const auto set = [&value, unit, count](double given) {
    value = SimDuration{std::llround(given * count(unit))};
  };
  return number([&value, unit, count] { return count(value) / count(unit); }, set, range);
}
Value number(FlopsPerSecond& value, Range range, double unit) {
  return number(value.value, range, unit);
}
Value number(BytesPerSecond& value, Range range, double unit) {
  return number(value.value, range, unit);
}
Value number(std::optional<FlopsPerSecond>& value, Range range, double unit) {
  const auto get = [&value, unit] { return value ? std::optional(value->value / unit) : std::nullopt; };
  return number(
      get, [&value, unit](double given) { value = FlopsPerSecond{given * unit}; }, range);
}

Value choice(std::function<std::size_t()> get, std::function<void(std::size_t)> set,
             std::span<const std::string_view> names) {
  const std::string wanted = fmt::format("one of \"{}\"", fmt::join(names, "\", \""));
  const auto read = [set = std::move(set), names, wanted](const Json& from, const Place& place) -> Status {
    if (!from.is_string()) return place.not_wanted(from, wanted);
    const auto& name = from.get_ref<const std::string&>();
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      Error unknown = place.not_wanted(from, wanted);
      unknown.what += did_you_mean(name, names);
      return unknown;
    }
    set(static_cast<std::size_t>(found - names.begin()));
    return Ok{};
  };
  return {wanted, read, [get = std::move(get), names](OrderedJson& into) { into = names[get()]; }, {}};
}

}  // namespace goodput::config
