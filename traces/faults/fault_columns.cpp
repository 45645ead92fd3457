#include "traces/faults/fault_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string_view>

#include "sim/base/text.h"
#include "traces/faults/event_words.h"
#include "traces/faults/letter_case.h"

namespace goodput {
namespace {

struct Unit {
  std::string_view name;
  SimDuration duration;
};
constexpr SimDuration kMillisecond = std::chrono::milliseconds{1};
constexpr SimDuration kSecond = std::chrono::seconds{1};
constexpr SimDuration kMinute = std::chrono::minutes{1};
constexpr SimDuration kHour = std::chrono::hours{1};
constexpr SimDuration kDay = std::chrono::hours{24};
constexpr Unit kUnits[] = {{"ns", SimDuration{1}},
                           {"nanoseconds", SimDuration{1}},
                           {"microseconds", SimDuration{1000}},
                           {"us", SimDuration{1000}},
                           {"ms", kMillisecond},
                           {"milliseconds", kMillisecond},
                           {"s", kSecond},
                           {"sec", kSecond},
                           {"secs", kSecond},
                           {"second", kSecond},
                           {"seconds", kSecond},
                           {"min", kMinute},
                           {"mins", kMinute},
                           {"minutes", kMinute},
                           {"h", kHour},
                           {"hr", kHour},
                           {"hrs", kHour},
                           {"hours", kHour},
                           {"d", kDay},
                           {"days", kDay}};

// "Down Time (hours)" is "downtime" in hours.
struct PlainName {
  std::string name{};
  SimDuration unit = kSecond;
};
PlainName plain_name(std::string_view column) {
  std::vector<std::string> words(1);
  for (const char c : in_lower_case(column)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty() && words.size() > 1) words.pop_back();
  if (words.size() > 1 && (words.back() == "utc" || words.back() == "gmt")) words.pop_back();
  PlainName plain;
  const auto unit = std::find_if(std::begin(kUnits), std::end(kUnits), [&](const Unit& one) {
    return words.size() > 1 && one.name == words.back();
  });
  if (unit != std::end(kUnits)) {
    plain.unit = unit->duration;
    words.pop_back();
  }
  plain.name = fmt::format("{}", fmt::join(words, ""));
  return plain;
}

// What a column with that role may be called, the surest name first.
using Names = std::span<const std::string_view>;
constexpr std::string_view kNodeNames[] = {
    "node",    "nodename",   "host",   "hostname",   "nodeid",  "hostid",   "machineid",
    "machine", "instanceid", "server", "servername", "nodenum", "nodenumz", "computenode",
    "gpunode", "fqdn",       "worker", "nodelist",   "hosts",   "nodes",    "instance"};
constexpr std::string_view kStartNames[] = {
    "start",        "begin",       "starttime",  "timestart",  "begintime",   "startedat",  "faultstart",
    "failurestart", "outagestart", "downat",     "downsince",  "downfrom",    "failedat",   "failuretime",
    "failtime",     "faulttime",   "faultat",    "occurredat", "occurred",    "detectedat", "detected",
    "openedat",     "opened",      "reportedat", "createdat",  "probstarted", "startts",    "begints",
    "failts",       "from",        "timestamp",  "ts",         "datetime",    "eventtime",  "time",
    "startdate",    "createdate",  "firstseen",  "t",          "date",        "down"};
constexpr std::string_view kEndNames[] = {
    "end",          "finish",         "endtime",        "timeend",    "endedat",    "faultend",
    "failureend",   "outageend",      "upat",           "repairedat", "repaired",   "fixedat",
    "fixed",        "resolutiontime", "resolutiondate", "enddate",    "restored",   "recoverytimestamp",
    "endtimestamp", "lastseen",       "recoveredat",    "recovered",  "resolvedat", "resolved",
    "restoredat",   "returnedat",     "clearedat",      "closedat",   "closed",     "probfixed",
    "endts",        "repairts",       "recoverts",      "until",      "to",         "up"};
constexpr std::string_view kDurationNames[] = {
    "duration",     "downtime",   "repairtime", "timetorepair",   "ttr",      "mttr",   "repair",
    "recoverytime", "outagetime", "outage",     "outageduration", "timedown", "elapsed"};
constexpr std::string_view kCauseNames[] = {
    "cause", "rootcause", "reason",  "failuretype", "faulttype", "errortype", "category",   "component",
    "error", "fault",     "failure", "type",        "symptom",   "message",   "description"};
constexpr std::array<Names, 5> kRoleNames = {kNodeNames, kStartNames, kEndNames, kDurationNames, kCauseNames};

// The first of `names` that is a column, or the last part of the name of a nested key ("fields.host").
std::optional<LogColumn> first_of(const std::vector<std::string>& columns, Names names) {
  std::vector<PlainName> whole;
  std::vector<PlainName> last;
  for (const std::string& column : columns) {
    whole.push_back(plain_name(column));
    last.push_back(plain_name(column.substr(column.rfind('.') + 1)));
  }
  for (const std::vector<PlainName>& plain : {whole, last}) {
    for (const std::string_view name : names) {
      const auto found =
          std::find_if(plain.begin(), plain.end(), [&](const PlainName& one) { return one.name == name; });
      if (found == plain.end()) continue;
      const auto at = static_cast<std::size_t>(found - plain.begin());
      return LogColumn{at, columns[at], found->unit};
    }
  }
  return std::nullopt;
}

Result<std::optional<LogColumn>> named_column(const LogTable& table, const std::string& role,
                                              const std::string& name) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (equals_in_any_case(table.columns[i], name))
      return std::optional(LogColumn{i, table.columns[i], plain_name(name).unit});
  }
  const std::vector<std::string_view> known(table.columns.begin(), table.columns.end());
  return table.error(fmt::format("has no column {} for the {}{}; its columns are: {}", in_quotes(name), role,
                                 did_you_mean(name, known), fmt::join(table.columns, ", ")));
}

