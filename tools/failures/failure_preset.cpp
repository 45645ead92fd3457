#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/cli/duration_text.h"
#include "tools/failures/imported_failures.h"
#include "traces/faults/log_time.h"

namespace goodput {
namespace {

constexpr double kAssumedRepair = 86400;               // s, as for the published clusters
constexpr double kLeastShape = 0.05, kMostShape = 20;  // of the failure models

// As many digits as a rate or a time can be known to.
double rounded(double value) {
  return std::stod(fmt::format("{:.5g}", value));
}

std::string basis_of_repair(const RepairEstimate& repairs, std::string_view law) {
  return fmt::format("measured: mean of {} repairs{}; their distribution is {}", repairs.complete,
                     repairs.open > 0 ? fmt::format(" and {} open faults (Kaplan-Meier)", repairs.open) : "",
                     repairs.is_coarse || repairs.complete < kRepairsForLaw ? "assumed" : law);
}

std::string file_names(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& file : files)
    names.push_back(on_one_line(std::filesystem::path(file).filename().string()));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string source_text(const ImportedFailures& failures) {
  const FaultHistory& history = failures.history;
  const std::string time =
      fmt::format("from {} to {}", moment_text(failures, history.from), moment_text(failures, history.to));
  if (failures.is_of_jobs())
    return fmt::format("{}: {} jobs that lost a node, {}", file_names(failures.files), failures.jobs->lost,
                       time);
  return fmt::format("{}: {} faults of {} nodes, {}", file_names(failures.files), failures.estimate.faults,
                     history.cluster_nodes, time);
}

OrderedJson bursts_json(const BurstEstimate& bursts, const PresetRepair& repair) {
  OrderedJson json = OrderedJson::object();
  json["per_1000_node_days"] = rounded(bursts.per_1000_node_days);
  json["group_size"] = std::max<std::int64_t>(2, std::llround(bursts.mean_nodes));
  json["outage_s"] = rounded(bursts.outage_s.value_or(repair.mean_s));
  return json;
}

}  // namespace

const EventRate& preset_rate(const ImportedFailures& failures) {
  const FailureEstimate& estimate = failures.estimate;
  return estimate.independent.events > 0 ? estimate.independent : estimate.all;
}

PresetRepair preset_repair(const ImportedFailures& failures) {
  if (failures.stated_repair_s) return {.mean_s = *failures.stated_repair_s, .origin = "stated by the user"};
  const RepairEstimate& repairs = failures.estimate.repairs;
  if (repairs.complete == 0) {
    return {.mean_s = kAssumedRepair,
            .origin = "assumed: a day, as for rsc-1; the log has no repair times",
            .is_assumed = true};
  }
  PresetRepair repair{.mean_s = *repairs.mean_s};
  const auto fit = std::find_if(repairs.fits.begin(), repairs.fits.end(), [](const RepairFit& one) {
    return one.law == RepairLaw::kExponential || (one.shape >= kLeastShape && one.shape <= kMostShape);
  });
  if (fit != repairs.fits.end() && fit->law != RepairLaw::kExponential &&
      repairs.complete >= kRepairsForLaw) {
    repair.law = std::string(to_string(fit->law));
    repair.shape = fit->shape;
  }
  repair.origin = basis_of_repair(repairs, repair.law);
  return repair;
}

OrderedJson failure_preset_json(const ImportedFailures& failures) {
  const EventRate& rate = preset_rate(failures);
  const PresetRepair repair = preset_repair(failures);
  const bool has_bursts =
      &rate == &failures.estimate.independent && !failures.estimate.bursts.found.bursts.empty();
  OrderedJson json = OrderedJson::object();
  json["model"] = "exponential";
  json["failures_per_1000_node_days"] = rounded(rate.value);
  json["repair_s"] = rounded(repair.mean_s);
  json["repair"] = repair.law;
  if (repair.shape) json["repair_shape"] = rounded(*repair.shape);
  if (has_bursts) json["bursts"] = bursts_json(failures.estimate.bursts, repair);
  json["source"] = source_text(failures);
  OrderedJson sources = OrderedJson::object();
  sources["failures_per_1000_node_days"] =
      fmt::format("measured: {:.0f} faults in {:.1f} node-days; 95 % interval {:.4g} to {:.4g}", rate.events,
                  failures.estimate.node_days, rate.low, rate.high);
  sources["repair_s"] = repair.origin;
  if (has_bursts) {
    sources["bursts"] = fmt::format("measured: {} in {:.1f} node-days, of {:.1f} nodes on average",
                                    failures.estimate.bursts.found.bursts.size(), failures.estimate.node_days,
                                    failures.estimate.bursts.mean_nodes);
  }
  json["sources"] = std::move(sources);
  json["tier"] = repair.is_assumed ? "assumed" : "measured";
  return json;
}

std::string moment_text(const ImportedFailures& failures, SimTime time) {
  if (failures.log.has_dates) return date_text(time);
  return fmt::format("{:.9g} s", to_seconds(time));
}

}  // namespace goodput
