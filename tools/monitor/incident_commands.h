// `goodput monitor incidents|acknowledge|mute|end`: what people do about the incidents of a running monitor,
// through its API.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/cli/command.h"
#include "tools/cli/options.h"
#include "tools/monitor_store/incident_action.h"

namespace goodput {

class IncidentCommands {
 public:
  // Declares the subcommands. It must outlive the parsing.
  void add_to(Options& options);
  // Whether the command line names one of them, and what it does then.
  [[nodiscard]] bool are_chosen() const;
  [[nodiscard]] Result<ExitCode> run(const CommandContext& context) const;

 private:
  struct Arguments {
    std::string url = "http://127.0.0.1:8646";
    std::string token_file;
    std::string incident;
    std::string by;
    std::string duration;
    bool shows_closed = false;
  };
  struct Subcommand {
    std::optional<IncidentAction::Kind> action;  // absent: lists incidents
    Options options;
  };

  void add(Options& options, const std::string& name, const std::string& summary,
           std::optional<IncidentAction::Kind> action);
  [[nodiscard]] Result<ExitCode> list(const CommandContext& context) const;
  [[nodiscard]] Result<ExitCode> act(IncidentAction::Kind action, const CommandContext& context) const;

  Arguments arguments_;
  std::vector<Subcommand> subcommands_;
};

}  // namespace goodput
