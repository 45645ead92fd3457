// Steps, maps and alerts as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "sim/base/errors.h"
#include "tools/monitor_export/export_steps.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput {

// A list with an entry a job. Fails where it would hold more figures of workers than fit into memory.
Result<nlohmann::ordered_json> exported_json(MonitorStore& store, std::span<const ExportedJob> jobs);

}  // namespace goodput
