// Steps and their rows on their way into the tables; all within the transaction of a commit.
#pragma once

#include <cstdint>

#include "sim/base/errors.h"
#include "tools/monitor_store/monitor_store.h"
#include "tools/monitor_store/store_connection.h"

namespace goodput {

// How long a step's details are kept: column `kept`.
enum class DetailsKept : std::int8_t {
  kForNow,         // until maps are thinned out
  kForItsMinute,   // as all that is left of a minute
  kForItsIncident  // as long as the step
};

// Since 1970, of a Unix time: which maps are of the same minute.
[[nodiscard]] std::int64_t minute_of(double unix_s);

// A step that is there already stays as it is.
Status store_step(StoreConnection& connection, std::int64_t job, const StepRecord& record);

// Steps of the same block have one row in `peaks`: its worst step, and how many it has. A month is told by
// these.
inline constexpr int kBlockBits = 4;
// After steps of the block were removed.
Status renew_peak(StoreConnection& connection, std::int64_t job, StepId removed);

// An incident opened at this step: what is kept of it stays.
Status keep_for_incident(StoreConnection& connection, std::int64_t job, StepId id);

// Rows of steps that are no longer among the last ones, and of incidents beyond their bound.
Status drop_old_rows(StoreConnection& connection, std::int64_t job, const StoreOptions& options);

// Rows of one step, and the columns that no other step needs.
Status drop_rows(StoreConnection& connection, std::int64_t row);

}  // namespace goodput