Error missing_role(const LogTable& table, std::string_view what, std::string_view role) {
  Error error = table.error(
      fmt::format("has no column for {}; say which one it is with {} {}=NAME; its columns are: {}", what,
                  kOption, role, fmt::join(table.columns, ", ")));
  error.option = "column";
  return error;
}

std::string_view name_of_unit(SimDuration unit) {
  std::string_view name;  // the longest one
  for (const Unit& one : kUnits) {
    if (one.duration == unit && one.name.size() > name.size()) name = one.name;
  }
  return name;
}

}  // namespace

std::vector<std::string> FaultColumns::described() const {
  std::vector<std::string> texts = {"node: " + node.name, "start: " + start.name};
  if (event) texts.push_back("start or end: " + event->name);
  if (end) texts.push_back("end: " + end->name);
  if (duration)
    texts.push_back(
        fmt::format("duration: {} (numbers are {})", duration->name, name_of_unit(duration->unit)));
  if (cause) texts.push_back("cause: " + cause->name);
  return texts;
}

std::vector<std::string> FaultColumns::unused(const LogTable& table) const {
  std::vector<bool> is_used(table.columns.size(), false);
  for (const auto& column : {std::optional(node), std::optional(start), event, end, duration, cause, state}) {
    if (column) is_used[column->index] = true;
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < is_used.size(); ++i) {
    if (!is_used[i] && !table.columns[i].empty()) names.push_back(table.columns[i]);
  }
  return names;
}

Result<FaultColumns> find_fault_columns(const LogTable& table, const RoleNames& named) {
  std::array<std::optional<LogColumn>, 5> found;
  for (std::size_t role = 0; role < found.size(); ++role) {
    const auto name = named.find(std::string(kFaultRoles[role]));
    if (name != named.end() && name->second.empty()) continue;  // to be left alone
    if (name == named.end()) {
      found[role] = first_of(table.columns, kRoleNames[role]);
    } else {
      GOODPUT_TRY(found[role], named_column(table, name->first, name->second));
    }
  }
  if (!found[0]) return missing_role(table, "the node", "node");
  if (!found[1]) return missing_role(table, "the start of a fault", "start");
  FaultColumns columns{*found[0], *found[1], found[2], found[3], found[4]};
  columns.state = find_column_called(table.columns, "state");
  // "down_h" beside a start is how long; beside "up" it is when.
  if (!columns.end && !columns.duration && !named.contains("duration")) {
    const auto down = find_column_called(table.columns, "down");
    if (down && down->index != columns.start.index) columns.duration = down;
  }
  if (!columns.end && !columns.duration) {
    GOODPUT_TRY(columns.event, find_event_column(table));
  }
  return columns;
}

bool are_fault_columns(const std::vector<std::string>& names) {
  return first_of(names, kNodeNames) && first_of(names, kStartNames) &&
         (first_of(names, kEndNames) || first_of(names, kDurationNames));
}

std::optional<LogColumn> find_column_called(const std::vector<std::string>& columns, std::string_view name) {
  return first_of(columns, {&name, 1});
}

}  // namespace goodput
