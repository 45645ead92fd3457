// Alerts and their deliveries on their way into the tables; all within the transaction of a commit.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/errors.h"
#include "tools/monitor_store/monitor_store.h"
#include "tools/monitor_store/store_connection.h"

namespace goodput {

// Those that were opened, with their ids.
Result<std::vector<Alert>> store_alerts(StoreConnection& connection, std::int64_t job,
                                        const StepCommit& commit);

}  // namespace goodput
