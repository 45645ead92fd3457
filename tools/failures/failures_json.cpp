#include <fmt/format.h>

#include "sim/base/index.h"
#include "sim/base/json.h"
#include "tools/cli/json_result.h"
#include "tools/failures/imported_failures.h"

namespace goodput {
namespace {

OrderedJson rate_json(const EventRate& rate) {
  OrderedJson json = OrderedJson::object();
  json["faults"] = rate.events;
  json["per_1000_node_days"] = rate.value;
  json["interval"] = {rate.low, rate.high};
  return json;
}

OrderedJson repairs_json(const RepairEstimate& repairs) {
  OrderedJson json = OrderedJson::object();
  json["complete"] = repairs.complete;
  json["open"] = repairs.open;
  json["unknown"] = repairs.unknown;
  json["median_s"] = or_null(repairs.median_s);
  json["mean_s"] = or_null(repairs.mean_s);
  json["law"] = nullptr;
  if (!repairs.fits.empty()) json["law"] = to_string(repairs.fits.front().law);
  json["clarity"] = how_clear(repairs.fits);
  json["coarse"] = repairs.is_coarse;
  json["fits"] = OrderedJson::array();
  for (const RepairFit& fit : repairs.fits) {
    OrderedJson one = OrderedJson::object();
    one["law"] = to_string(fit.law);
    one["mean_s"] = fit.mean_s;
    one["shape"] = or_null(fit.law == RepairLaw::kExponential ? std::nullopt : std::optional(fit.shape));
    one["bic"] = fit.bic;
    json["fits"].push_back(std::move(one));
  }
  return json;
}

// The faults that FaultBurst::faults counts.
std::vector<NodeFault> counted_faults(const FaultHistory& history) {
  std::vector<NodeFault> faults;
  for (const NodeFault& fault : history.faults) {
    if (fault.began_inside) faults.push_back(fault);
  }
  return faults;
}

OrderedJson bursts_json(const ImportedFailures& failures) {
  const BurstEstimate& bursts = failures.estimate.bursts;
  const std::vector<NodeFault> faults = counted_faults(failures.history);
  OrderedJson json = OrderedJson::object();
  json["window_s"] = to_seconds(bursts.found.window);
  json["least_nodes"] = bursts.found.least_nodes;
  json["per_1000_node_days"] = bursts.per_1000_node_days;
  json["mean_nodes"] = bursts.mean_nodes;
  json["outage_s"] = or_null(bursts.outage_s);
  json["bursts"] = OrderedJson::array();
  for (const FaultBurst& burst : bursts.found.bursts) {
    OrderedJson one = OrderedJson::object();
    one["begin"] = moment_text(failures, burst.begin);
    one["nodes"] = OrderedJson::array();
    for (const std::size_t fault : burst.faults)
      one["nodes"].push_back(failures.history.nodes[index(faults[fault].node)]);
    json["bursts"].push_back(std::move(one));
  }
  return json;
}

OrderedJson jobs_json(const ImportedFailures& failures) {
  const LostJobs& jobs = *failures.jobs;
  OrderedJson json = rate_json(jobs.rate);
  json["lost_nodes"] = failures.is_of_jobs() ? failures.history.nodes : std::vector<std::string>{};
  json["node_days"] = jobs.node_days;
  json["failed"] = jobs.failed;
  json["unnamed"] = jobs.unnamed;
  return json;
}

void add_lists(const ImportedFailures& failures, OrderedJson& json) {
  const FaultHistory& history = failures.history;
  json["bad_nodes"] = OrderedJson::array();
  for (const BadNode& node : failures.estimate.bad_nodes) {
    json["bad_nodes"].push_back({{"node", history.nodes[index(node.node)]},
                                 {"faults", node.faults},
                                 {"per_1000_node_days", node.per_1000_node_days},
                                 {"ratio", node.ratio}});
  }
  json["causes"] = OrderedJson::array();
  for (const CauseCount& cause : failures.estimate.causes) {
    OrderedJson one = OrderedJson::object();
    one["cause"] = nullptr;
    if (cause.cause >= 0) one["cause"] = history.causes[index(cause.cause)];
    one["faults"] = cause.faults;
    one["median_repair_s"] = or_null(cause.median_repair_s);
    json["causes"].push_back(std::move(one));
  }
  json["left_out"] = OrderedJson::object();
  for (const auto& [why, rows] : failures.log.left_out) json["left_out"][why] = rows;
  json["columns"] = failures.log.columns;
  json["unused_columns"] = failures.log.unused_columns;
  json["warnings"] = failure_warnings(failures);
}

}  // namespace

void add_failures_json(const ImportedFailures& failures, OrderedJson& json) {
  const FaultHistory& history = failures.history;
  const FailureEstimate& estimate = failures.estimate;
  json["from"] = moment_text(failures, history.from);
  json["to"] = moment_text(failures, history.to);
  json["observed_s"] = to_seconds(history.to - history.from);
  json["nodes"] = history.cluster_nodes;
  json["nodes_known"] = failures.nodes_known;
  json["node_days"] = estimate.node_days;
  json["mtbf_days"] = kNodeDaysOfRate / preset_rate(failures).value;
  json["rate"] = rate_json(preset_rate(failures));
  json["rate_with_bursts"] = rate_json(estimate.all);
  json["rate_without_bad_nodes"] = rate_json(estimate.others);
  json["merged"] = history.merged;
  json["outside"] = history.outside;
  json["repairs"] = repairs_json(estimate.repairs);
  json["bursts"] = bursts_json(failures);
  json["jobs"] = nullptr;
  if (failures.jobs) json["jobs"] = jobs_json(failures);
  add_lists(failures, json);
  json["preset"] = failure_preset_json(failures);
}

}  // namespace goodput
