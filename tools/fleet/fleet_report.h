// What `goodput fleet` says: text for people, JSON for programs, tables and figures.
#pragma once

#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"
#include "tools/chart/thinned_line.h"
#include "tools/fleet/fleet_inputs.h"
#include "tools/fleet/fleet_study.h"

namespace goodput {

struct FleetReport {
  const FleetReading& reading;
  const FleetStudy& study;
  const FleetStudyOptions& options;
};

// What stragglers cost these jobs, in one sentence.
[[nodiscard]] std::string fleet_headline(const FleetStudy& study);

// What the filters keep, beside what the paper kept; "" if no job was read.
[[nodiscard]] std::string kept_text(const KeptJobs& kept);

// Begins with the headline.
[[nodiscard]] std::string fleet_text(const FleetReport& report);

// Adds the members of goodput.fleet/1 (docs/formats/fleet.md).
void add_fleet_json(const FleetReport& report, OrderedJson& json);

// FOLDER/jobs.csv, distributions.csv, optypes.csv, sizes.csv and hosts.csv. Makes the folder.
Status write_fleet_tables(const FleetReport& report, const std::string& folder);

// All that write_fleet_tables() and write_fleet_figures() may write.
[[nodiscard]] std::vector<std::string> fleet_table_files(const std::string& folder);
[[nodiscard]] std::vector<std::string> fleet_figure_files(const std::string& folder);

// An SVG a distribution, and optypes.svg, sizes.svg and, where hosts are known, hosts.svg. Makes the folder.
Status write_fleet_figures(const FleetReport& report, const std::string& folder);

// `188,924`, `12.3`, `0.0045`
[[nodiscard]] std::string gpu_hours_text(double gpu_hours);

// `42.5 %`, `1.280`
[[nodiscard]] std::string figure_value(FigureUnit unit, double value);

// The points of a distribution: for every value, the share of the weight that is not above it.
[[nodiscard]] std::vector<LinePoint> cumulative(const FleetSample& sample);

}  // namespace goodput
