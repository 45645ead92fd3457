// `goodput trace info FILE...` and `goodput trace convert IN... OUT`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "sim/base/text.h"
#include "sim/cleaning/findings.h"
#include "sim/cleaning/trace_cleaning.h"
#include "sim/ops/op_trace.h"
#include "sim/ops/op_type.h"
#include "sim/ops/trace_index.h"
#include "tools/cli/command.h"
#include "tools/cli/command_line.h"
#include "tools/cli/json_result.h"
#include "tools/cli/named_choice.h"
#include "tools/trace/cleaning_report.h"
#include "tools/trace/kineto_info.h"
#include "tools/trace/read_kineto.h"
#include "tools/trace/read_trace.h"
#include "tools/trace/spot_commands.h"
#include "tools/trace/write_trace.h"
#include "traces/kineto/kineto_format.h"
#include "traces/op/op_trace_columns.h"
#include "traces/op/op_trace_format.h"
#include "traces/op/op_trace_reader.h"
#include "traces/spot/spot_format.h"

namespace goodput {
namespace {

// ---- What an op trace holds, in numbers: for `goodput trace info`.

struct OpTypeTotals {
  std::size_t ops = 0;
  double seconds = 0;  // of all its ops together
};

struct TraceSummary {
  std::size_t rows = 0;
  std::vector<std::int64_t> steps;  // ascending
  std::int64_t dp_size = 0;         // highest data-parallel rank + 1
  std::int64_t pp_size = 0;         // highest stage + 1
  std::int64_t vpp_size = 1;        // highest model chunk + 1
  std::int64_t micro_batches = 0;   // highest micro-batch of a forward or backward + 1
  std::size_t workers = 0;          // (dp_rank, stage) pairs with rows
  std::size_t lanes = 0;            // (step, dp_rank) pairs with rows
  std::size_t least_ops_per_lane = 0;
  std::size_t most_ops_per_lane = 0;
  std::array<OpTypeTotals, kNdtimelineTypeCount> by_type{};
  double shortest_step_s = 0;  // last end - first start
  double median_step_s = 0;
  double longest_step_s = 0;
  bool float32_times = false;  // every start and duration is a float32
  std::string not_dense;       // why the trace cannot be analyzed unchanged; empty: it can
};

struct Span {
  double start_s;
  double end_s;
};

// Finds or makes the entry of `key`; rows that stand together mostly ask for the same one.
template <typename Map>
class LastEntry {
 public:
  explicit LastEntry(Map& map) : map_(map) {}
  typename Map::mapped_type& at(const typename Map::key_type& key, const typename Map::mapped_type& initial) {
    if (last_ == nullptr || last_->first != key) last_ = &*map_.try_emplace(key, initial).first;
    return last_->second;
  }

 private:
  Map& map_;
  typename Map::value_type* last_ = nullptr;
};

void summarize_steps(const OpTrace& trace, TraceSummary& summary) {
  std::map<std::int64_t, Span> steps;
  LastEntry entry(steps);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const double start = trace.start_s[i];
    const double end = end_of(start, trace.duration_s[i], summary.float32_times);
    Span& span = entry.at(trace.step[i], {start, end});
    span = {std::min(span.start_s, start), std::max(span.end_s, end)};
  }
  std::vector<double> lengths;
  for (const auto& [step, span] : steps) {
    summary.steps.push_back(step);
    lengths.push_back(span.end_s - span.start_s);
  }
  std::sort(lengths.begin(), lengths.end());
  summary.shortest_step_s = lengths.front();
  summary.longest_step_s = lengths.back();
  summary.median_step_s = (lengths[(lengths.size() - 1) / 2] + lengths[lengths.size() / 2]) / 2;
}

void summarize_lanes(const OpTrace& trace, TraceSummary& summary) {
  std::map<std::pair<std::int64_t, std::int32_t>, std::size_t> ops_of_lane;
  std::map<std::pair<std::int32_t, std::int16_t>, std::size_t> ops_of_worker;
  LastEntry lane(ops_of_lane);
  LastEntry worker(ops_of_worker);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    ++lane.at({trace.step[i], trace.dp_rank[i]}, 0);
    ++worker.at({trace.dp_rank[i], trace.stage[i]}, 0);
  }
  const auto by_ops = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto [least, most] = std::minmax_element(ops_of_lane.begin(), ops_of_lane.end(), by_ops);
  summary.lanes = ops_of_lane.size();
  summary.workers = ops_of_worker.size();
  summary.least_ops_per_lane = least->second;
  summary.most_ops_per_lane = most->second;
}

