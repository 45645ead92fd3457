
#include "sim/base/json.h"
#include "tools/calibration/calibration_info.h"
#include "tools/cli/json_result.h"

namespace goodput {
namespace {

template <typename T>
OrderedJson written(const T& object) {
  T copy = object;
  OrderedJson json = config::write(config_fields(copy));
  return json.is_null() ? OrderedJson::object() : json;
}

OrderedJson fit_json(const TableInfo& info) {
  const bool is_by_bytes = size_key(info.table.op) == "bytes";
  OrderedJson json = OrderedJson::array();
  for (const FittedSegment& segment : info.fit) {
    json.push_back({{"lo", segment.lo}, {"hi", segment.hi}, {"alpha_us", segment.alpha}});
    if (is_by_bytes)
      json.back()["GBps_bus"] = or_null(info.bus_gb_per_s(segment));
    else
      json.back()["us_per_unit"] = segment.beta;
    json.back()["max_rel"] = segment.max_error;
  }
  return json;
}

OrderedJson table_json(const TableInfo& info) {
  const Measurement& table = info.table;
  OrderedJson json = {
      {"op", to_string(table.op)}, {"params", written(table.params)}, {"tier", to_string(table.tier)}};
  json["source"] = table.source.empty() ? OrderedJson(nullptr) : OrderedJson(table.source);
  json["size"] = size_key(table.op).empty() ? OrderedJson(nullptr) : OrderedJson(size_key(table.op));
  json["lo"] = size_key(table.op).empty() ? OrderedJson(nullptr) : OrderedJson(table.points.front().size());
  json["hi"] = size_key(table.op).empty() ? OrderedJson(nullptr) : OrderedJson(table.points.back().size());
  json["points"] = table.points.size();
  json["unsteady"] = info.unsteady;
  json["left_out"] = nullptr;
  if (info.left_out)
    json["left_out"] = {{"points", info.left_out->points},
                        {"mean_rel", info.left_out->mean},
                        {"max_rel", info.left_out->largest}};
  json["fit"] = fit_json(info);
  return json;
}

}  // namespace

void add_calibration_info_json(const Calibration& calibration, OrderedJson& json) {
  json["source"] = calibration.source.empty() ? OrderedJson(nullptr) : OrderedJson(calibration.source);
  json["machine"] = written(calibration.machine);
  json["run"] = written(calibration.run);
  json["method"] = written(calibration.method);
  json["ceilings"] = written(calibration.ceilings);
  json["checks"] = calibration.checks.size();
  json["tables"] = OrderedJson::array();
  for (const TableInfo& info : table_infos(calibration)) json["tables"].push_back(table_json(info));
}

}  // namespace goodput
