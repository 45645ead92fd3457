#include "tools/sweep/sweep_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "tools/cli/command_line.h"
#include "tools/cli/json_result.h"

namespace goodput {
namespace {

constexpr std::uint64_t kMostTried = 10'000;  // points, before all are given up

// What most points that cannot be read say: each its own value of what is out of range, all the same of a
// pointer that is none.
struct CommonError {
  std::map<std::string, std::uint64_t> counts{};
  std::optional<Error> error{};
  std::uint64_t most = 0;

  void add(const Error& other) {
    const std::uint64_t count = ++counts[other.message()];
    if (count > most) {
      most = count;
      error = other;
    }
  }
};

bool says_number_of_nodes(const FailureConfig& failures) {
  const Json text = Json::parse(failures.text());
  return text.contains("nodes") && text["nodes"].is_number() && text["nodes"] != 0;
}

// Whoever says which nodes there are has to leave their number to the job.
Status check_spares(const Scenario& scenario) {
  const auto refuse = [&scenario](const std::string& pointer, std::string_view why) {
    return Error{fmt::format("{}, so that spares add none; vary a pointer instead", why),
                 {.file = scenario.file, .pointer = pointer}};
  };
  if (!scenario.pools.empty()) return refuse("/pools", "say how many nodes there are");
  for (const auto& failures : all_failures(scenario)) {
    const FailureSetup& setup = failures.config->setup();
    if (setup.nodes_acted_on()) continue;
    const std::optional<FailureFile> file = setup.file();
    if (file && file->content == FailureFile::Content::kRecording)
      return refuse(failures.pointer, "is a recording, which says how many nodes there are");
    if (says_number_of_nodes(*failures.config)) {
      return Error{
          "fixes how many nodes there are, so that spares add none; leave it out: they follow the job's",
          {.file = scenario.file, .pointer = failures.pointer + "/nodes"}};
    }
  }
  return Ok{};
}

Status check_rule(const SweepRequest& request, const Scenario& scenario) {
  const auto& rule = request.sweep.until;
  if (!rule || rule->policies().empty()) return Ok{};
  const auto found = find_rule_policies(rule->policies(), scenario.policies);
  if (found) return Ok{};
  return Error{"--until " + found.error().what};
}

}  // namespace

Result<std::uint64_t> check_sweep(const SweepRequest& request, PointRunner& runner) {
  CommonError common;
  const std::uint64_t points = request.points.size();
  const std::uint64_t stride = 1 + (points - 1) / kMostTried;
  for (std::uint64_t point = 0; point < points; point += stride) {
    const Result<Scenario> scenario = runner.scenario(point);
    if (!scenario) {
      common.add(scenario.error());
      continue;
    }
    if (request.points.has_spares()) GOODPUT_TRY_STATUS(check_spares(*scenario));
    GOODPUT_TRY_STATUS(check_rule(request, *scenario));
    return point;
  }
  return *common.error;
}

SweepManifest make_sweep_manifest(const SweepRequest& request, std::uint64_t point, PointRunner& runner) {
  SweepManifest manifest;
  manifest.version = program_version();
  manifest.seed = request.seed;
  manifest.scenario = request.file;
  manifest.parameters = request.points.parameters();
  Hash hash;
  for (const std::string& parameter : manifest.parameters) hash.add(parameter);
  for (std::uint64_t i = 0; i < request.points.size(); ++i) {
    manifest.values.push_back(request.points.values(i));
    for (const std::string& value : manifest.values.back()) hash.add(value);
  }
  SweepConfig echoed = request.sweep;
  echoed.scenario = request.scenario;
  echoed.set = request.set;
  const OrderedJson json = config::write(config_fields(echoed));
  manifest.request = json.dump();
  // Where the scenario lies moves no number, what is in it does.
  echoed.scenario.clear();
  hash.add(config::write(config_fields(echoed)).dump());
  hash.add(request.seed);
  const Result<Scenario> scenario = runner.scenario(point);
  GOODPUT_CHECK(scenario, "a point that can be read");
  const Result<std::string> config = runner.config_hash(*scenario);
  hash.add(config ? *config : config.error().message(flag_of));
  manifest.grid_hash = fmt::format("{:016x}", hash.value());
  return manifest;
}

}  // namespace goodput
