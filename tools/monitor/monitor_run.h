// A monitor put together: store, reading, analysing, alerts, pages; runs until it is told to end.
#pragma once

#include "sim/base/errors.h"
#include "tools/cli/command.h"
#include "tools/monitor/monitor_settings.h"

namespace goodput {

Result<ExitCode> run_monitor(const MonitorArguments& arguments, const MonitorSettings& settings,
                             const CommandContext& context);

}  // namespace goodput
