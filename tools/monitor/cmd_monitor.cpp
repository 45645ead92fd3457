// `goodput monitor DIR...`: what-if analysis of jobs as they run; `goodput monitor export`, and what people
// do about incidents.
#include <optional>

#include "tools/cli/command.h"
#include "tools/monitor/incident_commands.h"
#include "tools/monitor/monitor_run.h"
#include "tools/monitor/monitor_settings.h"
#include "tools/monitor_export/monitor_export.h"

namespace goodput {
namespace {

class MonitorCommand final : public Command {
 public:
  void configure(Options& options) override {
    add_monitor_options(options, arguments_);
    exporting_ =
        options.add_optional_subcommand("export", "Export a monitor's results as JSON, tables or a trace");
    add_export_options(*exporting_, export_);
    incidents_.add_to(options);
  }

  Result<ExitCode> run(const CommandContext& context) override {
    if (exporting_->are_chosen()) return run_export(export_, context);
    if (incidents_.are_chosen()) return incidents_.run(context);
    GOODPUT_TRY_STATUS(check_result(context));
    GOODPUT_TRY(const MonitorSettings settings, check_monitor_arguments(arguments_));
    GOODPUT_TRY(const ExitCode code, run_monitor(arguments_, settings, context));
    if (code != ExitCode::kOk || !context.options.wants_result()) return code;
    MonitorExportOptions all;
    all.database = arguments_.store;
    return run_export(all, context);
  }

 private:
  [[nodiscard]] Status check_result(const CommandContext& context) const {
    if (!context.options.wants_result() || arguments_.is_once) return Ok{};
    return Error{
        "--json and --report need --once; to export results while the monitor runs, see 'goodput monitor "
        "export --help'"};
  }

  MonitorArguments arguments_;
  MonitorExportOptions export_;
  IncidentCommands incidents_;
  std::optional<Options> exporting_;
};

}  // namespace

CommandInfo command_monitor() {
  return {.name = "monitor",
          .summary = "Watch running jobs for stragglers: incidents, web pages, metrics",
          .example =
              "goodput monitor /logs/llama-70b --gpu-hour-usd 2.5\n"
              "goodput monitor --job big=/logs/a --job small=/logs/b --rules alerts.json",
          .make = make_command<MonitorCommand>};
}

}  // namespace goodput
