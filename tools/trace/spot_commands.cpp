#include "tools/trace/spot_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "tools/cli/json_result.h"
#include "tools/cli/named_choice.h"
#include "tools/cli/output_file.h"
#include "tools/trace/spot_summary.h"
#include "traces/io/byte_sink.h"
#include "traces/io/formats.h"
#include "traces/spot/spot_fields.h"
#include "traces/spot/spot_reader.h"

namespace goodput {
namespace {

std::string_view name_of(SpotMeaning meaning) {
  return kSpotMeaningNames[static_cast<std::size_t>(meaning)];
}
std::string_view name_of(SpotPolarity polarity) {
  return kSpotPolarityNames[static_cast<std::size_t>(polarity)];
}

Result<SpotTrace> read_one(const TraceFiles& files, const SpotWords& words) {
  if (files.paths.size() > 1)
    return Error{fmt::format("{} is a spot trace; give one spot trace at a time", files.paths[0]),
                 {.file = files.paths[1]}};
  if (!files.metadata_path.empty())
    return Error{fmt::format("--meta: {} is a spot trace, which has no job metadata; leave the option out",
                             files.paths[0])};
  if (!files.time_unit.empty())
    return Error{fmt::format(
        "--time-unit: {} is a spot trace, whose format sets the unit; leave the option out", files.paths[0])};
  GOODPUT_TRY(SpotOptions options, spot_options(words));
  options.format = files.format;
  return read_spot_trace(files.paths[0], options);
}

double share_of_several(const RemovalBatches& batches) {
  return static_cast<double>(batches.of_several) / static_cast<double>(batches.count);
}

void add_numbers(const SpotTrace& trace, const SpotSummary& summary, OrderedJson& json) {
  json["duration_s"] = to_seconds(summary.duration);
  json["known_s"] = to_seconds(summary.known);
  json["adds"] = summary.adds;
  json["removes"] = summary.removes;
  json["momentary"] = trace.momentary;
  json["initial_nodes"] = summary.initial_nodes;
  json["final_nodes"] = summary.final_nodes;
  json["peak_nodes"] = summary.peak_nodes;
  json["mean_nodes"] = or_null(summary.mean_nodes);
  json["node_hours"] = summary.node_hours;
  const RemovalBatches& batches = summary.removal_batches;
  json["removal_batches"] = {
      {"count", batches.count},
      {"of_several_share",
       or_null(batches.count > 0 ? std::optional(share_of_several(batches)) : std::nullopt)},
      {"largest", batches.largest}};
  json["drops"] = summary.drops;
  json["drop_sizes"] = OrderedJson::object();
  for (const auto& [size, times] : summary.drop_sizes) json["drop_sizes"][fmt::format("{}", size)] = times;
  json["longest_outage_s"] = to_seconds(summary.longest_outage);
  const bool has_outage = summary.longest_outage > SimDuration{};
  json["longest_outage_begin_s"] =
      or_null(has_outage ? std::optional(to_seconds(summary.longest_outage_begin)) : std::nullopt);
}

OrderedJson info_json(const SpotTrace& trace, const SpotSummary& summary, const CommandContext& context) {
  OrderedJson json = begin_json_result("trace_info", context, {hash_trace(trace), {}, "measured"});
  json["kind"] = "spot";
  json["format"] = trace.format;
  json["meaning"] = name_of(trace.meaning);
  json["polarity"] = name_of(trace.polarity);
  json["unit"] = "nodes";
  json["has_names"] = trace.has_names();
  add_numbers(trace, summary, json);
  json["holes"] = OrderedJson::array();
  for (const SpotHole& hole : trace.holes)
    json["holes"].push_back({{"begin_s", to_seconds(hole.begin)}, {"end_s", to_seconds(hole.end)}});
  json["faults"] = nullptr;
  if (const auto& faults = summary.faults) {
    const auto if_repaired = [&faults](double seconds) {
      return or_null(faults->repairs > 0 ? std::optional(seconds) : std::nullopt);
    };
    json["faults"] = {{"count", faults->faults},
                      {"mtbf_days", faults->mtbf_days},
                      {"repairs", faults->repairs},
                      {"median_repair_s", if_repaired(faults->median_repair_s)},
                      {"mean_repair_s", if_repaired(faults->mean_repair_s)}};
  }
  json["usd_per_node_hour"] = nullptr;
  if (const auto& price = summary.price)
    json["usd_per_node_hour"] = {{"min", price->min}, {"mean", price->mean}, {"max", price->max}};
  return json;
}

Result<SpotFormat> output_format(const SpotTrace& trace, const std::string& to, const std::string& output) {
  const std::string wanted = !to.empty() ? to : trace.has_names() ? "events_csv" : "counts_csv";
  Result<SpotFormat> format = find_writable_format(spot_formats(), "spot trace", wanted);
  if (!format) return format.error().of_option("to");
  const bool is_known = std::any_of(format->extensions.begin(), format->extensions.end(),
                                    [&](std::string_view extension) { return output.ends_with(extension); });
  if (!to.empty() || is_known) return format;
  return Error{fmt::format("{} is a spot trace, which is written as .csv or .csv.gz; use one of these "
                           "extensions, or give --to {}",
                           trace.file, fmt::join(names_of(writable_formats(spot_formats())), "|")),
               {.file = output}};
}

Status write_spot_trace(const SpotTrace& trace, const SpotFormat& format, const std::string& path) {
  if (path == "-") return format.write(trace, std::string(kStdoutPath), path);
  return write_file_atomically(
      path, [&](const std::string& temporary) { return format.write(trace, temporary, path); });
}

}  // namespace

void add_spot_options(Options& options, SpotWords& words) {
  options
      .add("--polarity", words.polarity, "NAME",
           "For a spot trace: whether the numbers in the file count available or preempted nodes, if the "
           "file does not state that")
      .one_of(kSpotPolarityNames);
  options
      .add("--meaning", words.meaning, "NAME",
           "For a spot trace whose file does not state it: whether a drop is a preemption (held), not "
           "necessarily "
           "one (probe), or a fault of a node (faults)")
      .one_of(kSpotMeaningNames);
  options.add("--nodes", words.nodes, "N",
              "For a failure log: number of nodes of the cluster, with those that never failed");
}

Result<SpotOptions> spot_options(const SpotWords& words) {
  SpotOptions options;
  if (!words.polarity.empty()) {
    GOODPUT_TRY(options.polarity,
                choose<SpotPolarity>("polarity", "polarity", words.polarity, kSpotPolarityNames));
  }
  if (!words.meaning.empty()) {
    GOODPUT_TRY(options.meaning, choose<SpotMeaning>("meaning", "meaning", words.meaning, kSpotMeaningNames));
  }
  if (words.nodes < 0 || words.nodes > kMostSpotNodes)
    return Error{fmt::format("must be 1 to {}, not {}", kMostSpotNodes, words.nodes), {}, "nodes"};
  options.nodes = static_cast<NodeId>(words.nodes);
  return options;
}

bool mean_spot_trace(const TraceFiles& files, const SpotWords& words) {
  if (!words.polarity.empty() || !words.meaning.empty() || words.nodes != 0) return true;
  if (!files.format.empty()) {
    return index_of_name(names_of(spot_formats()), "spot trace format", files.format).has_value();
  }
  // A look at what is no file, a pipe, would consume it.
  std::error_code failed;
  if (!std::filesystem::is_regular_file(files.paths.front(), failed)) return false;
  const Result<bool> is_spot = is_spot_trace(files.paths.front());
  return is_spot && *is_spot;
}

Result<ExitCode> run_spot_info(const TraceFiles& files, const SpotWords& words,
                               const CommandContext& context) {
  GOODPUT_TRY_STATUS(check_file_roles(input_files(files), {}, context));
  GOODPUT_TRY(const SpotTrace trace, read_one(files, words));
  const SpotSummary summary = summarize(trace);
  context.print(describe(trace, summary));
  if (!context.options.wants_result()) return ExitCode::kOk;
  GOODPUT_TRY_STATUS(write_json_result(info_json(trace, summary, context), context));
  return ExitCode::kOk;
}

Result<ExitCode> run_spot_convert(const TraceFiles& files, const SpotWords& words, const std::string& to,
                                  const std::string& output, const CommandContext& context) {
  GOODPUT_TRY_STATUS(check_file_roles(input_files(files), {{"OUT", output}}, context));
  GOODPUT_TRY(const SpotTrace trace, read_one(files, words));
  GOODPUT_TRY(const SpotFormat format, output_format(trace, to, output));
  GOODPUT_TRY_STATUS(write_spot_trace(trace, format, output));
  std::vector<std::string> notes;
  if (trace.momentary > 0) {
    notes.push_back(
        fmt::format("{}: number of nodes left out because they were added and removed at the same moment: {}",
                    trace.file, trace.momentary));
    context.note(notes.back());
  }
  const std::size_t rows = trace.has_names() ? trace.events.size() : trace.counts.size();
  if (output != "-") {
    context.print(fmt::format("Wrote {}: {} {} as {}\n", output, rows,
                              trace.has_names() ? "events" : "counts", format.name));
  }
  if (!context.options.wants_result()) return ExitCode::kOk;
  OrderedJson json = begin_json_result("trace_convert", context, {hash_trace(trace), {}, "measured"});
  json["kind"] = "spot";
  json["formats"] = {trace.format};
  json["notes"] = notes;
  json["rows"] = rows;
  json["output"] = {{"path", output}, {"format", format.name}};
  GOODPUT_TRY_STATUS(write_json_result(json, context));
  return ExitCode::kOk;
}

}  // namespace goodput
