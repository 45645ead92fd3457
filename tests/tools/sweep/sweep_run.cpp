#include "tests/tools/sweep/sweep_run.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "sim/base/json.h"
#include "tools/cli/command_line.h"
#include "tools/commands.h"

namespace goodput::testing {
namespace {

// Without quotes that hold commas: the tables of these tests have none but in texts at their end.
std::vector<std::string> csv_cells(const std::string& line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"')
      is_quoted = !is_quoted;
    else if (c == ',' && !is_quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

}  // namespace

Json swept_scenario() {
  return {{"plan", GOODPUT_CONFIGS "/plans/lazarus-gpt-s.json"},
          {"failures", {{"model", "exponential"}, {"mtbf_hours", 2}, {"repair_s", 300}}},
          {"duration_s", 600},
          {"trials", 3},
          {"policies", {{"ds", {{"checkpoint", {{"interval_steps", 50}}}}}, {"gemini", Json::object()}}}};
}

SweepRun::SweepRun(const Json& scenario) : file_("s.json", scenario.dump()) {}

std::string SweepRun::path(const std::string& name) const {
  return (std::filesystem::path(file_.path()).parent_path() / name).string();
}

std::string SweepRun::content(const std::string& name) const {
  std::ifstream file(path(name), std::ios::binary);
  REQUIRE_MESSAGE(file, name);
  return {std::istreambuf_iterator<char>(file), {}};
}

void SweepRun::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
}

SweepRun::Said SweepRun::run(std::vector<std::string> arguments,
                             const std::map<std::string, std::string>& environment) const {
  arguments.insert(arguments.end(), {"--configs", GOODPUT_CONFIGS});
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code =
      run_command_line(builtin_commands(), arguments, out, err, {}, [&environment](const std::string& name) {
        const auto found = environment.find(name);
        return found == environment.end() ? std::string{} : found->second;
      });
  Said said{code, out.str(), err.str()};
  const std::string folder = path("");
  for (std::string* text : {&said.out, &said.err}) {
    for (auto at = text->find(folder); at != std::string::npos; at = text->find(folder))
      text->erase(at, folder.size());
  }
  return said;
}

void SweepRun::sweep(const std::string& out, const std::vector<std::string>& options,
                     const std::map<std::string, std::string>& environment) const {
  std::vector<std::string> arguments = {"sweep", scenario(), "--out", path(out)};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Said said = run(std::move(arguments), environment);
  REQUIRE_MESSAGE(said.code == ExitCode::kOk, said.err);
}

std::vector<std::map<std::string, std::string>> table_of(const std::string& csv) {
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> names = csv_cells(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(lines, line)) {
    const std::vector<std::string> cells = csv_cells(line);
    REQUIRE(cells.size() == names.size());
    std::map<std::string, std::string>& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = cells[i];
  }
  return rows;
}

}  // namespace goodput::testing
