// Incidents and the messages about them, on their way into the tables and back; all within the transaction of
// a commit.
#pragma once

#include <cstdint>

#include "sim/base/errors.h"
#include "tools/monitor_store/monitor_store.h"
#include "tools/monitor_store/store_connection.h"

namespace goodput {

// The incidents of the commit, as they are now, and a delivery of each notice to each sink.
Status store_incidents(StoreConnection& connection, std::int64_t job, const StepCommit& commit);

// One that is stored already is replaced.
Status store_incident(StoreConnection& connection, std::int64_t job, const Incident& incident);

}  // namespace goodput
