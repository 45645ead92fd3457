#include "models/analysis/arrange_passes.h"

#include <utility>

#include "models/megatron/megatron_rules.h"
#include "sim/cleaning/findings.h"
#include "sim/cleaning/trace_cleaning.h"
#include "sim/recording/worker_places.h"

namespace goodput {

Result<ArrangedJob> arrange_passes(JobRows rows, const ArrangeOptions& options,
                                   std::vector<std::string>& notes) {
  OpTraceReading& reading = rows.reading;
  notes = std::move(reading.notes);
  const std::int64_t dp_size = rows.metadata.dp_size.value_or(reading.stated_dp_size);
  const std::int64_t pp_size = rows.metadata.pp_size.value_or(reading.stated_pp_size);
  GOODPUT_TRY(CleanTrace clean,
              clean_trace(std::move(reading.trace), reading.findings,
                          {options.strict, options.steps, dp_size, pp_size, reading.step_origin_s}));
  const Status whole = check_recorded_sizes(dp_size, pp_size, clean.recorded_dp_size, clean.recorded_pp_size);
  if (!whole) return whole.error().in_file(rows.metadata_path.empty() ? "the log lines" : rows.metadata_path);
  const JobMetadata job = complete_metadata(rows.metadata, clean.index, options.trial_name);
  for (std::string& warning : metadata_warnings(job, clean.index)) notes.push_back(std::move(warning));
  for (std::string& warning : index_warnings(clean.index)) notes.push_back(std::move(warning));
  GOODPUT_TRY(OpGraph graph, megatron::build_graph(clean.index.lane));

  ArrangedJob arranged{std::move(graph),
                       {},
                       job,
                       {.formats = std::move(reading.formats),
                        .ops = clean.recorded_rows,
                        .steps = clean.recorded_steps.size()},
                       std::move(clean.findings),
                       {},
                       {}};
  Recording& recording = arranged.recording;
  recording = arrange(std::move(clean.trace), std::move(clean.index), arranged.graph, clean.selected);
  recording.places = worker_places(rows.metadata, reading.hosts, recording.ranks);
  recording.were_float32 = reading.step_origin_s.empty() ? recording.float32_times : reading.were_float32;
  if (!reading.step_origin_s.empty()) {
    for (const std::int64_t step : recording.steps)
      recording.subtracted_s.push_back(reading.step_origin_s.at(step));
  }
  arranged.clocks = align_clocks(recording, arranged.graph, options.clocks, notes);
  if (!arranged.clocks.left_out.empty()) {
    Findings findings(arranged.cleaning);
    for (const CleaningFinding& finding : arranged.clocks.left_out) {
      for (const std::int64_t step : finding.steps) findings.add(finding.rule, 1, step, finding.detail);
    }
    arranged.cleaning = std::move(findings).take();
    if (options.strict) GOODPUT_TRY_STATUS(refuse_strictly(arranged.cleaning));
  }
  arranged.trace.ops_per_lane = recording.ops.size();
  arranged.trace.notes = notes;
  return arranged;
}

}  // namespace goodput
