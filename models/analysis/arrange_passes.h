// From trace files to the recording and its op graph: the front half of every analysis.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/number_ranges.h"
#include "sim/ops/cleaning_finding.h"
#include "sim/ops/op_graph.h"
#include "sim/recording/recording.h"
#include "tools/trace/align_clocks.h"
#include "tools/trace/read_trace.h"
#include "traces/op/job_metadata.h"

namespace goodput {

struct LoadOptions {
  TraceFiles files;
  std::string steps;  // list such as 12,20-23; empty: all
  ClockAlignment clocks = ClockAlignment::kAuto;
};

struct LoadedRecording {
  OpGraph graph;
  Recording recording;
  JobMetadata job;
  std::size_t ops = 0;                    // rows in the files, all steps
  std::size_t steps = 0;                  // steps in the files
  std::vector<std::string> formats;       // one a file
  std::vector<std::string> notes;         // for the user: derived ids, contradictions
  std::vector<CleaningFinding> cleaning;  // one a rule that found something
  RecordedClocks clocks;
};

// Reads, cleans (sim/cleaning/trace_cleaning.h) and arranges. Prints the notes.
Result<LoadedRecording> load_recording(const LoadOptions& options, const CommandContext& context);

struct ArrangeOptions {
  bool strict = false;
  std::vector<NumberRange> steps = {};  // empty: all
  ClockAlignment clocks = ClockAlignment::kAuto;
  std::string trial_name;  // where the metadata has none
  std::function<void(const std::string& note)>
      note;  // called as notes come up: if it fails, they may say why
};

// The second half of that: cleans and arranges rows that were read, wherever they came from.
Result<LoadedRecording> arrange_recording(TraceWithMetadata rows, const ArrangeOptions& options);

}  // namespace goodput
