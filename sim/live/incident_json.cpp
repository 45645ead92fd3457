#include "sim/live/incident_json.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "sim/analysis/verdict_json.h"
#include "sim/base/json.h"

namespace goodput {
namespace {

OrderedJson number_json(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson text_json(const std::string& text) {
  return text.empty() ? OrderedJson(nullptr) : OrderedJson(text);
}

OrderedJson step_json(const StepId& id) {
  return {{"run", id.run}, {"step", id.step}};
}

OrderedJson evidence_json(const std::vector<IncidentEvidence>& evidence) {
  OrderedJson list = OrderedJson::array();
  for (const IncidentEvidence& one : evidence) {
    list.push_back({{"rule", one.rule},
                    {"kind", one.kind},
                    {"severity", kAlertSeverities[static_cast<std::size_t>(one.severity)]},
                    {"since", step_json(one.since)},
                    {"holds", one.holds}});
  }
  return list;
}

AlertSeverity severity_from(const Json& from) {
  const auto found = std::ranges::find(kAlertSeverities, from.get<std::string>());
  return static_cast<AlertSeverity>(
      found == std::end(kAlertSeverities) ? 1 : found - std::begin(kAlertSeverities));
}

}  // namespace

OrderedJson incident_json(const Incident& incident, double now_s) {
  const Verdict& verdict = incident.verdict;
  OrderedJson json = {
      {"key", incident.key},
      {"job", incident.job},
      {"subject", {{"type", verdict.subject.type}, {"key", verdict.subject.key}}},
      {"state", kIncidentStates[static_cast<std::size_t>(incident.state(now_s))]},
      {"severity", kAlertSeverities[static_cast<std::size_t>(incident.severity)]},
      {"sentence", verdict.sentence},
      {"opened_step", incident.opened_at.step},
      {"opened_at", step_json(incident.opened_at)},
      {"opened_s", number_json(incident.opened_s)},
      {"last_seen_at", step_json(incident.last_seen)},
      {"closed_at", incident.closed_at ? step_json(*incident.closed_at) : OrderedJson(nullptr)},
      {"closed_s", number_json(incident.closed_s)},
      {"closed_by", text_json(incident.closed_by)},
      {"merged_into", text_json(incident.merged_into)},
      {"acknowledged", nullptr},
      {"muted", nullptr},
      {"slowdown", number_json(incident.slowdown)},
      {"cost_s_per_step", number_json(verdict.cost ? std::optional(verdict.cost->s_per_step) : std::nullopt)},
      {"usd_per_day", number_json(incident.usd_per_day)},
      {"next_check", verdict.next_check},
      {"evidence", evidence_json(incident.evidence)},
      {"verdict", verdict_json(verdict)},
      {"page", text_json(incident.page)}};
  if (incident.acknowledged)
    json["acknowledged"] = {{"by", incident.acknowledged->by}, {"at_s", incident.acknowledged->at_s}};
  if (incident.muted) {
    json["muted"] = {
        {"by", incident.muted->by}, {"at_s", incident.muted->at_s}, {"until_s", incident.muted->until_s}};
  }
  return json;
}

std::string evidence_text(const std::vector<IncidentEvidence>& evidence) {
  return evidence_json(evidence).dump();
}

Result<std::vector<IncidentEvidence>> read_evidence(std::string_view text) {
  try {
    std::vector<IncidentEvidence> evidence;
    for (const Json& one : Json::parse(text)) {
      const Json& since = one.at("since");
      evidence.push_back({one.at("rule").get<std::string>(),
                          one.at("kind").get<std::string>(),
                          severity_from(one.at("severity")),
                          {since.at("run").get<std::int32_t>(), since.at("step").get<std::int64_t>()},
                          one.at("holds").get<bool>()});
    }
    return evidence;
  } catch (const JsonError&) {
    return Error{"contains damaged evidence of an incident"};
  }
}

}  // namespace goodput
