#include "tools/sweep/sweep_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/scenario/scenario.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/config/config.h"
#include "sim/config/json_file.h"
#include "tools/cli/config_files.h"
#include "tools/cli/key_notes.h"
#include "tools/cli/named_choice.h"
#include "tools/simulate/scenario_options.h"

namespace goodput {
namespace {

Error of_vary(const std::string& text, const Error& error) {
  return Error{fmt::format("{} {}: {}", kOption, on_one_line(text), error.what)}.of_option("vary");
}

// The file of a sweep, or of a scenario that options alone make one of.
Result<std::string> find_sweep_file(const std::string& argument, const config::Library& library,
                                    const CommandContext& context) {
  const bool is_sweep = config::is_name(argument) && config::find(library, kSweepFiles, argument);
  return config_file(argument, is_sweep ? kSweepFiles : kScenarioFiles, library, context);
}

Result<bool> is_sweep_file(const std::string& file, const config::Library& library) {
  GOODPUT_TRY(const Json json, config::parse_file(file, library.parsed));
  return json.is_object() && json.contains("vary");
}

Result<std::string> scenario_file(const std::string& sweep_file, const std::string& scenario,
                                  const config::Library& library) {
  if (!config::is_name(scenario)) return scenario;
  const auto found = config::find_from(sweep_file, library, kScenarioFiles, scenario);
  if (found) return found->file;
  return found.error().inside("/scenario").in_file(sweep_file);
}

Status read_sweep_file(const config::Library& library, SweepRequest& request) {
  GOODPUT_TRY(const config::KeyNotes unused,
              config::read_file(request.file, config::access(request.sweep), library));
  request.notes = key_note_lines(unused, request.file);
  GOODPUT_TRY(request.scenario, scenario_file(request.file, request.sweep.scenario, library));
  request.set = request.sweep.set;
  return Ok{};
}

// Of the axes that the file has one of the same parameters has these values instead; else there is one more.
void put_axis(SweepAxis axis, std::size_t of_file, std::vector<SweepAxis>& axes) {
  const auto end = axes.begin() + static_cast<std::ptrdiff_t>(of_file);
  const auto same = std::find_if(
      axes.begin(), end, [&axis](const SweepAxis& other) { return other.parameters() == axis.parameters(); });
  if (same == end) {
    axes.push_back(std::move(axis));
  } else {
    same->values = std::move(axis.values);
    same->values_json = std::move(axis.values_json);
    same->file = std::move(axis.file);
  }
}

Status check_bound(std::string_view option, const std::optional<std::int64_t>& value, std::int64_t least,
                   std::int64_t most) {
  if (!value || (*value >= least && *value <= most)) return Ok{};
  return Error{fmt::format("{} must be a whole number from {} to {}, not {}", option, least, most, *value)};
}

Status apply_numbers(const SweepOptions& options, SweepConfig& sweep) {
  GOODPUT_TRY_STATUS(check_bound("--trials", options.trials, 1, kMostSweepTrials));
  GOODPUT_TRY_STATUS(check_bound("--points", options.points, 1, kMostSweepPoints));
  GOODPUT_TRY_STATUS(check_bound("--max-trials", options.max_trials, kLeastRuleTrials, kMostSweepTrials));
  sweep.trials = options.trials.value_or(sweep.trials);
  sweep.points = options.points.value_or(sweep.points);
  sweep.max_trials = options.max_trials.value_or(sweep.max_trials);
  if (options.points && sweep.design != SweepDesign::kLatin)
    return Error{"--points applies only to a latin design; add --design latin"};
  if (options.max_trials && !sweep.until)
    return Error{"--max-trials applies only to --until; add --until METRIC±X%"};
  return Ok{};
}

Status apply_options(const SweepOptions& options, SweepRequest& request) {
  SweepConfig& sweep = request.sweep;
  const std::size_t of_file = sweep.vary.size();
  for (const std::string& text : options.vary) {
    Result<SweepAxis> axis = parse_sweep_axis(text);
    if (!axis) return of_vary(text, axis.error());
    put_axis(*std::move(axis), of_file, sweep.vary);
  }
  if (sweep.vary.empty()) {
    return Error{
        "nothing varies; add --vary POINTER=VALUES, for example --vary /failures/mtbf_hours=10,100, or "
        "name a sweep file"};
  }
  if (!options.design.empty()) {
    GOODPUT_TRY(sweep.design, choose<SweepDesign>("design", "design", options.design, kSweepDesignNames));
  }
  if (!options.until.empty()) {
    Result<StoppingRule> rule = StoppingRule::parse(options.until);
    if (!rule) return Error{"--until: " + rule.error().what};
    sweep.until = *std::move(rule);
  }
  if (!options.policies.empty()) sweep.policies = options.policies;
  GOODPUT_TRY(std::vector<config::Change> changes, parse_changes(options.set));
  request.set.insert(request.set.end(), changes.begin(), changes.end());
  return apply_numbers(options, sweep);
}

}  // namespace

Result<SweepRequest> make_sweep_request(const SweepOptions& options, const config::Library& library,
                                        const CommandContext& context) {
  SweepRequest request;
  request.seed = context.options.seed;
  GOODPUT_TRY(request.commands, options.commands.read());
  GOODPUT_TRY(request.file, find_sweep_file(options.file, library, context));
  GOODPUT_TRY(const bool is_sweep, is_sweep_file(request.file, library));
  if (is_sweep) {
    GOODPUT_TRY_STATUS(read_sweep_file(library, request));
  } else {
    request.scenario = request.file;
  }
  GOODPUT_TRY_STATUS(apply_options(options, request));
  Result<SweepPoints> points = SweepPoints::make(request.sweep, request.seed);
  if (!points && is_sweep && options.vary.empty()) return points.error().in_file(request.file);
  if (!points) return Error{points.error().what, {}, points.error().option};
  request.points = *std::move(points);
  return request;
}

}  // namespace goodput
