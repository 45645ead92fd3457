#include "tools/trace/load_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/megatron/megatron_rules.h"
#include "sim/base/number_ranges.h"
#include "tools/trace/worker_places.h"

namespace goodput {
namespace {

// Which of the trace's steps a list such as 12,20-23 names. A range takes what exists; a single step must
// exist.
Result<std::vector<std::uint32_t>> select_steps(const std::vector<std::int64_t>& steps,
                                                const std::string& list) {
  std::vector<std::uint32_t> selected;
  std::vector<NumberRange> ranges;
  if (!list.empty()) {
    Result<std::vector<NumberRange>> parsed = parse_number_ranges(list);
    if (!parsed) return std::move(parsed).error().of_option("steps");
    ranges = *std::move(parsed);
  }
  for (const NumberRange& range : ranges) {
    if (range.first == range.last && !std::binary_search(steps.begin(), steps.end(), range.first)) {
      return Error{fmt::format("step {} is not in the trace; it has {} steps from {} to {}", range.first,
                               steps.size(), steps.front(), steps.back())};
    }
  }
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    const bool named = std::any_of(ranges.begin(), ranges.end(), [&](const NumberRange& range) {
      return range.first <= steps[i] && steps[i] <= range.last;
    });
    if (list.empty() || named) selected.push_back(i);
  }
  if (selected.empty()) {
    return Error{fmt::format("no step of the trace is in {}; it has {} steps from {} to {}", list,
                             steps.size(), steps.front(), steps.back())};
  }
  return selected;
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
  Result<TraceIndex> index = index_trace(reading.trace);
  if (!index) return in_files(options.files.paths, std::move(index).error());
  const JobMetadata job = complete_metadata(files.metadata, *index, file_stem(options.files.paths.front()));
  for (std::string& warning : metadata_warnings(job, *index)) reading.notes.push_back(std::move(warning));
  for (std::string& warning : index_warnings(*index)) reading.notes.push_back(std::move(warning));
  // Printed now: if the analysis fails below, they may say why.
  for (const std::string& note : reading.notes) context.note(note);
  GOODPUT_TRY(const std::vector<std::uint32_t> selected, select_steps(index->steps, options.steps));
  Result<OpGraph> graph = megatron::build_graph(index->lane);
  if (!graph) return in_files(options.files.paths, std::move(graph).error());

  LoadedRecording loaded{*std::move(graph),
                         {},
                         job,
                         reading.trace.size(),
                         index->steps.size(),
                         std::move(reading.formats),
                         std::move(reading.notes),
                         {}};
  loaded.recording = arrange(std::move(reading.trace), *std::move(index), loaded.graph, selected);
  loaded.recording.places = worker_places(files.metadata, reading.hosts, loaded.recording.ranks);
  std::vector<std::string> notes;
  loaded.clocks = align_clocks(loaded.recording, loaded.graph, options.clocks, notes);
  for (std::string& note : notes) {
    context.note(note);
    loaded.notes.push_back(std::move(note));
  }
  return loaded;
}

}  // namespace goodput
