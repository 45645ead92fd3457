// Databases of older schemas.
#pragma once

#include <cstdint>

#include "sim/base/errors.h"
#include "tools/monitor_store/store_connection.h"

namespace goodput {

// The tables of incidents and their deliveries, as the current schema has them.
extern const char* const kIncidentTables;

inline constexpr std::int64_t kAlertsSchema = 2;  // alerts, one per rule, instead of incidents

// From kAlertsSchema to the next one, within a transaction: every alert becomes an incident, and open alerts
// of one job about the same subject become one. Messages that wait for their sink are kept.
Status upgrade_alerts(StoreConnection& connection);

}  // namespace goodput
