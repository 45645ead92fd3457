// What docs/formats says of plans and plan-step is what the program does.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "models/plan/synth_plan.h"
#include "sim/base/json.h"
#include "sim/config/config.h"
#include "tests/support/config_table.h"
#include "tools/cli/command_line.h"
#include "tools/commands.h"

namespace goodput {
namespace {

std::string page(const std::string& name) {
  std::ifstream file(GOODPUT_CONFIGS "/../" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string output_of(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code = run_command_line(builtin_commands(), arguments, out, err);
  REQUIRE_MESSAGE(code == ExitCode::kOk, err.str());
  return out.str();
}

// From behind `begin` to before `end`.
std::string_view between(std::string_view text, std::string_view begin, std::string_view end) {
  const auto from = text.find(begin);
  REQUIRE(from != std::string_view::npos);
  text.remove_prefix(from + begin.size());
  return text.substr(0, text.find(end));
}

// `table` must stand in the page word for word: after a change, paste it in.
void check_documented(const std::string& name, const std::string& table) {
  CHECK_MESSAGE(page(name).find(table) != std::string::npos, name, " wants the table\n", table);
}

}  // namespace

TEST_CASE("docs: the fields of models, clusters and plans are those of the readers") {
  ModelShape model;
  check_documented("docs/formats/models.md", config::describe(config_fields(model)));
  ClusterConfig cluster;
  check_documented("docs/formats/clusters.md", config::describe(config_fields(cluster)));
  SoftwareStack stack;
  std::vector<config::Source> sources;
  check_documented("docs/formats/stacks.md", config::describe(stack_fields(stack, sources)));
  SynthPlan plan;
  check_documented("docs/formats/plans.md", config::describe(config_fields(plan)));
}

TEST_CASE("docs: every key of goodput.plan-step/1 is explained") {
  const std::string text = page("docs/formats/plan-step.md");
  const std::string_view section = between(text, "## goodput.plan-step/1", "\n## ");
  const Json result = Json::parse(
      output_of({"plan-step", GOODPUT_CONFIGS "/plans/megatron_a100.json", "--quiet", "--json", "-"}));
  for (const auto& item : result.items()) {
    const std::string& key = item.key;
    if (key == "schema" || key == "version" || key == "revision" || key == "seed" || key == "lowest_tier" ||
        key == "config_files")
      continue;  // of every result
    CHECK_MESSAGE(section.find(key) != std::string_view::npos, key);
  }
  for (const auto& item : result.at("memory").items())
    CHECK_MESSAGE(section.find(item.key) != std::string_view::npos, item.key);
}

}  // namespace goodput
