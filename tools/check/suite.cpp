#include "tools/check/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <utility>

#include "models/scenario/trial_metrics.h"
#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

// A run of these has no result to look into, or is a suite itself.
constexpr std::array<std::string_view, 6> kNotRun = {"check",  "sweep", "merge",
                                                     "report", "help",  "completion"};

// What `check` tells the commands itself.
constexpr std::array<std::string_view, 9> kOwnOptions = {
    "--json",        "--quiet",       "--jobs",           "--configs",         "--trials",
    "--first-trial", "--json-trials", "--policy-command", "--policy-timeout-s"};

bool is_utf8(const std::string& text) {
  return Json::accept("\"" + text + "\"") || text.find_first_of("\"\\") != std::string::npos;
}

// Texts, one or more.
config::Value words(std::vector<std::string>& all) {
  const std::string wanted = "a list of words such as [\"simulate\", \"controlled-5min-gpt-s\"]";
  const auto read = [&all, wanted](const Json& value, config::Place& place) -> Status {
    const bool are_texts =
        value.is_array() && !value.empty() &&
        std::all_of(value.begin(), value.end(), [](const Json& word) { return word.is_string(); });
    if (!are_texts) return place.not_wanted(value, wanted);
    all = value.get<std::vector<std::string>>();
    return Ok{};
  };
  return {wanted, read, [&all](OrderedJson& into) { into = all; }, {}};
}

// An object of objects, each with a name; in the order of the names.
template <typename T>
config::Value named_objects(std::vector<T>& all, std::string wanted, std::string T::*name,
                            std::string (*fault)(const std::string&)) {
  const auto read = [&all, wanted, name, fault](const Json& value, config::Place& place) -> Status {
    if (!value.is_object()) return place.not_wanted(value, wanted);
    if (value.empty()) return place.error("is empty; expected " + wanted);
    all.clear();
    for (const auto& [key, one] : value.items()) {
      config::Place there = place.at(key);
      if (std::string wrong = fault(key); !wrong.empty()) return there.error(std::move(wrong));
      T made;
      made.*name = key;
      GOODPUT_TRY_STATUS(config::object(made).read(one, there));
      all.push_back(std::move(made));
    }
    return Ok{};
  };
  const auto write = [&all, name](OrderedJson& into) {
    for (T& one : all) into[one.*name] = config::write(config_fields(one));
  };
  return {wanted, read, write, {}};
}

std::string fault_of_run_name(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return "a run's name must not contain a slash, because its figures are named NAME/METRIC";
  return fault_of_name(name);
}

std::string fault_of_metric(const std::string& metric) {
  return metric.empty()
             ? "a metric must be a JSON pointer such as \"/slowdown\", or the name of a trial metric"
             : "";
}

bool is_json_pointer(const std::string& text) {
  try {
    return !JsonPointer(text).empty();
  } catch (const JsonError&) {
    return false;
  }
}

config::Value direction(std::optional<Direction>& better) {
  return config::choice([&better] { return static_cast<std::size_t>(better.value_or(Direction::kSame)); },
                        [&better](std::size_t at) { better = static_cast<Direction>(at); }, kDirectionNames);
}

}  // namespace

Direction MetricRule::direction() const {
  if (better) return *better;
  const auto known = find_trial_metric(metric);
  GOODPUT_CHECK(known.has_value(), "a figure without a direction");
  return info(*known).better == Better::kMore ? Direction::kMore : Direction::kLess;
}

bool SuiteRun::has_trials() const {
  return std::any_of(metrics.begin(), metrics.end(),
                     [](const MetricRule& rule) { return !rule.is_pointer(); });
}

config::Fields config_fields(MetricRule& rule) {
  return {{"better", config::Need::kOptional, direction(rule.better),
           "whether more or less is better; `same`: any change counts. Not needed for the trial metrics of "
           "`simulate`"},
          {"tolerance", config::Need::kRequired, config::text(rule.tolerance_text),
           "how far the figure may change: `exact`, `1 %`, `0.02`, or `1 % at 95 %` (confidence) for trial "
           "metrics"}};
}

