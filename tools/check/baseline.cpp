#include "tools/check/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "models/scenario/sample_moments.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/config/json_file.h"
#include "traces/io/byte_source.h"
#include "traces/io/csv_lines.h"
#include "traces/table/csv_field.h"

namespace goodput {
namespace {

constexpr std::string_view kBaselineSchema = "goodput.baseline/1";
constexpr double kLargestValue = 1e300;  // so that sums stay finite
constexpr std::size_t kLongestTrialsLine = std::size_t{4} << 20;

std::string compact(const OrderedJson& json) {
  return json.dump();
}

OrderedJson run_json(const BaselineRun& run) {
  OrderedJson json = {{"version", run.origin.version},
                      {"revision", run.origin.revision},
                      {"config_hash", run.origin.config_hash}};
  if (!run.origin.calibration.empty()) json["calibration"] = run.origin.calibration;
  for (const auto& [policy, parts] : run.parts) {
    OrderedJson& of_policy = json["parts"][policy] = OrderedJson::object();
    for (const auto& [name, value] : parts) of_policy[name] = value;
  }
  return json;
}

OrderedJson figure_json(const BaselineFigure& figure) {
  if (!figure.value) return {{"is", OrderedJson::parse(figure.text)}};
  OrderedJson json = {{"is", *figure.value}};
  if (!figure.trials.empty()) json["trials"] = figure.trials.size();
  return json;
}

std::string member_line(const std::string& name, const OrderedJson& value) {
  return fmt::format("{}: {}", compact(OrderedJson(name)), compact(value));
}

template <typename Entries, typename Line>
void add_lines(const char* key, const Entries& entries, Line line, std::string& json) {
  json += fmt::format("\"{}\": {{", key);
  const char* separator = "\n";
  for (const auto& [name, value] : entries) {
    json += separator + line(name, value);
    separator = ",\n";
  }
  json += "\n}";
}

// ---- Reading.

Parts parts_from(const OrderedJson& object) {
  Parts parts;
  for (const auto& [name, value] : object.items()) parts[name] = value.get<double>();
  return parts;
}

BaselineRun run_from(const OrderedJson& json) {
  const auto text = [&json](std::string_view key) { return json.at(key).get<std::string>(); };
  BaselineRun run{
      {text("version"), text("revision"), text("config_hash"), json.value("calibration", std::string())}};
  if (!json.contains("parts")) return run;
  for (const auto& [policy, parts] : json.at("parts").items()) run.parts[policy] = parts_from(parts);
  return run;
}

BaselineFigure figure_from(const OrderedJson& json) {
  const OrderedJson& is = json.at("is");
  if (is.is_number()) return {.value = is.get<double>()};
  return {.text = Json::parse(is.dump()).dump()};
}

Error no_baseline(const std::string& path, std::string_view why) {
  return {fmt::format("is not a baseline: {}; remove the file and make a new baseline with `goodput check "
                      "SUITE --baseline FILE --update`",
                      why),
          Where{.file = path}};
}

// How many trials each figure is said to have.
using TrialCounts = std::map<std::string, std::size_t>;

Result<Baseline> read_lines(const std::string& path, TrialCounts& counts) {
  GOODPUT_TRY(const Json file, config::parse_file(path));
  if (!file.is_object() || !file.contains("schema"))
    return no_baseline(path, "the key \"schema\" is missing");
  if (file.at("schema") != kBaselineSchema)
    return no_baseline(path, fmt::format("the schema is {}, but this program reads {}",
                                         on_one_line(file.at("schema").dump()), kBaselineSchema));
  try {
    const OrderedJson json(file);
    if (!json.at("seed").is_number_unsigned()) return no_baseline(path, "the seed is not a whole number");
    Baseline baseline{.suite = json.at("suite").get<std::string>(),
                      .seed = json.at("seed").get<std::uint64_t>()};
    for (const auto& [name, run] : json.at("runs").items()) baseline.runs[name] = run_from(run);
    for (const auto& [name, figure] : json.at("figures").items()) {
      baseline.figures[name] = figure_from(figure);
      if (figure.contains("trials")) counts[name] = figure.at("trials").get<std::size_t>();
    }
    return baseline;
  } catch (const JsonError& error) {
    return no_baseline(path, on_one_line(error.what()));
  }
}

std::string unescaped(std::string_view field) {
  std::string text(field);
  for (auto at = text.find("\"\""); at != std::string::npos; at = text.find("\"\"", at + 1))
    text.erase(at, 1);
  return text;
}

Status take_trials_line(std::string_view line, Baseline& baseline) {
  const auto fields = split_csv(without_line_end(line));
  if (!fields) return Error{std::string(kUnclosedQuote)};
  const std::string name = unescaped(fields->front());
  const auto found = baseline.figures.find(name);
  if (found == baseline.figures.end())
    return Error{fmt::format(
        "figure {} is not in the baseline that belongs to this file; take both files from the same commit",
        in_quotes(name))};
  for (std::size_t i = 1; i < fields->size(); ++i) {
    const auto value = parse_number((*fields)[i]);
    if (!value || std::abs(*value) > kLargestValue)
      return Error{fmt::format("trial {} must be a number, not {}", i - 1, in_quotes((*fields)[i]))};
    found->second.trials.push_back(*value);
  }
  return Ok{};
}

Status read_trials(const std::string& path, Baseline& baseline) {
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  return for_each_line(source, kLongestTrialsLine, [&](std::string_view line, std::size_t number) -> Status {
    return number == 1 ? Status(Ok{}) : take_trials_line(line, baseline);
  });
}

// The two files are written one after the other, and may be merged by hand.
Status check_they_match(const std::string& path, const Baseline& baseline, const TrialCounts& counts) {
  for (const auto& [name, figure] : baseline.figures) {
    const auto counted = counts.find(name);
    const std::size_t wanted = counted == counts.end() ? 0 : counted->second;
    const bool has_them = figure.trials.size() == wanted;
    if (has_them && (wanted == 0 || sample_moments(figure.trials).mean == figure.value)) continue;
    return Error{fmt::format("the trials of {} do not match {}; take both files from the same commit, or "
                             "remove both and run --update",
                             in_quotes(name), path),
                 Where{.file = trials_path(path)}};
  }
  return Ok{};
}

}  // namespace

BaselineFigure baseline_figure(const RunFigure& figure) {
  GOODPUT_CHECK(figure.fault.empty(), "a baseline of a figure that is not there");
  if (figure.values.empty()) return {.text = figure.text};
  if (!figure.is_of_trials()) return {.value = figure.values.front()};
  return {.value = sample_moments(figure.values).mean, .trials = figure.values};
}

std::string trials_path(const std::string& baseline_path) {
  return std::filesystem::path(baseline_path).replace_extension(".trials.csv").string();
}

Result<Baseline> read_baseline(const std::string& path) {
  TrialCounts counts;
  GOODPUT_TRY(Baseline baseline, read_lines(path, counts));
  if (!counts.empty()) GOODPUT_TRY_STATUS(read_trials(trials_path(path), baseline));
  GOODPUT_TRY_STATUS(check_they_match(path, baseline, counts));
  return baseline;
}

std::string figure_line(const std::string& name, const BaselineFigure& figure) {
  return member_line(name, figure_json(figure));
}

std::string baseline_json(const Baseline& baseline) {
  std::string json = fmt::format("{{\n\"schema\": \"{}\",\n\"suite\": {},\n\"seed\": {},\n", kBaselineSchema,
                                 compact(OrderedJson(baseline.suite)), baseline.seed);
  add_lines(
      "runs", baseline.runs,
      [](const auto& name, const auto& run) { return member_line(name, run_json(run)); }, json);
  json += ",\n";
  add_lines("figures", baseline.figures, figure_line, json);
  return json + "\n}\n";
}

std::string baseline_trials_csv(const Baseline& baseline) {
  std::size_t most = 0;
  for (const auto& [name, figure] : baseline.figures) most = std::max(most, figure.trials.size());
  std::string csv = "figure";
  for (std::size_t trial = 0; trial < most; ++trial) csv += fmt::format(",{}", trial);
  csv += '\n';
  for (const auto& [name, figure] : baseline.figures) {
    if (figure.trials.empty()) continue;
    csv += csv_field(name);
    for (const double value : figure.trials) csv += "," + fmt::format("{}", value);
    csv += '\n';
  }
  return csv;
}

}  // namespace goodput