std::int64_t size_of(const auto& ranks) {
  return std::int64_t{*std::max_element(ranks.begin(), ranks.end())} + 1;
}

// REQUIRES: rows, each with a seq_id.
TraceSummary summarize(const OpTrace& trace) {
  TraceSummary summary;
  summary.rows = trace.size();
  summary.dp_size = size_of(trace.dp_rank);
  summary.pp_size = size_of(trace.stage);
  summary.vpp_size = std::max<std::int64_t>(1, size_of(trace.mc));
  for (std::size_t i = 0; i < trace.size(); ++i) {
    OpTypeTotals& totals = summary.by_type[index_of(trace.optype[i])];
    ++totals.ops;
    totals.seconds += trace.duration_s[i];
    if (is_pass_compute(trace.optype[i])) {
      summary.micro_batches = std::max(summary.micro_batches, std::int64_t{trace.mb_id[i]} + 1);
    }
  }
  summary.float32_times = times_are_float32(trace);
  summarize_steps(trace, summary);
  summarize_lanes(trace, summary);
  if (const auto index = index_trace(trace); !index) summary.not_dense = index.error().message();
  return summary;
}

// ---- The command.

// Of op traces and of spot traces.
std::vector<std::string_view> trace_format_names() {
  std::vector<std::string_view> names = names_of(op_trace_formats());
  for (const SpotFormat& format : spot_formats()) names.push_back(format.name);
  return names;
}

void add_input_options(Options& options, TraceFiles& files) {
  options
      .add("--format", files.format, "NAME",
           "Format of the input (default: from its content; see 'goodput list formats')")
      .one_of(trace_format_names());
  options
      .add("--meta", files.metadata_path, "FILE",
           "Job metadata (YAML): sets vpp_size for traces without micro-batch ids (default: meta.yaml in the "
           "folder)")
      .input();
  add_cleaning_options(options, files);
}

Result<OpTraceReading> read(const TraceFiles& files, const CommandContext& context) {
  GOODPUT_TRY(JobRows trace, read_trace(files, context));
  for (const std::string& note : trace.reading.notes) context.note(note);
  if (files.strict) GOODPUT_TRY_STATUS(refuse_strictly(trace.reading.findings));
  return std::move(trace.reading);
}

// Distinct names in order of appearance: parquet, csv.
std::string join_distinct(const std::vector<std::string>& names) {
  std::vector<std::string> distinct;
  for (const std::string& name : names) {
    if (std::find(distinct.begin(), distinct.end(), name) == distinct.end()) distinct.push_back(name);
  }
  std::string joined;
  for (const std::string& name : distinct) joined.append(joined.empty() ? "" : ", ").append(name);
  return joined;
}

