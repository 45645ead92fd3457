// The tables of a monitor's database, and which databases may be used.
#pragma once

#include "sim/base/errors.h"
#include "tools/monitor_store/store_connection.h"

namespace goodput {

// Makes the tables in an empty file, and upgrades a database of an older goodput; refuses a database of
// something else, and one of a newer goodput.
Status prepare_for_writing(StoreConnection& connection);
// Refuses what cannot be read. False: it has to be upgraded first, by prepare_for_writing().
Result<bool> prepare_for_reading(StoreConnection& connection);

}  // namespace goodput
