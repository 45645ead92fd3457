// Traces as clusters write them, read through the front door.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/traces/io/temporary_file.h"
#include "traces/op/op_trace_reader.h"

namespace goodput {

inline const std::string kOpHeader = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";

inline Result<OpTraceReading> read_text(std::string_view text, bool strict = false,
                                        std::string_view name = "t.csv") {
  const TemporaryFile file(name, text);
  OpTraceReadOptions options;
  options.strict = strict;
  Result<OpTraceReading> reading = read_op_trace({file.path()}, options);
  if (!reading) {
    Error error = std::move(reading).error();
    if (error.where.file == file.path()) error.where.file = name;
    return error;
  }
  for (CleaningFinding& finding : reading->findings) {
    if (finding.detail.starts_with(file.path()))
      finding.detail = std::string(name) + finding.detail.substr(file.path().size());
  }
  return reading;
}

inline OpTraceReading reading_of(std::string_view text, std::string_view name = "t.csv") {
  auto reading = read_text(text, false, name);
  INFO((reading ? std::string() : reading.error().message()));
  REQUIRE(reading);
  return *std::move(reading);
}

inline std::string error_of(std::string_view text, bool strict = false, std::string_view name = "t.csv") {
  const auto reading = read_text(text, strict, name);
  REQUIRE_FALSE(reading);
  return reading.error().message();
}

// "RULE COUNT [STEP STEP] DETAIL" a finding.
inline std::vector<std::string> summaries(const OpTraceReading& reading) {
  std::vector<std::string> texts;
  for (const CleaningFinding& finding : reading.findings) {
    std::string text = std::string(info(finding.rule).name) + " " + std::to_string(finding.count) + " [";
    for (const std::int64_t step : finding.steps) {
      text += (text.ends_with('[') ? "" : " ") + std::to_string(step);
    }
    texts.push_back(text + "] " + finding.detail);
  }
  return texts;
}

}  // namespace goodput
