// The trials of a simulation one by one: as a table for spreadsheets and data frames, and as columns in JSON.
// docs/formats/simulate.md says what the columns are.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "models/scenario/simulation.h"
#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"

namespace goodput {

// A row for every policy and trial, numbered from `first_trial` on, policies in the order of the simulation,
// a header before them; given to `write` in pieces. Numbers are the doubles that means are taken of, in the
// fewest digits that say which.
Status write_trials_csv(const Simulation& simulation, std::uint64_t seed, std::uint64_t first_trial,
                        const std::function<Status(std::string_view)>& write);

// {policy: {column: a value a trial}}: the same without `policy` and `seed`; null where a trial has none. Of
// policies that run.
[[nodiscard]] OrderedJson trials_json(const Simulation& simulation);

}  // namespace goodput
