#include <nlohmann/json.hpp>

#include "tools/calibration/calibration_info.h"
#include "tools/cli/json_result.h"

namespace goodput {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json written(const T& object) {
  T copy = object;
  Json json = config::write(config_fields(copy));
  return json.is_null() ? Json::object() : json;
}

Json fit_json(const TableInfo& info) {
  const bool is_by_bytes = size_key(info.table.op) == "bytes";
  Json json = Json::array();
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

Json table_json(const TableInfo& info) {
  const Measurement& table = info.table;
  Json json = {
      {"op", to_string(table.op)}, {"params", written(table.params)}, {"tier", to_string(table.tier)}};
  json["source"] = table.source.empty() ? Json(nullptr) : Json(table.source);
  json["size"] = size_key(table.op).empty() ? Json(nullptr) : Json(size_key(table.op));
  json["lo"] = size_key(table.op).empty() ? Json(nullptr) : Json(table.points.front().size());
  json["hi"] = size_key(table.op).empty() ? Json(nullptr) : Json(table.points.back().size());
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

void add_calibration_info_json(const Calibration& calibration, Json& json) {
  json["source"] = calibration.source.empty() ? Json(nullptr) : Json(calibration.source);
  json["machine"] = written(calibration.machine);
  json["run"] = written(calibration.run);
  json["method"] = written(calibration.method);
  json["ceilings"] = written(calibration.ceilings);
  json["checks"] = calibration.checks.size();
  json["tables"] = Json::array();
  for (const TableInfo& info : table_infos(calibration)) json["tables"].push_back(table_json(info));
}

}  // namespace goodput
