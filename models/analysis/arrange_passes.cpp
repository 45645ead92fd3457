#include "tools/trace/load_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/megatron/megatron_rules.h"
#include "sim/base/number_ranges.h"
#include "sim/cleaning/findings.h"
#include "sim/cleaning/step_selection.h"
#include "sim/cleaning/trace_cleaning.h"
#include "tools/trace/worker_places.h"

namespace goodput {
namespace {

Result<std::vector<NumberRange>> parse_steps(const std::string& list) {
  if (list.empty()) return std::vector<NumberRange>{};
  Result<std::vector<NumberRange>> parsed = parse_number_ranges(list);
  if (!parsed) return std::move(parsed).error().of_option("steps");
  return parsed;
}

// Errors of the trace as a whole name its files.
Error in_files(const std::vector<std::string>& paths, Error error) {
  const std::string others = paths.size() > 1 ? fmt::format(" and {} more", paths.size() - 1) : "";
  return std::move(error).in_file(paths.front() + others);
}

// What is the same of all rows that were read, before they are arranged.
JobMetadata describe_job(const JobMetadataFields& metadata, const CleanTrace& clean,
                         const ArrangeOptions& options, std::vector<std::string>& notes) {
  JobMetadata job = complete_metadata(metadata, clean.index, options.trial_name);
  for (std::string& warning : metadata_warnings(job, clean.index)) notes.push_back(std::move(warning));
  for (std::string& warning : index_warnings(clean.index)) notes.push_back(std::move(warning));
  // Printed now: if the analysis fails below, they may say why.
  for (const std::string& note : notes) options.note(note);
  return job;
}

}  // namespace

Result<LoadedRecording> load_recording(const LoadOptions& options, const CommandContext& context) {
  GOODPUT_TRY(TraceWithMetadata files, read_trace(options.files, context));
  ArrangeOptions arranging{options.files.strict,
                           {},
                           options.clocks,
                           file_stem(options.files.paths.front()),
                           [&](const std::string& note) { context.note(note); }};
  GOODPUT_TRY(arranging.steps, parse_steps(options.steps));
  GOODPUT_TRY_STATUS(check_asked_for(files.reading.trace, files.reading.findings, arranging.steps));
  Result<LoadedRecording> loaded = arrange_recording(std::move(files), arranging);
  if (!loaded) return in_files(options.files.paths, std::move(loaded).error());
  return loaded;
}

Result<LoadedRecording> arrange_recording(TraceWithMetadata rows, const ArrangeOptions& options) {
  OpTraceReading& reading = rows.reading;
  GOODPUT_TRY(CleanTrace clean,
              clean_trace(std::move(reading.trace), reading.findings, {options.strict, options.steps}));
  const Status whole = check_recorded_sizes(rows.metadata, clean.recorded_dp_size, clean.recorded_pp_size);
  if (!whole) return whole.error().in_file(rows.metadata_path);
  const JobMetadata job = describe_job(rows.metadata, clean, options, reading.notes);
  GOODPUT_TRY(OpGraph graph, megatron::build_graph(clean.index.lane));

  LoadedRecording loaded{std::move(graph),
                         {},
                         job,
                         clean.recorded_rows,
                         clean.recorded_steps.size(),
                         std::move(reading.formats),
                         std::move(reading.notes),
                         std::move(clean.findings),
                         {}};
  loaded.recording = arrange(std::move(clean.trace), std::move(clean.index), loaded.graph, clean.selected);
  loaded.recording.places = worker_places(rows.metadata, reading.hosts, loaded.recording.ranks);
  if (!reading.step_origin_s.empty()) {
    for (const std::int64_t step : loaded.recording.steps)
      loaded.recording.subtracted_s.push_back(reading.step_origin_s.at(step));
  }
  std::vector<std::string> notes;
  loaded.clocks = align_clocks(loaded.recording, loaded.graph, options.clocks, notes);
  if (loaded.clocks.left_out) {
    loaded.cleaning.push_back(*loaded.clocks.left_out);
    if (options.strict) GOODPUT_TRY_STATUS(refuse_strictly(loaded.cleaning));
  }
  for (std::string& note : notes) {
    options.note(note);
    loaded.notes.push_back(std::move(note));
  }
  return loaded;
}

}  // namespace goodput
