// `goodput list WHAT`: everything built in, and the configs beside it, one line each.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/cost/cost_models.h"
#include "models/failure/failure_models.h"
#include "models/policy/policy.h"
#include "models/schedule/schedule.h"
#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "sim/base/text.h"
#include "tools/cli/command.h"
#include "tools/cli/config_files.h"
#include "tools/cli/json_result.h"
#include "tools/commands.h"
#include "tools/shipped_configs.h"
#include "traces/op/op_trace_format.h"
#include "traces/routing/routing_format.h"
#include "traces/spot/spot_format.h"

namespace goodput {
namespace {

// What can be listed, and how.
struct ListKind {
  std::string_view name;
  std::function<Result<Listing>(const CommandContext& context)> list;
};

template <typename Infos>
void add_infos(const Infos& infos, std::vector<Listed>& items) {
  for (const auto& info : infos) items.push_back({std::string(info.name), std::string(info.summary), {}});
}

// Of one or several registries (sim/base/registry.h).
template <typename... Registries>
ListKind built_in(std::string_view name, Registries... registries) {
  return {name, [=](const CommandContext& /*context*/) -> Result<Listing> {
            Listing listing;
            (add_infos(registries(), listing.items), ...);
            return listing;
          }};
}

// A line a registry or a folder of configs.
std::vector<ListKind> list_kinds() {
  std::vector<ListKind> kinds = {
      built_in("formats", op_trace_formats, routing_formats, spot_formats),
      built_in("schedules", schedules),
      built_in("cost-models", cost_models),
      built_in("policies", recovery_policies),
      built_in("failures", failure_models),
  };
  for (const ConfigKind& kind : config_kinds()) {
    kinds.push_back({kind.name, [kind](const CommandContext& context) -> Result<Listing> {
                       GOODPUT_TRY(const config::Library library, config_library(context));
                       if (library.folders.empty()) {
                         return Error{
                             "no shipped configs found: no folder above this program has "
                             "share/goodput/configs; name a folder with --configs",
                             {}};
                       }
                       return list_configs(kind, library);
                     }});
  }
  kinds.push_back(built_in("commands", builtin_commands));
  check_names(names_of(kinds));
  return kinds;
}

class ListCommand final : public Command {
 public:
  void configure(Options& options) override {
    const std::vector<ListKind> kinds = list_kinds();
    options.add("what", what_, "WHAT", fmt::format("What to list: {}", fmt::join(names_of(kinds), ", ")))
        .one_of(names_of(kinds));
  }

  Result<ExitCode> run(const CommandContext& context) override {
    if (what_.empty()) return show_help(context);
    const std::vector<ListKind> kinds = list_kinds();
    GOODPUT_TRY(const ListKind kind, find_named<ListKind>(kinds, "kind of list", what_));
    GOODPUT_TRY(const Listing listing, kind.list(context));
    OrderedJson result = begin_json_result("list", context, {});
    result[what_] = OrderedJson::array();
    std::size_t width = 10;
    for (const Listed& item : listing.items) width = std::max(width, item.name.size());
    for (const Listed& item : listing.items) {
      context.print(fmt::format("{:<{}} {}\n", on_one_line(item.name), width, item.summary));
      OrderedJson entry = {{"name", item.name}, {"summary", item.summary}};
      if (!item.source.file.empty()) entry["file"] = item.source.file;
      result[what_].push_back(std::move(entry));
      note_shadowed({&item.source, 1}, context);
    }
    if (!listing.note.empty()) context.note(listing.note);
    GOODPUT_TRY_STATUS(write_json_result(result, context));
    for (const Error& error : listing.errors)
      context.err << "error: " << on_one_line(error.message()) << '\n';
    return listing.errors.empty() ? ExitCode::kOk : ExitCode::kBadInput;
  }

 private:
  static Result<ExitCode> show_help(const CommandContext& context) {
    if (context.options.wants_result())
      return Error{"--json and --report apply only if WHAT is given; see `goodput list --help`", {}};
    for (const CommandHelp& command : context.program().commands) {
      if (command.word() == "list") context.print(help_text(command, context.terminal.width));
    }
    return ExitCode::kOk;
  }

  std::string what_;
};

}  // namespace

CommandInfo command_list() {
  return {.name = "list",
          .summary = "List built-in models, formats and policies, and the configs available by name",
          .example = "goodput list formats",
          .make = make_command<ListCommand>};
}

}  // namespace goodput
