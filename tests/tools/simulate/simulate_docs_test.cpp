// What docs/formats says of scenarios and simulate is what the program does.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "models/failure/failure_models.h"
#include "models/policy/policy.h"
#include "models/scenario/scenario.h"
#include "sim/base/json.h"
#include "sim/config/config.h"
#include "sim/job/time_bucket.h"
#include "tests/support/config_table.h"
#include "tests/tools/simulate/small_scenario.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/cli/command_line.h"
#include "tools/commands.h"

namespace goodput {
namespace {

constexpr const char* kScenarios = "docs/formats/scenarios.md";
constexpr const char* kSimulate = "docs/formats/simulate.md";

std::string page(const std::string& name) {
  std::ifstream file(GOODPUT_CONFIGS "/../" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// `table` must stand in the page word for word: after a change, paste it in.
void check_documented(const std::string& name, const std::string& table) {
  CHECK_MESSAGE(page(name).find(table) != std::string::npos, name, " wants the table\n", table);
}

// Policies that an option has one default for.
struct Default {
  std::string value;
  std::vector<std::string> policies;
};
struct Option {
  std::string key;
  std::string wanted;
  std::string meaning;
  std::vector<Default> defaults;
};

// The cells of `| a | b | c | d |`; none of a table's head.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  if (!line.starts_with("| `")) return cells;
  std::size_t from = 2;
  for (auto to = line.find(" |", from); to != std::string::npos; from = to + 3, to = line.find(" |", from)) {
    cells.push_back(from > to ? "" : line.substr(from, to - from));
    if (to + 2 >= line.size()) break;
  }
  return cells;
}

void add_options(const PolicyInfo& policy, std::vector<Option>& options) {
  std::istringstream table(config::describe(policy.make()->fields({})));
  for (std::string line; std::getline(table, line);) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.empty()) continue;
    REQUIRE(cells.size() == 4);
    auto option = std::find_if(options.begin(), options.end(), [&](const Option& known) {
      return known.key == cells[0] && known.wanted == cells[1] && known.meaning == cells[3];
    });
    if (option == options.end()) {
      option = options.insert(options.end(), Option{cells[0], cells[1], cells[3], {}});
    }
    auto group = std::find_if(option->defaults.begin(), option->defaults.end(),
                              [&](const Default& known) { return known.value == cells[2]; });
    if (group == option->defaults.end())
      group = option->defaults.insert(option->defaults.end(), Default{cells[2], {}});
    group->policies.emplace_back(policy.name);
  }
}

// The options of all policies, each once, with its default by policy.
std::string policy_options_table() {
  std::vector<Option> options;
  for (const PolicyInfo& policy : recovery_policies()) add_options(policy, options);
  std::string table = "| key | value | default | meaning |\n|---|---|---|---|\n";
  for (const Option& option : options) {
    std::string defaults;
    for (const Default& group : option.defaults) {
      if (!defaults.empty()) defaults += "; ";
      const bool is_everybodys = group.policies.size() == recovery_policies().size();
      defaults += is_everybodys ? group.value
                                : fmt::format("{}{}{}", group.value, group.value.empty() ? "" : ": ",
                                              fmt::join(group.policies, ", "));
    }
    table += fmt::format("| {} | {} | {} | {} |\n", option.key, option.wanted, defaults, option.meaning);
  }
  return table;
}

}  // namespace

TEST_CASE("docs: the fields of scenarios and of every failure model are those of the readers") {
  Scenario scenario;
  check_documented(kScenarios, config::describe(config_fields(scenario)));
  PoolConfig pool;
  check_documented(kScenarios, config::describe(config_fields(pool)));
  for (const FailureModelInfo& model : failure_models()) {
    const std::unique_ptr<FailureSetup> setup = model.make();
    const std::string table = config::describe(setup->fields());
    check_documented(kScenarios, fmt::format("`{}`: {}.\n\n{}", model.name, model.summary, table));
  }
}

TEST_CASE("docs: the options of every policy are those it reads") {
  check_documented(kScenarios, policy_options_table());
  for (const PolicyInfo& policy : recovery_policies())
    check_documented(kScenarios, fmt::format("| `{}` | {} |\n", policy.name, policy.summary));
}

TEST_CASE("docs: every kind of time is explained") {
  for (const TimeBucketInfo& bucket : kTimeBuckets)
    check_documented(kSimulate, fmt::format("| `{}` | {} |\n", bucket.name, bucket.meaning));
}

TEST_CASE("docs: every key of goodput.simulate/1 is explained") {
  const std::string text = page(kSimulate);
  const std::size_t begin = text.find("## goodput.simulate/1");
  REQUIRE(begin != std::string::npos);
  const std::string section = text.substr(begin, text.find("\n## ", begin) - begin);
  const TemporaryFile file("scenario.json", testing::small_scenario().dump());
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code =
      run_command_line(builtin_commands(), {"simulate", file.path(), "--json", "-"}, out, err);
  REQUIRE_MESSAGE(code == ExitCode::kOk, err.str());
  const Json result = Json::parse(out.str());
  const auto check_keys = [&section](const Json& object) {
    for (const auto& item : object.items())
      CHECK_MESSAGE(section.find("`" + item.key + "`") != std::string::npos, item.key);
  };
  check_keys(result.at("policies").at("lazarus"));
  check_keys(result.at("ratios").at("lazarus/ds"));
  check_keys(result.at("inputs").at(0));
  for (const char* key : {"policies", "ratios", "inputs", "scenario"}) {
    CHECK(result.contains(key));
    CHECK_MESSAGE(section.find("`" + std::string(key) + "`") != std::string::npos, key);
  }
}

}  // namespace goodput
