#include "sim/recording/instance_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/number_ranges.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

struct Term {
  std::string_view key;
  std::string_view value;
  std::string_view selector;  // the whole, for messages

  [[nodiscard]] Error error(std::string_view what) const {
    return Error{fmt::format("selector {}: {}", in_quotes(selector), what)};
  }
};

// Clears the flags of what the term does not name. `number_of(i)` is what the user calls entry i.
template <typename NumberOf>
Status keep_numbers(const Term& term, std::vector<char>& flags, NumberOf number_of) {
  GOODPUT_TRY(const std::vector<NumberRange> ranges, parse_number_ranges(term.value));
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const std::int64_t number = number_of(i);
    const bool named = std::any_of(ranges.begin(), ranges.end(), [&](const NumberRange& range) {
      return range.first <= number && number <= range.last;
    });
    if (!named) flags[i] = 0;
  }
  return Ok{};
}

Status keep_optype(const Term& term, const Recording& recording, InstanceBox& box) {
  std::vector<std::string_view> names;
  for (const OpTypeTable::Row& type : recording.types) {
    names.push_back(type.name);
    names.push_back(type.label);
  }
  const auto wanted = split(term.value, ',');
  for (const std::string_view name : wanted) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return term.error(fmt::format("unknown op type {}{}", in_quotes(name), did_you_mean(name, names)));
    }
  }
  for (std::size_t op = 0; op < box.ops.size(); ++op) {
    const OpTypeTable::Row& type = recording.types[recording.ops[op].type];
    const bool named = std::any_of(wanted.begin(), wanted.end(), [&](std::string_view name) {
      return name == type.name || name == type.label;
    });
    if (!named) box.ops[op] = 0;
  }
  return Ok{};
}

Status keep_worker(const Term& term, const Recording& recording, InstanceBox& box) {
  const auto parts = split(term.value, ':');
  if (parts.size() != 2) return term.error("worker must be dp:stage, for example worker=2:3");
  const Term dp{"dp", parts[0], term.selector};
  const Term stage{"stage", parts[1], term.selector};
  if (!parse_integer(dp.value) || !parse_integer(stage.value)) {
    return term.error("worker must be dp:stage, for example worker=2:3");
  }
  GOODPUT_TRY_STATUS(
      keep_numbers(dp, box.dp_ranks, [](std::size_t i) { return static_cast<std::int64_t>(i); }));
  return keep_numbers(stage, box.ops, [&](std::size_t op) { return std::int64_t{recording.ops[op].stage}; });
}

Status keep_rank(const Term& term, const Recording& recording, InstanceBox& box) {
  const auto rank = parse_integer(term.value);
  if (!rank)
    return term.error("rank must be one rank, for example rank=3; repeat the selector for more ranks");
  const auto found = std::ranges::find(recording.ranks, *rank);
  if (found == recording.ranks.end()) return term.error(fmt::format("rank {} is not in the trace", *rank));
  const auto [dp_rank, stage] = recording.worker(static_cast<std::size_t>(found - recording.ranks.begin()));
  for (std::size_t dp = 0; dp < box.dp_ranks.size(); ++dp) {
    if (dp != dp_rank) box.dp_ranks[dp] = 0;
  }
  for (std::size_t op = 0; op < box.ops.size(); ++op) {
    if (static_cast<std::size_t>(recording.ops[op].stage) != stage) box.ops[op] = 0;
  }
  return Ok{};
}

Status apply(const Term& term, const Recording& recording, InstanceBox& box) {
  constexpr std::array<std::string_view, 7> kKeys = {"optype", "stage", "dp", "worker", "rank", "step", "mb"};
  if (term.key == "optype") return keep_optype(term, recording, box);
  if (term.key == "rank") return keep_rank(term, recording, box);
  if (term.key == "worker") return keep_worker(term, recording, box);
  Status status = Ok{};
  if (term.key == "stage") {
    status =
        keep_numbers(term, box.ops, [&](std::size_t op) { return std::int64_t{recording.ops[op].stage}; });
  } else if (term.key == "mb") {
    status =
        keep_numbers(term, box.ops, [&](std::size_t op) { return std::int64_t{recording.ops[op].mb_id}; });
  } else if (term.key == "dp") {
    status = keep_numbers(term, box.dp_ranks, [](std::size_t i) { return static_cast<std::int64_t>(i); });
  } else if (term.key == "step") {
    status = keep_numbers(term, box.steps, [&](std::size_t i) { return recording.steps[i]; });
  } else {
    return term.error(fmt::format("unknown key {}{}; known keys: optype, stage, dp, worker, rank, step, mb",
                                  in_quotes(term.key), did_you_mean(term.key, kKeys)));
  }
  if (!status) return term.error(status.error().what);
  return status;
}

bool is_empty(const std::vector<char>& flags) {
  return std::none_of(flags.begin(), flags.end(), [](char flag) { return flag != 0; });
}

}  // namespace

InstanceBox InstanceBox::all(const Recording& recording) {
  return {std::vector<char>(recording.ops.size(), 1), std::vector<char>(recording.steps.size(), 1),
          std::vector<char>(static_cast<std::size_t>(recording.dp_size), 1)};
}

Result<InstanceBox> select(const Recording& recording, std::string_view selector) {
  InstanceBox box = InstanceBox::all(recording);
  for (const std::string_view part : split(selector, '&')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return Error{fmt::format("selector {}: {} must be key=value, for example stage=3", in_quotes(selector),
                               in_quotes(part))};
    }
    GOODPUT_TRY_STATUS(apply({part.substr(0, equals), part.substr(equals + 1), selector}, recording, box));
  }
  if (is_empty(box.ops) || is_empty(box.steps) || is_empty(box.dp_ranks)) {
    return Error{fmt::format("selector {}: selects no op in this trace", in_quotes(selector))};
  }
  return box;
}

}  // namespace goodput