std::string count(std::size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string ops_per_lane(const TraceSummary& summary) {
  if (summary.least_ops_per_lane == summary.most_ops_per_lane)
    return fmt::format("{}", summary.most_ops_per_lane);
  return fmt::format("{} to {}", summary.least_ops_per_lane, summary.most_ops_per_lane);
}

std::string describe(const TraceSummary& summary, const std::vector<std::string>& formats) {
  std::string text;
  const auto line = [&text](std::string_view label, const std::string& value) {
    text += fmt::format("{:<15} {}\n", label, value);
  };
  line("format",
       fmt::format("{}, {} times", join_distinct(formats), summary.float32_times ? "float32" : "float64"));
  line("ops", fmt::format("{} in {}", summary.rows, count(formats.size(), "file")));
  line("steps",
       fmt::format("{} from {} to {}", summary.steps.size(), summary.steps.front(), summary.steps.back()));
  line("step time", fmt::format("{:.6g} s median, {:.6g} to {:.6g} s", summary.median_step_s,
                                summary.shortest_step_s, summary.longest_step_s));
  line("parallelism", fmt::format("dp {}, pp {}, vpp {}: {}", summary.dp_size, summary.pp_size,
                                  summary.vpp_size, count(summary.workers, "worker")));
  line("micro-batches", fmt::format("{}", summary.micro_batches));
  line("ops per lane",
       fmt::format("{} in each of {} (step, dp_rank) lanes", ops_per_lane(summary), summary.lanes));
  line("dense", summary.not_dense.empty() ? "yes" : "no: " + summary.not_dense);
  text += fmt::format("\n{:<28} {:>10} {:>12} {:>12}\n", "op type", "ops", "total s", "mean ms");
  for (std::size_t i = 0; i < kNdtimelineTypeCount; ++i) {
    const OpTypeTotals& totals = summary.by_type[i];
    if (totals.ops == 0) continue;
    text += fmt::format("{:<28} {:>10} {:>12.3f} {:>12.3f}\n", kNdtimelineTypes[i].name, totals.ops,
                        totals.seconds, 1e3 * totals.seconds / static_cast<double>(totals.ops));
  }
  return text;
}

// What `whatif` would do with a trace.
struct WhatIfUse {
  std::uint64_t rows_hash = 0;
  std::vector<CleaningFinding> findings;
  std::string refusal;  // empty: it takes it, as far as the rows tell
};

// Consumes the rows and the findings. Fails on what --strict refuses.
Result<WhatIfUse> use_for_whatif(OpTraceReading& reading, const TraceFiles& files) {
  WhatIfUse use;
  use.rows_hash = hash_rows(reading.trace);
  Result<CleanTrace> clean = clean_trace(std::move(reading.trace), reading.findings, {files.strict, {}});
  if (clean) {
    use.findings = std::move(clean->findings);
    return use;
  }
  if (files.strict) return std::move(clean).error().in_file(files.paths.front());
  use.findings = reading.findings;
  use.refusal = clean.error().message(flag_of);
  return use;
}

std::string describe(const WhatIfUse& use) {
  std::string text;
  if (!use.findings.empty()) text += "\n" + cleaning_text(use.findings);
  if (!use.refusal.empty())
    text += fmt::format("\n`goodput whatif` rejects this trace: {}\n", on_one_line(use.refusal));
  return text;
}

OrderedJson to_json(const TraceSummary& summary, const OpTraceReading& reading, const WhatIfUse& use,
                    const CommandContext& context) {
  OrderedJson json = begin_json_result("trace_info", context, {use.rows_hash, {}, "measured"});
  json["formats"] = reading.formats;
  json["notes"] = reading.notes;
  json["float32_times"] = summary.float32_times;
  json["rows"] = summary.rows;
  json["steps"] = summary.steps;
  json["dp_size"] = summary.dp_size;
  json["pp_size"] = summary.pp_size;
  json["vpp_size"] = summary.vpp_size;
  json["workers"] = summary.workers;
  json["micro_batches"] = summary.micro_batches;
  json["lanes"] = summary.lanes;
  json["ops_per_lane"] = {{"min", summary.least_ops_per_lane}, {"max", summary.most_ops_per_lane}};
  json["step_time_s"] = {
      {"min", summary.shortest_step_s}, {"median", summary.median_step_s}, {"max", summary.longest_step_s}};
  json["dense"] = summary.not_dense.empty();
  json["not_dense_reason"] = summary.not_dense.empty() ? nullptr : OrderedJson(summary.not_dense);
  json["cleaning"] = cleaning_json(use.findings);
  json["refused_reason"] = use.refusal.empty() ? nullptr : OrderedJson(use.refusal);
  json["optypes"] = OrderedJson::object();
  for (std::size_t i = 0; i < kNdtimelineTypeCount; ++i) {
    const OpTypeTotals& totals = summary.by_type[i];
    if (totals.ops == 0) continue;
    json["optypes"][std::string(kNdtimelineTypes[i].name)] = {{"ops", totals.ops},
                                                              {"total_s", totals.seconds}};
  }
  return json;
}

// Nothing said is fine.
Status check_format_name(const std::string& name) {
  if (name.empty()) return Ok{};
  const Result<std::size_t> found = index_of_name(trace_format_names(), "trace format", name);
  if (!found) return found.error().of_option("format");
  return Ok{};
}

// Options that say nothing about torch.profiler traces. `metadata_path`: --meta, not what a folder has.
Status check_kineto_options(const TraceFiles& files, const SpotWords& spot,
                            const std::string& metadata_path) {
  const auto refuse = [&](std::string_view option, std::string_view why) {
    return Error{
        fmt::format("{} is a torch.profiler trace, {}; leave the option out", files.paths.front(), why),
        {},
        std::string(option)};
  };
  if (!spot.polarity.empty()) return refuse("polarity", "not a spot trace");
  if (!spot.meaning.empty()) return refuse("meaning", "not a spot trace");
  if (!metadata_path.empty()) return refuse("meta", "which names its own ranks and process groups");
  return Ok{};
}

Result<ExitCode> run_info(TraceFiles files, const SpotWords& spot, const CommandContext& context) {
  GOODPUT_TRY_STATUS(check_format_name(files.format));
  const std::string metadata_path = files.metadata_path;
  GOODPUT_TRY_STATUS(expand_folders(files));
  if (mean_kineto(files)) {
    GOODPUT_TRY_STATUS(check_kineto_options(files, spot, metadata_path));
    return run_kineto_info(files, context);
  }
  if (files.one_group)
    return Error{fmt::format("{} is not a torch.profiler trace; leave the option out", files.paths.front()),
                 {},
                 "one-group"};
  if (mean_spot_trace(files, spot)) return run_spot_info(files, spot, context);
  GOODPUT_TRY_STATUS(check_file_roles(input_files(files), {}, context));
  GOODPUT_TRY(OpTraceReading reading, read(files, context));
  const TraceSummary summary = summarize(reading.trace);
  GOODPUT_TRY(const WhatIfUse use, use_for_whatif(reading, files));
  context.print(describe(summary, reading.formats) + describe(use));
  if (!context.options.wants_result()) return ExitCode::kOk;
  GOODPUT_TRY_STATUS(write_json_result(to_json(summary, reading, use, context), context));
  return ExitCode::kOk;
}

struct ConvertOptions {
  TraceFiles files;  // the last path is the output
  SpotWords spot;
  std::string to;  // format of the output; empty: from its extension
};

Result<ExitCode> run_convert(const ConvertOptions& options, const CommandContext& context) {
  TraceFiles inputs = options.files;
  const std::string output = inputs.paths.back();
  inputs.paths.pop_back();
  GOODPUT_TRY_STATUS(check_format_name(inputs.format));
  if (inputs.format == kKinetoFormat)
    return Error{
        "torch.profiler (Kineto) traces cannot be converted: they contain kernels and collectives, not the "
        "ops of the other formats; analyze them with `goodput whatif`",
        {},
        "format"};
  GOODPUT_TRY_STATUS(expand_folders(inputs));
  if (mean_spot_trace(inputs, options.spot))
    return run_spot_convert(inputs, options.spot, options.to, output, context);
  GOODPUT_TRY(const OpTraceFormat format, output_format(output, options.to));
  GOODPUT_TRY_STATUS(check_file_roles(input_files(inputs), {{"OUT", output}}, context));
  GOODPUT_TRY(const OpTraceReading reading, read(inputs, context));
  GOODPUT_TRY_STATUS(write_trace(reading.trace, format, output));
  if (output != "-")
    context.print(fmt::format("Wrote {}: {} ops as {}\n", output, reading.trace.size(), format.name));
  if (!context.options.wants_result()) return ExitCode::kOk;
  OrderedJson json = begin_json_result("trace_convert", context, {hash_rows(reading.trace), {}, "measured"});
  json["formats"] = reading.formats;
  json["notes"] = reading.notes;
  json["rows"] = reading.trace.size();
  json["output"] = {{"path", output}, {"format", format.name}};
  GOODPUT_TRY_STATUS(write_json_result(json, context));
  return ExitCode::kOk;
}

class TraceCommand final : public Command {
 public:
  void configure(Options& options) override {
    info_options_ = options.add_subcommand("info", "Summarize a trace of one or more files");
    info_options_
        ->add("files", info_.paths, "FILE...",
              "Trace files of one job, the folder of a job, or one spot trace")
        .input()
        .required();
    add_input_options(*info_options_, info_);
    add_kineto_options(*info_options_, info_);
    add_spot_options(*info_options_, info_spot_);
    Options convert = options.add_subcommand(
        "convert", "Convert one or more trace files, in the order given, to the file OUT");
    convert
        .add("files", convert_.files.paths, "IN... OUT",
             "Trace files to read, or the folder of a job; last, the file to write (- for stdout)")
        .inputs_but_last()
        .required()
        .at_least(2);
    convert.add("--to", convert_.to, "NAME", "Format of OUT (default: from its extension)")
        .one_of(trace_format_names());
    add_input_options(convert, convert_.files);
    add_spot_options(convert, convert_.spot);
  }

  Result<ExitCode> run(const CommandContext& context) override {
    return info_options_->are_chosen() ? run_info(info_, info_spot_, context)
                                       : run_convert(convert_, context);
  }

 private:
  std::optional<Options> info_options_;
  TraceFiles info_;
  SpotWords info_spot_;
  ConvertOptions convert_;
};

}  // namespace

CommandInfo command_trace() {
  return {.name = "trace",
          .summary = "Summarize traces and convert between formats",
          .example =
              "goodput trace info trace.parquet\n"
              "goodput trace convert trace.csv.gz trace.parquet",
          .make = make_command<TraceCommand>};
}

}  // namespace goodput
