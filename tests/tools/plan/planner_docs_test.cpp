// What docs/formats says of plan questions and their answers is what the program does.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "models/planner/plan_question.h"
#include "sim/base/json.h"
#include "tests/support/config_table.h"
#include "tools/cli/command_line.h"
#include "tools/commands.h"

namespace goodput {
namespace {

std::string planner_page(const std::string& name) {
  std::ifstream file(GOODPUT_CONFIGS "/../" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// `table` must stand in the page word for word: after a change, paste it in.
void check_in_page(const std::string& name, const std::string& table) {
  CHECK_MESSAGE(planner_page(name).find(table) != std::string::npos, name, " wants the table\n", table);
}

// All keys within, of objects in arrays too; not of what is a config.
void check_explained(const std::string& text, const Json& value) {
  if (value.is_array() && !value.empty()) check_explained(text, value.front());
  if (!value.is_object()) return;
  for (const auto& item : value.items()) {
    const std::string& key = item.key;
    const Json& member = item.value;
    if (key == "parallel" || key == "options" || key == "question") continue;
    CHECK_MESSAGE(text.find("`" + key + "`") != std::string::npos, key);
    if (key != "rejected" && key != "refused") check_explained(text, member);
  }
}

}  // namespace

TEST_CASE("docs: the keys of plan questions are those of the reader") {
  PlanQuestion question;
  config::Fields fields = config_fields(question);
  fields.erase(fields.begin(),
               fields.begin() + 6);  // model, cluster, stack, cost, efficiency, expert_load: of plans
  check_in_page("docs/formats/plan-questions.md", config::describe(fields));
}

TEST_CASE("docs: every key of goodput.plan/1 is explained") {
  std::ostringstream out;
  std::ostringstream err;
  const std::vector<std::string> arguments = {"plan",
                                              "--model",
                                              "gpt-s",
                                              "--cluster",
                                              "dgx-h100",
                                              "--gpus",
                                              "8",
                                              "--tokens",
                                              "1e9",
                                              "--batch",
                                              "64",
                                              "--sequence-length",
                                              "1024",
                                              "--usd-per-node-hour",
                                              "20",
                                              "--failures",
                                              "rsc-1",
                                              "--deadline",
                                              "1d",
                                              "--policy",
                                              "checkpoint",
                                              "--spares",
                                              "0,1",
                                              "--plans",
                                              "1",
                                              "--max-trials",
                                              "16",
                                              "--set",
                                              "/search/schedules=[\"1f1b\"]",
                                              "--quiet",
                                              "--json",
                                              "-",
                                              "--configs",
                                              GOODPUT_CONFIGS};
  const ExitCode code = run_command_line(builtin_commands(), arguments, out, err);
  REQUIRE_MESSAGE(code == ExitCode::kOk, err.str());
  Json result = Json::parse(out.str());
  for (const char* of_every_result :
       {"schema", "version", "revision", "seed", "config_hash", "calibration", "lowest_tier", "config_files"})
    result.erase(of_every_result);
  check_explained(planner_page("docs/formats/plan.md"), result);
}

}  // namespace goodput
