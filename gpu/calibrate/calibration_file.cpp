#include "gpu/calibrate/calibration_file.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "gpu/bench/json.h"
#include "gpu/calibrate/calibration_tables.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr const char* kNetworkOps[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                       "send_recv"};

void write_value(const JsonValue& value, bench::JsonWriter& json) {
  if (const auto* flag = std::get_if<bool>(&value.content())) return json.value(*flag);
  if (const auto* number = std::get_if<double>(&value.content())) return json.value(*number);
  if (const auto* text = std::get_if<std::string>(&value.content())) return json.value(*text);
  json.begin_array();
  for (const JsonValue& item : value.array()) write_value(item, json);
  json.end_array();
}

void write_members(const JsonValue& object, bench::JsonWriter& json) {
  for (const auto& [name, value] : object.object()) {
    json.key(name);
    write_value(value, json);
  }
}

void write_members(const std::vector<Param>& params, bench::JsonWriter& json) {
  for (const Param& param : params) {
    json.key(param.name);
    std::visit([&json](const auto& value) { json.value(value); }, param.value);
  }
}

void write_params(const TableKey& table, bench::JsonWriter& json) {
  if (table.params.empty()) return;
  json.key("params");
  json.begin_object();
  write_members(table.params, json);
  json.end_object();
}

void write_times(const PointSummary& point, bench::JsonWriter& json) {
  const Visit& visit = point.visit;
  json.member("median_us", visit.us.median);
  // Times that events do not resolve: the file has no zeros.
  if (visit.us.p05 > 0) json.member("p05_us", visit.us.p05);
  if (visit.us.p95 > 0) json.member("p95_us", visit.us.p95);
  if (visit.us.min > 0) json.member("min_us", visit.us.min);
  json.member("n", static_cast<std::int64_t>(visit.us.count));
  json.member("cv", visit.us.cv);
  if (visit.nwrong) json.member("nwrong", *visit.nwrong);
  if (visit.sm_mhz) json.member("sm_mhz", *visit.sm_mhz);
  if (visit.power_w) json.member("power_w", *visit.power_w);
  if (point.unsteady) json.member("unsteady", true);
}

void write_point(const MeasuredTable& table, std::int64_t size, const PointSummary& point,
                 bench::JsonWriter& json) {
  json.begin_object();
  if (!table.size_name.empty()) json.member(table.size_name, size);
  write_times(point, json);
  json.end_object();
}

void write_table(const MeasuredTable& table, const std::string& tier, bench::JsonWriter& json) {
  json.begin_object();
  json.member("op", table.key.op);
  write_params(table.key, json);
  json.member("tier", tier);
  if (!table.source.empty()) json.member("source", table.source);
  json.key("points");
  json.begin_array();
  for (const auto& [size, point] : table.by_size) write_point(table, size, point, json);
  json.end_array();
  json.end_object();
}

void write_check(const MeasuredBlock& check, const std::string& tier, bench::JsonWriter& json) {
  const Visit& visit = check.summary.visit;
  json.begin_object();
  json.member("name", text_of(check.key));
  json.member("block", check.key.table.op);
  json.key("params");
  json.begin_object();
  write_members(check.key.table.params, json);
  json.member(check.key.size_name, check.key.size);
  write_expert_rows(visit.expert_rows, json);
  json.end_object();
  json.member("tier", tier);
  json.member("source", visit.source);
  write_times(check.summary, json);
  write_parts(visit.parts, json);
  json.end_object();
}

void write_checks(const MeasuredTables& tables, const std::string& tier, bench::JsonWriter& json) {
  if (tables.checks.empty()) return;
  json.key("checks");
  json.begin_array();
  for (const MeasuredBlock& check : tables.checks) write_check(check, tier, json);
  json.end_array();
}

void write_run(const JsonValue& header, bench::JsonWriter& json) {
  json.key("run");
  json.begin_object();
  for (const auto& [from, to] :
       {std::pair("revision", "git"), std::pair("utc", "utc"), std::pair("argv", "argv")}) {
    if (header.find(from) == nullptr) continue;
    json.key(to);
    write_value(header.at(from), json);
  }
  json.end_object();
}

void write_method(const JsonValue& header, const std::vector<std::string>& notes, bench::JsonWriter& json) {
  std::string text;
  for (const std::string& note : notes) text += (text.empty() ? "" : "; ") + note;
  json.key("method");
  json.begin_object();
  write_members(header.at("method"), json);
  if (!text.empty()) json.member("notes", text);
  json.end_object();
}

void write_machine(const JsonValue& header, const MeasuredTables& tables, bench::JsonWriter& json) {
  std::vector<double> mhz;
  for (const MeasuredTable& table : tables.tables) {
    for (const auto& point : table.by_size) {
      if (point.second.visit.sm_mhz) mhz.push_back(*point.second.visit.sm_mhz);
    }
  }
  for (const MeasuredBlock& check : tables.checks) {
    if (check.summary.visit.sm_mhz) mhz.push_back(*check.summary.visit.sm_mhz);
  }
  json.key("machine");
  json.begin_object();
  write_members(header.at("machine"), json);
  if (!mhz.empty()) json.member("sm_mhz", bench::summarize(mhz).median);
  json.end_object();
}

// What an emulator makes is no rate of anything.
void write_ceilings(const MeasuredTables& tables, const std::string& tier, bench::JsonWriter& json) {
  if (tables.ceilings.empty() || tier != "measured") return;
  json.key("ceilings");
  json.begin_object();
  for (const MeasuredCeiling& ceiling : tables.ceilings) json.member(ceiling.name, ceiling.value);
  json.end_object();
}

}  // namespace

std::string why_refused(const VisitRecord& record, const std::string& tier) {
  const TableKey& table = record.key.table;
  if (record.tier == "correctness_only")
    return "ranks that share a GPU (correctness_only) take turns, so their times are not used";
  if (record.tier != tier)
    return "a time has tier '" + record.tier + "', but the other times have tier '" + tier + "'";
  const bool is_network =
      std::find(std::begin(kNetworkOps), std::end(kNetworkOps), table.op) != std::end(kNetworkOps);
  const auto ranks = std::find_if(table.params.begin(), table.params.end(),
                                  [](const Param& param) { return param.name == "ranks"; });
  const auto* const number = ranks == table.params.end() ? nullptr : std::get_if<std::int64_t>(&ranks->value);
  if (is_network && (number == nullptr || *number < 2))
    return "a collective with one rank is a copy, which does not use the network";
  return "";
}

std::string calibration_text(const JsonValue& header, const MeasuredPoints& points) {
  const std::string& tier = header.at("tier").text();
  for (const VisitRecord* const record : points.points()) {
    if (const std::string why = why_refused(*record, tier); !why.empty())
      throw std::invalid_argument(text_of(record->key) + ": " + why);
  }
  const MeasuredTables tables = tables_of(points);
  std::vector<std::string> notes = points.notes();
  notes.insert(notes.end(), tables.notes.begin(), tables.notes.end());
  bench::JsonWriter json;
  json.begin_object();
  json.member("schema", "goodput.calibration/1");
  write_machine(header, tables, json);
  write_run(header, json);
  write_method(header, notes, json);
  write_ceilings(tables, tier, json);
  json.key("ops");
  json.begin_array();
  for (const MeasuredTable& table : tables.tables) write_table(table, tier, json);
  json.end_array();
  write_checks(tables, tier, json);
  json.end_object();
  return json.text();
}

}  // namespace goodput::gpu::calibrate
