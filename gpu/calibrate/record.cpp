#include "gpu/calibrate/record.h"

#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "gpu/bench/json.h"
#include "gpu/calibrate/json_value.h"

namespace goodput::gpu::calibrate {
namespace {

void write_params(const std::vector<Param>& params, bench::JsonWriter& json) {
  json.key("params");
  json.begin_object();
  for (const Param& param : params) {
    json.key(param.name);
    std::visit([&json](const auto& value) { json.value(value); }, param.value);
  }
  json.end_object();
}

void write_times(const Visit& visit, bench::JsonWriter& json) {
  json.member("median_us", visit.us.median);
  json.member("p05_us", visit.us.p05);
  json.member("p95_us", visit.us.p95);
  json.member("min_us", visit.us.min);
  json.member("mean_us", visit.us.mean);
  json.member("cv", visit.us.cv);
  json.member("n", static_cast<std::int64_t>(visit.us.count));
  if (visit.sm_mhz) json.member("sm_mhz", *visit.sm_mhz);
  if (visit.nwrong) json.member("nwrong", *visit.nwrong);
  if (visit.power_w) json.member("power_w", *visit.power_w);
  if (!visit.source.empty()) json.member("source", visit.source);
}

void write_record(const VisitRecord& record, bench::JsonWriter& json) {
  json.key("visit");
  json.begin_object();
  json.member("sweep", record.sweep);
  json.member("op", record.key.table.op);
  write_params(record.key.table.params, json);
  if (!record.key.size_name.empty()) json.member(record.key.size_name, record.key.size);
  if (record.ceiling) {
    json.member("ceiling", record.ceiling->name);
    json.member("amount", record.ceiling->amount);
  }
  json.member("tier", record.tier);
  json.member("round", record.round);
  if (record.again) json.member("again", true);
  write_times(record.visit, json);
  write_expert_rows(record.visit.expert_rows, json);
  write_parts(record.visit.parts, json);
  json.end_object();
}

void write_record(const SentinelRecord& record, bench::JsonWriter& json) {
  json.key("sentinels");
  json.begin_object();
  for (const SentinelTime& time : record.times) json.member(time.name, time.median_us);
  json.end_object();
}

void write_record(const NoteRecord& record, bench::JsonWriter& json) {
  json.member("note", record.text);
}

std::int64_t whole(const JsonValue& value, double least) {
  const double number = value.number();
  if (number < least || number > 9e15 || number != std::floor(number))
    throw std::invalid_argument("expected a whole number");
  return static_cast<std::int64_t>(number);
}

double positive(const JsonValue& value) {
  if (!(value.number() > 0)) throw std::invalid_argument("expected a number above 0");
  return value.number();
}

Param param_of(const std::string& name, const JsonValue& value) {
  if (const auto* word = std::get_if<std::string>(&value.content())) return {name, *word};
  if (const auto* flag = std::get_if<bool>(&value.content())) return {name, *flag};
  return {name, whole(value, 1)};
}

std::vector<Param> params_of(const JsonValue& value) {
  std::vector<Param> params;
  for (const auto& member : value.object()) params.push_back(param_of(member.first, member.second));
  return params;
}

bool is_size(const std::string& name) {
  return name == "bytes" || name == "tokens" || name == "m";
}

// Whether it is one of the times.
bool take_time(const std::string& name, const JsonValue& value, Visit& visit) {
  if (name == "median_us")
    visit.us.median = positive(value);
  else if (name == "p05_us")
    visit.us.p05 = value.number();
  else if (name == "p95_us")
    visit.us.p95 = value.number();
  else if (name == "min_us")
    visit.us.min = value.number();
  else if (name == "mean_us")
    visit.us.mean = value.number();
  else if (name == "cv")
    visit.us.cv = value.number();
  else if (name == "n")
    visit.us.count = static_cast<std::size_t>(whole(value, 1));
  else if (name == "sm_mhz")
    visit.sm_mhz = positive(value);
  else if (name == "nwrong")
    visit.nwrong = static_cast<std::uint64_t>(whole(value, 0));
  else if (name == "power_w")
    visit.power_w = positive(value);
  else if (name == "source")
    visit.source = value.text();
  else
    return false;
  return true;
}

double not_negative(const JsonValue& value) {
  if (!(value.number() >= 0)) throw std::invalid_argument("expected a number of at least 0");
  return value.number();
}

PartTime part_of(const JsonValue& value) {
  PartTime part{"", false, 0};
  for (const auto& [name, member] : value.object()) {
    if (name == "part")
      part.part = member.text();
    else if (name == "backward")
      part.is_backward = member.boolean();
    else if (name == "median_us")
      part.median_us = not_negative(member);
    else
      throw std::invalid_argument("unknown member '" + name + "' of a part");
  }
  static_cast<void>(value.at("part"));
  static_cast<void>(value.at("median_us"));
  return part;
}

bool take_parts(const std::string& name, const JsonValue& value, Visit& visit) {
  if (name == "parts") {
    for (const JsonValue& part : value.array()) visit.parts.push_back(part_of(part));
    return true;
  }
  if (name != "expert_rows") return false;
  for (const JsonValue& rows : value.array()) visit.expert_rows.push_back(whole(rows, 0));
  return true;
}

bool take_name(const std::string& name, const JsonValue& value, VisitRecord& record) {
  if (name == "sweep")
    record.sweep = value.text();
  else if (name == "op")
    record.key.table.op = value.text();
  else if (name == "params")
    record.key.table.params = params_of(value);
  else if (name == "tier")
    record.tier = value.text();
  else if (name == "round")
    record.round = static_cast<int>(whole(value, 1));
  else if (name == "again")
    record.again = value.boolean();
  else
    return false;
  return true;
}

void take_member(const std::string& name, const JsonValue& value, VisitRecord& record) {
  if (take_name(name, value, record) || take_time(name, value, record.visit) ||
      take_parts(name, value, record.visit))
    return;
  if (is_size(name)) {
    if (!record.key.size_name.empty()) throw std::invalid_argument("there is already a size");
    record.key.size_name = name;
    record.key.size = whole(value, 1);
  } else if (name == "ceiling" || name == "amount") {
    if (!record.ceiling) record.ceiling = CeilingWork{};
    name == "ceiling" ? void(record.ceiling->name = value.text())
                      : void(record.ceiling->amount = positive(value));
  } else {
    throw std::invalid_argument("unknown member");
  }
}

VisitRecord parse_visit(const JsonValue& value) {
  VisitRecord record;
  for (const auto& [name, member] : value.object()) {
    try {
      take_member(name, member, record);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument("'" + name + "': " + error.what());
    }
  }
  for (const char* const needed : {"sweep", "op", "tier", "median_us", "n"})
    static_cast<void>(value.at(needed));
  return record;
}

SentinelRecord parse_sentinels(const JsonValue& value) {
  SentinelRecord record;
  for (const auto& [name, member] : value.object()) record.times.push_back({name, positive(member)});
  return record;
}

}  // namespace

std::string line_of(const Record& record) {
  bench::JsonWriter json(bench::JsonLayout::kOneLine);
  json.begin_object();
  std::visit([&json](const auto& kind) { write_record(kind, json); }, record);
  json.end_object();
  return json.text();
}

Record parse_record(std::string_view line) {
  const JsonValue value = parse_json(line);
  if (const JsonValue* const visit = value.find("visit")) return parse_visit(*visit);
  if (const JsonValue* const sentinels = value.find("sentinels")) return parse_sentinels(*sentinels);
  if (const JsonValue* const note = value.find("note")) return NoteRecord{note->text()};
  throw std::invalid_argument("expected a visit, sentinels or a note");
}

}  // namespace goodput::gpu::calibrate
