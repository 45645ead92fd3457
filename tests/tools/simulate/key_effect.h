// Whether a key of a scenario moves anything: two values of it, all else the same, and what `goodput
// simulate` makes of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/json_fwd.h"
#include "sim/config/config.h"

namespace goodput::testing {

// GPT-S on ten nodes. All that step times rest on is measured: what options rest on makes the difference.
[[nodiscard]] Json measured_plan();
// The same without experts.
[[nodiscard]] Json dense_plan();

// What stands at a pointer, null: nothing; one that begins with no slash is seen from the object that has the
// key.
using Settings = std::vector<std::pair<std::string, Json>>;

// Two values that make a difference, and beside what else; where a key may be idle, beside what it is.
struct KeyWitness {
  KeyWitness(std::string_view of_key, std::vector<Json> two);
  KeyWitness(std::string_view of_key, std::vector<Json> two, Settings with);
  KeyWitness(std::string_view of_key, std::vector<Json> two, Settings with, Settings idle_with);
  // Of a key that a policy shares with others and that never moves anything of its own: it is always named.
  [[nodiscard]] static KeyWitness of_idle(std::string_view key, std::vector<Json> two);

  std::string_view key;  // "checkpoint/mode"
  std::vector<Json> values;
  Settings beside;
  Settings idle_beside;
  bool is_always_idle = false;
};

// Checks of all keys, those of objects in it as well ("checkpoint/mode"), that each has a witness (of several
// the first), that its values give other results and that it is then not named as unused; and that a key that
// may be idle is, beside what its witness says, and then moves nothing.
// `fields` are of the object at `pointer` ("/policies/ds") of `scenario`.
void check_keys(const config::Fields& fields, const Json& scenario, const std::string& pointer,
                std::span<const KeyWitness> witnesses);

}  // namespace goodput::testing
