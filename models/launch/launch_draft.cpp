#include "models/launch/launch_draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput::launch {
namespace {

// Without its folder: origins stay in the plan when it moves.
std::string short_place(const Where& where) {
  Where named = where;
  named.file = std::filesystem::path(where.file).filename().string();
  return named.text();
}

}  // namespace

std::string origin_of(const Setting& setting) {
  const std::string at = short_place(setting.where);
  std::string shown = setting.shown;
  for (const std::string& text : setting.texts)
    if (setting.is_list) shown += ' ' + text;
  std::erase_if(shown, [](char c) { return c == kUnsetBegin || c == kUnsetEnd; });
  return at.empty() ? on_one_line(shown) : fmt::format("{}: {}", at, on_one_line(shown));
}

std::string json_text(std::string_view text) {
  return Json(std::string(text)).dump();
}

void LaunchDraft::set(std::string_view pointer, std::string json, std::string origin, Basis basis,
                      Where where, std::string shown) {
  const auto found = values_.find(pointer);
  if (found != values_.end() && found->second.basis > basis) return;
  // The file that describes the model comes first: its defaults stay.
  if (found != values_.end() && basis == Basis::kAssumed && found->second.basis == basis) return;
  if (is_fixed(pointer) && basis != Basis::kOption) return;
  values_.insert_or_assign(std::string(pointer), DraftValue{std::move(json), basis, std::move(origin),
                                                            std::move(where), std::move(shown)});
}

bool LaunchDraft::is_fixed(std::string_view pointer) const {
  return !fixed_model.empty() && pointer.starts_with("/model/");
}

Status LaunchDraft::state(std::string_view pointer, std::string json, const Setting& by) {
  const DraftValue* earlier = find(pointer);
  if (is_fixed(pointer) && pointer != "/model/biases") {
    const bool is_absent = earlier == nullptr && (json == "false" || json == "0");
    if (is_absent || (earlier != nullptr && (earlier->json == json || earlier->basis == Basis::kOption)))
      return Ok{};
    return by.error(fmt::format("contradicts {}, which has {} {}", fixed_model, pointer.substr(7),
                                earlier != nullptr ? earlier->json : "0"));
  }
  if (earlier != nullptr && earlier->basis == Basis::kStated && earlier->json != json) {
    return by.error(fmt::format("contradicts {}; {} cannot be both {} and {}", earlier->origin,
                                pointer.substr(1), earlier->json, json));
  }
  set(pointer, std::move(json), origin_of(by), Basis::kStated, by.where, by.shown);
  return Ok{};
}

Status LaunchDraft::state_integer(std::string_view pointer, const Setting* by) {
  if (by == nullptr) return Ok{};
  GOODPUT_TRY(const std::int64_t value, integer_of(*by));
  return state(pointer, std::to_string(value), *by);
}

void LaunchDraft::derive(std::string_view pointer, std::string json, std::string how) {
  set(pointer, std::move(json), std::move(how), Basis::kStated);
}

void LaunchDraft::assume(std::string_view pointer, std::string json, std::string why) {
  set(pointer, std::move(json), std::move(why), Basis::kAssumed);
}

void LaunchDraft::fix_model(std::string name) {
  fixed_model = std::move(name);
}

const DraftValue* LaunchDraft::find(std::string_view pointer) const {
  const auto found = values_.find(pointer);
  return found == values_.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> LaunchDraft::integer(std::string_view pointer) const {
  const DraftValue* value = find(pointer);
  return value == nullptr ? std::nullopt : parse_integer(value->json);
}

std::int64_t LaunchDraft::integer_or(std::string_view pointer, std::int64_t otherwise) const {
  return integer(pointer).value_or(otherwise);
}

bool LaunchDraft::is_true(std::string_view pointer) const {
  const DraftValue* value = find(pointer);
  return value != nullptr && value->json == "true";
}

Result<std::optional<std::int64_t>> LaunchDraft::replicas() const {
  const auto gpus = integer("/gpus");
  if (!gpus) return std::optional<std::int64_t>{};
  const std::int64_t tp = integer_or("/parallel/tp", 1);
  const std::int64_t pp = integer_or("/parallel/pp", 1);
  const std::int64_t cp = integer_or("/parallel/cp", 1);
  for (const char* pointer : {"/parallel/tp", "/parallel/pp", "/parallel/cp"}) {
    const DraftValue* size = find(pointer);
    if (size != nullptr && integer_or(pointer, 0) < 1)
      return Error{fmt::format("{}: must be at least 1", size->shown.empty() ? pointer + 10 : size->shown),
                   size->where};
  }
  std::int64_t model = 0;
  const bool is_huge = __builtin_mul_overflow(tp, pp, &model) || __builtin_mul_overflow(model, cp, &model);
  if (!is_huge && model > 0 && *gpus > 0 && *gpus % model == 0) return std::optional(*gpus / model);
  const DraftValue& stated = *find("/gpus");
  const std::string what =
      fmt::format("{} GPUs cannot be divided into groups of tp {} x pp {} x cp {}", *gpus, tp, pp, cp);
  if (stated.basis == Basis::kOption) return Error{what, {}, stated.shown};
  return Error{fmt::format("{}: {}", stated.shown.empty() ? stated.origin : stated.shown, what),
               stated.where};
}

void LaunchDraft::warn(std::string text, Where where) {
  warnings.push_back({std::move(text), std::move(where)});
}

void LaunchDraft::warn(const Setting& setting, std::string_view text) {
  const Error error = setting.error(text);
  warn(error.what, error.where);
}

void LaunchDraft::ignore(const Setting& setting) {
  ignored.push_back(setting.key);
}

Status LaunchDraft::approximate(const Setting& setting, std::string_view feature, std::string_view instead) {
  if (std::ranges::find(approximated, feature) != approximated.end()) {
    warn(setting,
         fmt::format("{} is not modeled: treated as {} because you approximate it", feature, instead));
    return Ok{};
  }
  Error error = setting.error(
      fmt::format("{} is not modeled; {} {} treats it as {}", feature, kOption, feature, instead));
  return std::move(error).of_option("approximate");
}

}  // namespace goodput::launch
