// The rows of a job as they were read, before anything was checked or cleaned.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/ops/cleaning_finding.h"
#include "sim/ops/job_metadata.h"
#include "sim/ops/op_trace.h"

namespace goodput {

struct OpTraceReading {
  OpTrace trace;
  std::vector<std::string> formats;       // one a file
  std::vector<std::string> notes;         // what a user should know: derived ids, ignored events and ranks
  std::vector<CleaningFinding> findings;  // one a rule: what could not be used as it stood
  // By rank: the ip that logs name; else, of several files without a rank in common, the name of the file.
  std::map<std::int64_t, std::string> hosts;
  std::int64_t stated_dp_size = 0;  // by the lines of logs; 0: they do not say
  std::int64_t stated_pp_size = 0;
  // By step, of rows without ids: seconds that were subtracted from its starts, so that its first one is 0.
  // In files with one origin for all steps it tells when the step began. Empty: starts are as recorded.
  std::map<std::int64_t, double> step_origin_s;
  bool were_float32 = false;  // with step_origin_s: all times of the files, before that
};

// The rows and what a metadata file says about the job.
struct JobRows {
  OpTraceReading reading;
  JobMetadataFields metadata;
  std::string metadata_path;  // empty: no file
};

}  // namespace goodput