Status config_finish(MetricRule& rule) {
  Result<Tolerance> tolerance = Tolerance::parse(rule.tolerance_text);
  if (!tolerance) return tolerance.error().inside("/tolerance");
  rule.tolerance = *tolerance;
  if (rule.is_pointer() && !is_json_pointer(rule.metric))
    return Error{"is not a JSON pointer; write ~ as ~0, and / within a name as ~1"};
  if (rule.is_pointer() && rule.tolerance.is_statistical())
    return Error{
        "has a confidence level, but a JSON pointer names a single figure, which has no trials; leave the "
        "confidence level out",
        Where{.pointer = "/tolerance"}};
  if (rule.better) return Ok{};
  if (rule.is_pointer()) return Error{"needs \"better\": more, less or same"};
  if (const auto known = find_trial_metric(rule.metric); !known)
    return Error{fmt::format("{}; if it is the policy's own metric, add \"better\"", known.error().what)};
  return Ok{};
}

config::Fields config_fields(SuiteRun& run) {
  return {{"command", config::Need::kRequired, words(run.command),
           "command to run, as a list of words; $SUITE/ at the start of a word stands for the folder of the "
           "suite"},
          {"metrics", config::Need::kRequired,
           named_objects(run.metrics,
                         "an object such as {\"samples_per_hour\": {\"tolerance\": \"1 % at 95 %\"}}",
                         &MetricRule::metric, fault_of_metric),
           "figures of the result: a JSON pointer, or a trial metric, which is checked for every policy that "
           "has it"},
          {"trials", config::Need::kOptional, config::integer(run.trials, 0, kMostBaselineTrials),
           "number of trials that a baseline keeps; 0: as many as the suite sets"}};
}

namespace {

Status check_word(const std::string& word, std::size_t place) {
  const Where where{.pointer = fmt::format("/command/{}", place)};
  if (place == 0 && word.starts_with('-'))
    return Error{"must be a command, not an option; options come after the command", where};
  if (word == "-") return Error{"means stdin, which a suite does not have; name a file", where};
  const std::string option = word.substr(0, word.find('='));
  if (std::find(kOwnOptions.begin(), kOwnOptions.end(), option) == kOwnOptions.end()) return Ok{};
  return Error{fmt::format("goodput check sets {} itself; {}", option,
                           option == "--trials" ? "use \"trials\" next to \"command\"" : "leave it out"),
               where};
}

}  // namespace

Status config_finish(SuiteRun& run) {
  for (std::size_t i = 0; i < run.command.size(); ++i) GOODPUT_TRY_STATUS(check_word(run.command[i], i));
  const std::string& command = run.command.front();
  if (std::find(kNotRun.begin(), kNotRun.end(), command) != kNotRun.end())
    return Error{fmt::format("{} cannot be run by a suite", in_quotes(command)),
                 Where{.pointer = "/command/0"}};
  if (run.has_trials() && command != "simulate")
    return Error{"names trial metrics, which only goodput simulate has; start a JSON pointer with a slash",
                 Where{.pointer = "/metrics"}};
  if (run.trials == 1)
    return Error{"must not be 1, because one trial has no confidence interval", Where{.pointer = "/trials"}};
  return Ok{};
}

config::Fields config_fields(Suite& suite) {
  return {{"trials", config::Need::kOptional, config::integer(suite.trials, 2, kMostBaselineTrials),
           "number of trials per policy that a baseline keeps"},
          {"runs", config::Need::kRequired,
           named_objects(suite.runs, "an object with the runs by name", &SuiteRun::name, fault_of_run_name),
           "commands, and the figures of their results that must not change"}};
}

Status config_finish(Suite& suite) {
  const std::filesystem::path folder = config::folder_of(suite.file);
  for (SuiteRun& run : suite.runs) {
    if (run.trials == 0) run.trials = suite.trials;
    for (std::string& word : run.command) {
      if (word.starts_with("$SUITE/")) word = (folder / word.substr(7)).lexically_normal().string();
    }
  }
  return Ok{};
}

Result<Suite> read_suite(const std::string& file) {
  Suite suite;
  suite.file = file;
  suite.name = std::filesystem::path(file).stem().string();
  if (const std::string fault = fault_of_name(suite.name); !fault.empty() || !is_utf8(suite.name))
    return Error{fmt::format(
        "{}: results use the name of the suite's file, so it must be one line of at most 64 UTF-8 characters",
        in_quotes(file))};
  GOODPUT_TRY_STATUS(config::read_file(file, config::access(suite)));
  return suite;
}

}  // namespace goodput
