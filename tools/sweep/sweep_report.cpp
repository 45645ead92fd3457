#include "tools/sweep/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>
#include <vector>

#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/cli/json_result.h"
#include "tools/cli/text_table.h"
#include "tools/simulate/simulate_report.h"
#include "tools/sweep/store/number_list.h"

namespace goodput {
namespace {

using Said = SweepSummary::Said;

constexpr std::size_t kMostSaid = 5;  // lines of each kind

std::string points_text(std::uint64_t points) {
  return fmt::format("{} point{}", points, points == 1 ? "" : "s");
}

// A value as a table shows it: text without its quotes.
std::string shown_value(const std::string& json) {
  if (json.empty()) return "-";
  const Json value = Json::parse(json);
  return on_one_line(value.is_string() ? value.get<std::string>() : json);
}

// "  12 points (0, ...): WHAT"
std::string said_text(std::string_view title, const std::vector<Said>& all) {
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), kMostSaid); ++i) {
    const Said& said = all[i];
    const std::string who = said.policy.empty() ? "" : said.policy + ": ";
    const std::string where =
        said.points == 1 ? fmt::format("point {}", said.first)
                         : fmt::format("{}; the first is point {}", points_text(said.points), said.first);
    text += fmt::format("{}: {}{} ({})\n", title, on_one_line(who), on_one_line(said.what), where);
  }
  if (all.size() > kMostSaid)
    text += fmt::format("{}: {} more (see summary.csv)\n", title, all.size() - kMostSaid);
  return text;
}

std::string best_text(const SweepReport& report) {
  const std::vector<SweepSummary::Best> best = report.summary.best();
  if (best.empty()) return {};
  std::vector<TextRow> rows = {{"best", "value", "point", "policy"}};
  for (const std::string& parameter : report.manifest.parameters)
    rows.front().push_back(on_one_line(parameter));
  for (const SweepSummary::Best& one : best) {
    TextRow row = {std::string(info(one.metric).name), metric_text(one.metric, one.estimate.mean),
                   fmt::format("{}", one.point), on_one_line(one.policy)};
    for (const std::string& value : report.manifest.values[one.point]) row.push_back(shown_value(value));
    rows.push_back(std::move(row));
  }
  return "\n" + aligned(rows) + "\n";
}

OrderedJson said_json(const std::vector<Said>& all, bool has_policy) {
  OrderedJson json = OrderedJson::array();
  for (const Said& said : all) {
    OrderedJson one = OrderedJson::object();
    if (has_policy) one["policy"] = said.policy;
    one["what"] = said.what;
    one["points"] = said.points;
    one["first"] = said.first;
    json.push_back(std::move(one));
  }
  return json;
}

OrderedJson best_json(const SweepReport& report) {
  OrderedJson json = OrderedJson::object();
  for (const SweepSummary::Best& best : report.summary.best()) {
    const auto& interval = best.estimate.interval;
    OrderedJson values = OrderedJson::object();
    const std::vector<std::string>& parameters = report.manifest.parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const std::string& value = report.manifest.values[best.point][i];
      values[parameters[i]] = value.empty() ? OrderedJson(nullptr) : OrderedJson::parse(value);
    }
    json[std::string(info(best.metric).name)] = {
        {"value", best.estimate.mean},
        {"ci", interval ? OrderedJson(*interval) : OrderedJson(nullptr)},
        {"point", best.point},
        {"policy", best.policy},
        {"parameters", std::move(values)}};
  }
  return json;
}

// What every result of a sweep begins with.
OrderedJson begin_sweep_json(const std::string& dir, const SweepManifest& manifest,
                             const std::optional<std::string>& lowest_tier, const CommandContext& context) {
  Provenance provenance;
  std::uint64_t hash = 0;
  const std::string& text = manifest.grid_hash;
  std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  provenance.config_hash = hash;
  provenance.lowest_tier = lowest_tier;
  OrderedJson json = begin_json_result("sweep", context, provenance);
  json["seed"] = manifest.seed;
  json["folder"] = dir;
  json["scenario"] = manifest.scenario;
  json["parameters"] = manifest.parameters;
  json["points"] = manifest.values.size();
  return json;
}

}  // namespace

std::string sweep_text(const SweepReport& report) {
  const Merged& merged = report.merged;
  std::string text = fmt::format("Swept {}: {} ran, {} invalid; {} result rows\n", points_text(merged.points),
                                 merged.ran, merged.errors, merged.rows);
  text += said_text("invalid", report.summary.errors());
  text += said_text("refused", report.summary.refused());
  text += best_text(report);
  text += said_text("warning", report.summary.warnings());
  for (const std::string& file : merged.files) text += fmt::format("Wrote {}\n", on_one_line(file));
  if (const auto tier = report.summary.lowest_tier()) text += fmt::format("\nLowest tier: {}\n", *tier);
  return text;
}

OrderedJson sweep_json(const SweepReport& report, const CommandContext& context) {
  const SweepSummary& summary = report.summary;
  OrderedJson json = begin_sweep_json(report.dir, report.manifest, summary.lowest_tier(), context);
  json["ran"] = report.merged.ran;
  json["errors"] = report.merged.errors;
  json["rows"] = report.merged.rows;
  json["complete"] = true;
  json["reasons"] = said_json(summary.errors(), false);
  json["refused"] = said_json(summary.refused(), true);
  json["warnings"] = said_json(summary.warnings(), true);
  json["best"] = best_json(report);
  json["outcomes"] = report.outcomes.json(report.manifest, summary.best());
  json["files"] = report.merged.files;
  return json;
}

std::string shard_text(Shard shard, std::uint64_t points, const SweepProgress& progress) {
  std::vector<std::uint64_t> left = progress.missing;
  left.insert(left.end(), progress.unfinished.begin(), progress.unfinished.end());
  std::sort(left.begin(), left.end());
  return fmt::format("Shard {} of {} is done ({}); still to run: {}\n", shard.index, shard.count,
                     points_text(points), numbered("shard", left));
}

OrderedJson shard_json(const std::string& dir, const SweepManifest& manifest, Shard shard,
                       std::uint64_t points, const SweepProgress& progress, const CommandContext& context) {
  OrderedJson json = begin_sweep_json(dir, manifest, std::nullopt, context);
  json["complete"] = false;
  json["shard"] = {{"index", shard.index}, {"count", shard.count}, {"points", points}};
  json["missing"] = progress.missing;
  json["unfinished"] = progress.unfinished;
  return json;
}

Result<ExitCode> merge_and_report(const std::string& dir, const CommandContext& context) {
  GOODPUT_TRY(const SweepManifest manifest, read_sweep_manifest(dir));
  SweepSummary summary;
  SweepOutcomes outcomes;
  GOODPUT_TRY(const Merged merged, merge_sweep(dir, [&summary, &outcomes](const PointRows& rows) {
                summary.add(rows);
                outcomes.add(rows);
              }));
  const SweepReport report{dir, manifest, merged, summary, outcomes};
  for (const std::string& note : merged.notes) context.note(note);
  GOODPUT_TRY_STATUS(write_json_result(sweep_json(report, context), context));
  context.print(sweep_text(report));
  if (merged.ran > 0) return ExitCode::kOk;
  return Error{fmt::format("no point of the sweep is valid ({}); see {} for the reasons",
                           points_text(merged.points), merged.files.empty() ? dir : merged.files.front())};
}

}  // namespace goodput
