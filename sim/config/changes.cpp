#include "sim/config/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput::config {
namespace {

using Pointer = JsonPointer;

bool is_below(std::string_view pointer, std::string_view above) {
  return pointer.size() > above.size() && pointer.starts_with(above) && pointer[above.size()] == '/';
}

// The text above `pointer` that could name a file; none: nothing on the way is text.
std::optional<std::string> text_above(const Pointer& pointer, const Json& file) {
  for (Pointer above = pointer; !above.empty();) {
    above = above.parent_pointer();
    if (file.contains(above))
      return file.at(above).is_string() ? std::optional(above.to_string()) : std::nullopt;
  }
  return std::nullopt;
}

// How far `pointer` leads.
struct Reach {
  Pointer there{};
  std::string missing{};  // the first name that is not there
};
Reach reach(const Pointer& pointer, const Json& file) {
  Reach reached{pointer, {}};
  while (!file.contains(reached.there)) {
    reached.missing = reached.there.back();
    reached.there.pop_back();
  }
  return reached;
}

std::string nearest_key(const Reach& reached, const Json& file) {
  const Json& there = file.at(reached.there);
  std::vector<std::string> keys;
  if (there.is_object()) {
    for (const auto& [key, value] : there.items()) keys.push_back(key);
  }
  return did_you_mean(reached.missing, std::vector<std::string_view>(keys.begin(), keys.end()));
}

// A part of something in a section may be made, /policies/ds/checkpoint; sections, and what users name in
// one, may not.
bool may_make(const Reach& reached, const Json& file) {
  return file.at(reached.there).is_object() && !reached.there.empty() &&
         !reached.there.parent_pointer().empty();
}

}  // namespace

Json json_or_text(std::string_view text) {
  std::optional<Json> value = Json::try_parse(text);
  return value ? *std::move(value) : Json(text);
}

Changes::Changes(const std::vector<Change>& changes, std::string_view noun, std::string_view option)
    : noun_(noun), option_(option) {
  for (const Change& change : changes) steps_.push_back({change, change.pointer, {}});
}

std::string Changes::Step::as_given(std::string_view below) const {
  const std::size_t named = given.pointer.size() - pointer.size();
  return given.pointer.substr(0, named) + std::string(below);
}

Error Changes::error(const Step& step, std::string_view what) const {
  return Error{fmt::format("{} {}={}: {}", kOption, on_one_line(step.given.pointer),
                           on_one_line(step.given.value), what)}
      .of_option(step.given.option.empty() ? option_ : step.given.option);
}

Status Changes::apply_to(Json& file) {
  for (Step& step : std::exchange(steps_, {})) GOODPUT_TRY_STATUS(apply(std::move(step), file));
  return Ok{};
}

Status Changes::apply(Step step, Json& file) {
  if (!step.pointer.starts_with('/'))
    return error(step, "a JSON pointer must begin with a slash, as in /failures/p");
  try {
    const Pointer at(step.pointer);
    if (const auto name_at = text_above(at, file)) {
      step.name_at = *name_at;
      waiting_.push_back(std::move(step));
      return Ok{};
    }
    const Pointer above = at.parent_pointer();
    const std::string parent = step.as_given(above.to_string());
    if (!file.contains(above)) {
      const Reach reached = reach(above, file);
      std::string remedy = nearest_key(reached, file);
      const bool made = remedy.empty() && may_make(reached, file);
      if (!made && remedy.empty())
        remedy = fmt::format("; first set the whole object: {}={{...}}", on_one_line(parent));
      if (!made)
        return error(step, fmt::format("the {} has no object {}{}", noun_, in_quotes(parent), remedy));
      file[above] = Json::object();
    }
    const Json& there = file.at(above);
    if (!there.is_structured())
      return error(step, fmt::format("{} is not an object in the {}", in_quotes(parent), noun_));
    if (there.is_array() && !file.contains(at) && at.back() != "-" &&
        at.back() != std::to_string(there.size()))
      return error(step, fmt::format("the array has only {} entries", there.size()));
    if (there.is_array() && at.back() == "-")
      step.pointer = fmt::format("{}/{}", above.to_string(), there.size());
    file[at] = json_or_text(step.given.value);
    // A value that is set as a whole is what it was set to.
    std::erase_if(waiting_, [&](const Step& other) {
      return other.name_at == step.pointer || is_below(other.name_at, step.pointer);
    });
    made_.push_back(std::move(step));
  } catch (const JsonError&) {
    return error(step, fmt::format("is not a valid JSON pointer, or points to nothing in the {}", noun_));
  }
  return Ok{};
}

Changes Changes::take(std::string_view pointer) {
  Changes taken({}, noun_, option_);
  for (Step& step : std::exchange(waiting_, {})) {
    if (step.name_at != pointer) {
      waiting_.push_back(std::move(step));
    } else {
      taken.steps_.push_back({std::move(step.given), step.pointer.substr(pointer.size()), {}});
    }
  }
  return taken;
}

const Change* Changes::behind(std::string_view pointer) const {
  const auto last = std::find_if(made_.rbegin(), made_.rend(), [pointer](const Step& step) {
    return step.pointer == pointer || is_below(pointer, step.pointer);
  });
  return last == made_.rend() ? nullptr : &last->given;
}

Status Changes::check_none_waits() const {
  if (waiting_.empty()) return Ok{};
  const Step& step = waiting_.front();
  return error(step,
               fmt::format("{} is not an object in the {}", in_quotes(step.as_given(step.name_at)), noun_));
}

}  // namespace goodput::config
