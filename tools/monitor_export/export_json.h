// Steps, maps and alerts as JSON.
#pragma once

#include <span>

#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"
#include "tools/monitor_export/export_steps.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput {

// A list with an entry a job. Fails where it would hold more figures of workers than fit into memory.
Result<OrderedJson> exported_json(MonitorStore& store, std::span<const ExportedJob> jobs);

}  // namespace goodput
