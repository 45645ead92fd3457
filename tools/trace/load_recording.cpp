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

}  // namespace

Result<LoadedRecording> load_recording(const LoadOptions& options, const CommandContext& context) {
  GOODPUT_TRY(TraceWithMetadata files, read_trace(options.files, context));
  OpTraceReading& reading = files.reading;
  GOODPUT_TRY(const std::vector<NumberRange> steps, parse_steps(options.steps));
  GOODPUT_TRY_STATUS(check_asked_for(reading.trace, reading.findings, steps));
  Result<CleanTrace> cleaned =
      clean_trace(std::move(reading.trace), reading.findings, {options.files.strict, steps});
  if (!cleaned) return in_files(options.files.paths, std::move(cleaned).error());
  CleanTrace& clean = *cleaned;
  const Status whole = check_recorded_sizes(files.metadata, clean.recorded_dp_size, clean.recorded_pp_size);
  if (!whole) return whole.error().in_file(options.files.metadata_path);
  const JobMetadata job =
      complete_metadata(files.metadata, clean.index, file_stem(options.files.paths.front()));
  for (std::string& warning : metadata_warnings(job, clean.index))
    reading.notes.push_back(std::move(warning));
  for (std::string& warning : index_warnings(clean.index)) reading.notes.push_back(std::move(warning));
  // Printed now: if the analysis fails below, they may say why.
  for (const std::string& note : reading.notes) context.note(note);
  Result<OpGraph> graph = megatron::build_graph(clean.index.lane);
  if (!graph) return in_files(options.files.paths, std::move(graph).error());

  LoadedRecording loaded{*std::move(graph),
                         {},
                         job,
                         clean.recorded_rows,
                         clean.recorded_steps.size(),
                         std::move(reading.formats),
                         std::move(reading.notes),
                         std::move(clean.findings),
                         {}};
  loaded.recording = arrange(std::move(clean.trace), std::move(clean.index), loaded.graph, clean.selected);
  loaded.recording.places = worker_places(files.metadata, reading.hosts, loaded.recording.ranks);
  if (!reading.step_origin_s.empty()) {
    for (const std::int64_t step : loaded.recording.steps)
      loaded.recording.subtracted_s.push_back(reading.step_origin_s.at(step));
  }
  std::vector<std::string> notes;
  loaded.clocks = align_clocks(loaded.recording, loaded.graph, options.clocks, notes);
  if (loaded.clocks.left_out) {
    loaded.cleaning.push_back(*loaded.clocks.left_out);
    const Status accepted = options.files.strict ? refuse_strictly(loaded.cleaning) : Ok{};
    if (!accepted) return in_files(options.files.paths, accepted.error());
  }
  for (std::string& note : notes) {
    context.note(note);
    loaded.notes.push_back(std::move(note));
  }
  return loaded;
}

}  // namespace goodput
