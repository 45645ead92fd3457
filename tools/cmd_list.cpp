#include "tools/cmd_list.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/did_you_mean.h"
#include "tools/json_result.h"
#include "traces/op_trace_format.h"

namespace goodput {
namespace {

struct Listed {
  std::string name;
  std::string summary;
};

std::vector<Listed> list_formats() {
  std::vector<Listed> listed;
  for (const OpTraceFormat& format : op_trace_formats()) {
    listed.push_back({std::string(format.name), std::string(format.summary)});
  }
  return listed;
}

// What can be listed, and how. A line a registry.
struct Registry {
  std::string_view name;
  std::vector<Listed> (*list)();
};
constexpr Registry kRegistries[] = {
    {"formats", list_formats},
};

Result<Registry> find_registry(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Registry& registry : kRegistries) {
    if (registry.name == name) return registry;
    known.push_back(registry.name);
  }
  return Error{"", fmt::format("goodput list: cannot list {}{}; known: {}", goodput::quoted(name),
                               did_you_mean(name, known), fmt::join(known, ", "))};
}

class ListCommand final : public Command {
 public:
  void configure(CLI::App& app) override {
    app.add_option("what", what_, "What to list: formats")->required()->option_text("WHAT");
  }

  Result<ExitCode> run(const CommandContext& context) override {
    GOODPUT_TRY(const Registry registry, find_registry(what_));
    nlohmann::ordered_json result = begin_json_result("list", context, {});
    result[what_] = nlohmann::ordered_json::array();
    for (const Listed& item : registry.list()) {
      context.print(fmt::format("{:<10} {}\n", item.name, item.summary));
      result[what_].push_back({{"name", item.name}, {"summary", item.summary}});
    }
    GOODPUT_TRY_STATUS(write_json_result(result, context));
    return ExitCode::kOk;
  }

 private:
  std::string what_;
};

}  // namespace

std::unique_ptr<Command> make_list_command() {
  return std::make_unique<ListCommand>();
}

}  // namespace goodput
