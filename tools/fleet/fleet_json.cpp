#include <algorithm>

#include "sim/base/json.h"
#include "sim/causes/cause_names.h"
#include "tools/cli/json_result.h"
#include "tools/fleet/fleet_report.h"

namespace goodput {
namespace {

constexpr int kQuantiles = 100;
constexpr std::size_t kMostCostlyJobs = 20;

OrderedJson interval_json(const std::optional<Estimate>& value) {
  if (!value || !value->interval) return nullptr;
  return *value->interval;
}

OrderedJson filters_json(const FilteredFleet& fleet) {
  OrderedJson list = OrderedJson::array();
  for (const FilterCount& filter : fleet.filters) {
    list.push_back({{"filter", filter.key},
                    {"why", filter.why},
                    {"jobs", filter.jobs},
                    {"of_jobs", filter.of_jobs},
                    {"gpu_hours", filter.gpu_hours},
                    {"of_gpu_hours", filter.of_gpu_hours},
                    {"unknown_jobs", filter.unknown_jobs},
                    {"paper_share_of_jobs", or_null(filter.paper_jobs)},
                    {"paper_share_of_gpu_hours", or_null(filter.paper_gpu_hours)}});
  }
  return list;
}

OrderedJson kept_json(const KeptJobs& kept) {
  return {{"jobs", kept.jobs},
          {"of_jobs", kept.of_jobs},
          {"gpu_hours", kept.gpu_hours},
          {"of_gpu_hours", kept.of_gpu_hours},
          {"paper_share_of_jobs", KeptJobs::kPaperJobs},
          {"paper_share_of_gpu_hours", KeptJobs::kPaperGpuHours},
          {"text", kept_text(kept)}};
}

OrderedJson figures_json(const std::vector<FleetFigure>& figures) {
  OrderedJson list = OrderedJson::array();
  for (const FleetFigure& figure : figures) {
    list.push_back({{"figure", figure.key},
                    {"what", figure.what},
                    {"over", figure.over},
                    {"unit", kFigureUnits[static_cast<std::size_t>(figure.unit)]},
                    {"jobs", figure.jobs},
                    {"value", figure.value ? OrderedJson(figure.value->mean) : OrderedJson(nullptr)},
                    {"ci", interval_json(figure.value)},
                    {"paper", or_null(figure.paper)}});
  }
  return list;
}

// Percentiles: of any number of jobs a page can draw them.
OrderedJson curves_json(const std::vector<FleetCurve>& curves) {
  OrderedJson list = OrderedJson::array();
  for (const FleetCurve& curve : curves) {
    const std::vector<LinePoint> points = cumulative(curve.sample);
    OrderedJson percentiles = OrderedJson::array();
    std::size_t at = 0;
    for (int percent = 0; percent <= kQuantiles; ++percent) {
      while (at + 1 < points.size() && points[at].y < percent / static_cast<double>(kQuantiles)) ++at;
      percentiles.push_back(points[at].x);
    }
    list.push_back({{"distribution", curve.key},
                    {"what", curve.what},
                    {"over", curve.over},
                    {"unit", kFigureUnits[static_cast<std::size_t>(curve.unit)]},
                    {"paper_mark", or_null(curve.paper_mark)},
                    {"jobs", curve.sample.jobs()},
                    {"values", curve.sample.values().size()},
                    {"percentiles", std::move(percentiles)}});
  }
  return list;
}

OrderedJson sizes_json(const std::vector<SizeClass>& sizes) {
  OrderedJson list = OrderedJson::array();
  for (const SizeClass& size : sizes) {
    list.push_back({{"least_gpus", size.least_gpus},
                    {"most_gpus", size.most_gpus},
                    {"jobs", size.jobs},
                    {"mean_slowdown", size.mean_slowdown},
                    {"slow_share", size.slow_share}});
  }
  return list;
}

OrderedJson causes_json(const std::vector<CauseRecord>& causes) {
  OrderedJson list = OrderedJson::array();
  for (const CauseRecord& cause : causes) {
    list.push_back({{"cause", cause.cause},
                    {"name", plain_cause_name(cause.cause)},
                    {"jobs", cause.jobs},
                    {"mean_slowdown", cause.mean_slowdown},
                    {"mean_gain", or_null(cause.mean_gain)},
                    {"saved_share", cause.saved_share},
                    {"saved_gpu_hours", or_null(cause.saved_gpu_hours)}});
  }
  return list;
}

OrderedJson costly_jobs_json(const std::vector<const FleetJob*>& by_cost) {
  OrderedJson list = OrderedJson::array();
  for (std::size_t i = 0; i < std::min(kMostCostlyJobs, by_cost.size()); ++i) {
    const FleetJob& job = *by_cost[i];
    OrderedJson causes = OrderedJson::array();
    for (const LikelyCause& cause : job.causes) causes.push_back(cause.name);
    list.push_back(
        {{"job", job.name},
         {"gpus", or_null(job.gpus)},
         {"gpu_hours", or_null(job.gpu_hours)},
         {"slowdown", job.slowdown},
         {"waste", job.waste()},
         {"wasted_gpu_hours", job.gpu_hours ? OrderedJson(*job.gpu_hours * job.waste()) : OrderedJson()},
         {"causes", std::move(causes)}});
  }
  return list;
}

OrderedJson hosts_json(const std::vector<HostRecord>& hosts) {
  OrderedJson list = OrderedJson::array();
  for (const HostRecord& host : hosts) {
    list.push_back({{"host", host.host},
                    {"slow_in", host.slow_in},
                    {"ran_in", host.ran_in},
                    {"mean_slowdown", host.mean_slowdown},
                    {"worst_slowdown", host.worst_slowdown},
                    {"jobs", host.jobs}});
  }
  return list;
}

}  // namespace

void add_fleet_json(const FleetReport& report, OrderedJson& json) {
  const FleetStudy& study = report.study;
  const FleetFilters& filters = report.options.filters;
  json["headline"] = fleet_headline(study);
  json["weight"] = kFleetWeights[static_cast<std::size_t>(study.weight)];
  json["settings"] = {{"max_restarts", filters.most_restarts},
                      {"min_steps", filters.least_steps},
                      {"max_discrepancy", filters.most_discrepancy}};
  json["results"] = report.reading.results;
  json["databases"] = report.reading.databases;
  json["jobs_read"] = study.jobs_read;
  json["jobs_studied"] = study.fleet.studied.size();
  json["gpu_hours_studied"] = or_null(study.gpu_hours);
  json["gpu_hours_wasted"] = or_null(study.wasted_gpu_hours);
  json["jobs_wasting_over_10_percent"] = study.costly_jobs;
  json["costliest_jobs"] = costly_jobs_json(study.by_cost);
  json["notes"] = report.reading.notes;
  json["filters"] = filters_json(study.fleet);
  json["kept"] = kept_json(study.fleet.kept);
  json["figures"] = figures_json(study.figures);
  json["distributions"] = curves_json(study.curves);
  json["optypes"] = OrderedJson::array();
  for (const OptypeWaste& type : study.optypes)
    json["optypes"].push_back({{"optype", type.optype}, {"jobs", type.jobs}, {"waste", type.waste}});
  json["sizes"] = sizes_json(study.sizes);
  json["size_correlation"] = or_null(study.size_correlation);
  json["causes"] = causes_json(study.causes);
  json["jobs_with_hosts"] = study.jobs_with_hosts;
  json["hosts"] = hosts_json(study.hosts);
}

}  // namespace goodput
