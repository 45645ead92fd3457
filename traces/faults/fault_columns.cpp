#include "traces/faults/fault_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string_view>

#include "sim/base/text.h"

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
constexpr Unit kUnits[] = {{"ms", kMillisecond}, {"milliseconds", kMillisecond},
                           {"s", kSecond},       {"sec", kSecond},
                           {"secs", kSecond},    {"second", kSecond},
                           {"seconds", kSecond}, {"min", kMinute},
                           {"mins", kMinute},    {"minutes", kMinute},
                           {"h", kHour},         {"hr", kHour},
                           {"hrs", kHour},       {"hours", kHour},
                           {"d", kDay},          {"days", kDay}};

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

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
constexpr std::string_view kNodeNames[] = {"node",     "nodename", "host",      "hostname", "nodeid",
                                           "hostid",   "machine",  "machineid", "server",   "instance",
                                           "nodelist", "nodes",    "hosts"};
constexpr std::string_view kStartNames[] = {
    "start",        "begin",       "starttime",  "timestart",  "begintime",   "startedat",  "faultstart",
    "failurestart", "outagestart", "downat",     "downsince",  "downfrom",    "failedat",   "failuretime",
    "failtime",     "faulttime",   "faultat",    "occurredat", "occurred",    "detectedat", "detected",
    "openedat",     "opened",      "reportedat", "createdat",  "probstarted", "from",       "timestamp",
    "datetime",     "eventtime",   "time",       "t",          "date",        "down"};
constexpr std::string_view kEndNames[] = {
    "end",       "finish",     "endtime",    "timeend",    "endedat",    "faultend",  "failureend",
    "outageend", "upat",       "repairedat", "repaired",   "fixedat",    "fixed",     "recoveredat",
    "recovered", "resolvedat", "resolved",   "restoredat", "returnedat", "clearedat", "closedat",
    "closed",    "probfixed",  "until",      "to",         "up"};
constexpr std::string_view kDurationNames[] = {
    "duration",     "downtime",   "repairtime", "timetorepair",   "ttr",      "mttr",   "repair",
    "recoverytime", "outagetime", "outage",     "outageduration", "timedown", "elapsed"};
constexpr std::string_view kCauseNames[] = {
    "cause", "rootcause", "reason",  "failuretype", "faulttype", "errortype", "category",   "component",
    "error", "fault",     "failure", "type",        "symptom",   "message",   "description"};
constexpr std::array<Names, 5> kRoleNames = {kNodeNames, kStartNames, kEndNames, kDurationNames, kCauseNames};

// The first of `names` that is a column.
std::optional<LogColumn> first_of(const std::vector<std::string>& columns, Names names) {
  for (const std::string_view name : names) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const PlainName plain = plain_name(columns[i]);
      if (plain.name == name) return LogColumn{i, columns[i], plain.unit};
    }
  }
  return std::nullopt;
}

Result<std::optional<LogColumn>> named_column(const LogTable& table, const std::string& role,
                                              const std::string& name) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i] == name) return std::optional(LogColumn{i, name, plain_name(name).unit});
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
  return unit == kMillisecond ? "milliseconds"
         : unit == kSecond    ? "seconds"
         : unit == kMinute    ? "minutes"
         : unit == kHour      ? "hours"
                              : "days";
}

}  // namespace

std::vector<std::string> FaultColumns::described() const {
  std::vector<std::string> texts = {"node: " + node.name, "start: " + start.name};
  if (end) texts.push_back("end: " + end->name);
  if (duration)
    texts.push_back(
        fmt::format("duration: {} (numbers are {})", duration->name, name_of_unit(duration->unit)));
  if (cause) texts.push_back("cause: " + cause->name);
  return texts;
}

Result<FaultColumns> find_fault_columns(const LogTable& table, const RoleNames& named) {
  std::array<std::optional<LogColumn>, 5> found;
  for (std::size_t role = 0; role < found.size(); ++role) {
    const auto name = named.find(std::string(kFaultRoles[role]));
    if (name == named.end()) {
      found[role] = first_of(table.columns, kRoleNames[role]);
    } else {
      GOODPUT_TRY(found[role], named_column(table, name->first, name->second));
    }
  }
  if (!found[0]) return missing_role(table, "the node", "node");
  if (!found[1]) return missing_role(table, "the start of a fault", "start");
  FaultColumns columns{*found[0], *found[1], found[2], found[3], found[4]};
  columns.state = find_column_called(table, "state");
  return columns;
}

bool are_fault_columns(const std::vector<std::string>& names) {
  return first_of(names, kNodeNames) && first_of(names, kStartNames) &&
         (first_of(names, kEndNames) || first_of(names, kDurationNames));
}

std::optional<LogColumn> find_column_called(const LogTable& table, std::string_view name) {
  return first_of(table.columns, {&name, 1});
}

}  // namespace goodput
