#include "traces/routing/routing_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string>

#include "sim/base/text.h"
#include "traces/io/decimal.h"

namespace goodput {
namespace {

// In the order of RoutingColumn.
constexpr std::array<std::string_view, 6> kNames = {"iteration",   "layer",  "rank",
                                                    "micro_batch", "expert", "tokens"};
constexpr std::string_view kShortIteration = "iter";

constexpr double kMostExactDouble = 9007199254740992;  // 2^53

// e7 is 7; nothing for other names, e07 among them.
std::optional<std::size_t> expert_of(std::string_view name) {
  std::size_t expert = 0;
  if (name.size() < 2 || name[0] != 'e' || (name[1] == '0' && name.size() > 2)) return std::nullopt;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), expert);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return expert;
}

std::optional<RoutingField> field_of(std::string_view name) {
  if (name == kShortIteration) return RoutingField{RoutingColumn::kIteration};
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found != kNames.end()) return RoutingField{static_cast<RoutingColumn>(found - kNames.begin())};
  if (const auto expert = expert_of(name)) return RoutingField{RoutingColumn::kLoad, *expert};
  return std::nullopt;
}

std::string name_of(const RoutingField& field) {
  if (field.column == RoutingColumn::kLoad) return fmt::format("e{}", field.expert);
  return std::string(kNames[static_cast<std::size_t>(field.column)]);
}

bool is_optional(RoutingColumn column) {
  return column == RoutingColumn::kRank || column == RoutingColumn::kMicroBatch;
}

Error unknown_column(std::string_view name, std::span<const RoutingColumn> known) {
  std::vector<std::string_view> names;
  std::string listed;
  for (const RoutingColumn column : known) {
    const bool is_load = column == RoutingColumn::kLoad;
    if (!is_load) names.push_back(kNames[static_cast<std::size_t>(column)]);
    listed.append(listed.empty() ? "" : ", ").append(is_load ? "e0, e1, ..." : names.back());
  }
  return {fmt::format("unknown column {}{}; known: {}", in_quotes(name), did_you_mean(name, names), listed)};
}

// `names`: the columns there are, by their own names.
Status check_required(const std::set<std::string>& names, std::span<const RoutingColumn> known) {
  for (const RoutingColumn column : known) {
    const std::string name = name_of({column});
    if (column == RoutingColumn::kLoad || is_optional(column) || names.contains(name)) continue;
    return Error{fmt::format("no column \"{}\"", name)};
  }
  return Ok{};
}

Status check_experts(const std::set<std::string>& names, std::size_t experts) {
  for (std::size_t expert = 0; expert < experts; ++expert) {
    if (names.contains(name_of({RoutingColumn::kLoad, expert}))) continue;
    return Error{fmt::format("no column \"e{}\"; with {} expert columns, they must be e0 to e{}", expert,
                             experts, experts - 1)};
  }
  return Ok{};
}

}  // namespace

std::vector<RoutingField> known_routing_columns(std::string_view head) {
  const auto names = split_csv(without_line_end(without_byte_order_mark(head.substr(0, head.find('\n')))));
  std::vector<RoutingField> fields;
  if (!names) return fields;
  for (const std::string_view name : *names) {
    if (const auto field = field_of(name)) fields.push_back(*field);
  }
  return fields;
}

Result<std::vector<RoutingField>> parse_routing_header(std::string_view line,
                                                       std::span<const RoutingColumn> known) {
  const auto names = split_csv(without_byte_order_mark(line));
  if (!names) return Error{std::string(kUnclosedQuote)};
  std::vector<RoutingField> fields;
  std::set<std::string> distinct;
  std::size_t experts = 0;
  for (const std::string_view name : *names) {
    const auto field = field_of(name);
    if (!field || std::find(known.begin(), known.end(), field->column) == known.end()) {
      return unknown_column(name, known);
    }
    if (!distinct.insert(name_of(*field)).second) {
      return Error{fmt::format("column \"{}\" occurs twice", name_of(*field))};
    }
    fields.push_back(*field);
    if (field->column == RoutingColumn::kLoad) ++experts;
  }
  GOODPUT_TRY_STATUS(check_required(distinct, known));
  GOODPUT_TRY_STATUS(check_experts(distinct, experts));
  return fields;
}

Result<std::int64_t> take_number(CsvFields& fields, const RoutingField& field, std::int64_t most) {
  CsvFields ahead = fields;
  if (const auto plain = ahead.take_plain_integer(); plain && *plain >= 0 && *plain <= most) {
    fields = ahead;
    return *plain;
  }
  const auto text = fields.take();
  if (!text) return Error{std::string(kUnclosedQuote)};
  const auto refuse = [&](std::string_view wish) {
    return Error{fmt::format("{} is {}, {}", name_of(field), in_quotes(*text), wish)};
  };
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (end != text->data() + text->size() || error == std::errc::invalid_argument) {
    const auto decimal = parse_decimal(*text);
    if (!decimal || decimal->value != std::floor(decimal->value)) return refuse("but must be a whole number");
    if (std::abs(decimal->value) > kMostExactDouble)
      return refuse("but must be at most 2^53 unless written as a plain integer");
    value = static_cast<std::int64_t>(decimal->value);
  } else if (error == std::errc::result_out_of_range) {
    return refuse("which does not fit into 64 bits");
  }
  if (value < 0) return refuse("but must be 0 or more");
  if (value > most) return refuse(fmt::format("but must be at most {}", most));
  return value;
}

Error wrong_field_count(std::string_view line, std::size_t columns) {
  const auto fields = split_csv(line);
  if (!fields) return {std::string(kUnclosedQuote)};
  return {fmt::format("has {} fields, but the header has {} columns", fields->size(), columns)};
}

}  // namespace goodput
