#include "tools/alerting/alert_message.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <ctime>

#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/live/incident_json.h"

namespace goodput {
namespace {

constexpr double kYearS = 365.0 * 24 * 3600;

std::string dumped(const OrderedJson& json) {
  return json.dump();
}

std::string_view event_of(const AlertMessage& message) {
  return kIncidentEvents[static_cast<std::size_t>(message.event)];
}

bool closes(const AlertMessage& message) {
  return message.event == IncidentEvent::kCloses;
}

std::string_view name_of(AlertSeverity severity) {
  return kAlertSeverities[static_cast<std::size_t>(severity)];
}

// The slowest worker that it is about.
const Verdict::Worker* worker_of(const Incident& incident) {
  return incident.verdict.workers.empty() ? nullptr : &incident.verdict.workers.front();
}

// RFC 3339, in whole milliseconds of UTC.
std::string rfc3339(double unix_s) {
  const auto ms = static_cast<std::int64_t>(std::llround(unix_s * 1000));
  const std::time_t seconds = ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, ms % 1000);
}

// Cut, at a whole character, to what a receiver takes.
std::string at_most(const std::string& text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  std::size_t end = bytes - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

OrderedJson plain_json(const AlertMessage& message) {
  return {{"schema", "goodput.incident/1"},
          {"event", event_of(message)},
          {"key", message_key(message)},
          {"incident_key", message.incident.key},
          {"incident", incident_json(message.incident, message.incident.opened_s)}};
}

// `6.76 s per step, 1071 USD per day`
std::string cost_text(const Incident& incident) {
  std::string text;
  if (incident.verdict.cost) text = fmt::format("{:.3g} s per step", incident.verdict.cost->s_per_step);
  if (incident.usd_per_day)
    text += fmt::format("{}{:.0f} USD per day", text.empty() ? "" : ", ", *incident.usd_per_day);
  return text;
}

std::string headline(const AlertMessage& message) {
  const char* what = "";
  switch (message.event) {
    case IncidentEvent::kOpens:
      what = "new incident";
      break;
    case IncidentEvent::kChanges:
      what = "incident changed";
      break;
    case IncidentEvent::kCloses:
      what = "incident closed";
      break;
  }
  return fmt::format("{}: {}", message.incident.job, what);
}

// `Ended by ann.`; empty if it is open, or closed because it is gone.
std::string end_text(const Incident& incident) {
  if (!incident.closed_by.empty()) return fmt::format("Ended by {}.", incident.closed_by);
  if (!incident.merged_into.empty()) return fmt::format("Merged into incident {}.", incident.merged_into);
  return "";
}

std::string sentence_of(const AlertMessage& message) {
  const std::string end = closes(message) ? end_text(message.incident) : "";
  return message.incident.verdict.sentence + (end.empty() ? "" : " " + end);
}

// What Slack would take for a link, a mention or the begin of an entity.
std::string slack_text(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else
      safe += c;
  }
  return safe;
}

// The same, no longer than that.
std::string slack_text(const std::string& text, std::size_t bytes) {
  std::string safe = slack_text(text);
  for (std::size_t kept = bytes; safe.size() > bytes; kept -= kept / 4)
    safe = slack_text(at_most(text, kept));
  return safe;
}

OrderedJson slack_json(const AlertMessage& message) {
  constexpr std::size_t kHeader = 150;
  constexpr std::size_t kSection = 2900;  // of 3000
  const Incident& incident = message.incident;
  std::string text = slack_text(sentence_of(message), kSection / 2);
  if (!closes(message)) {
    if (const std::string cost = cost_text(incident); !cost.empty()) text += "\nCost: " + cost;
    if (!incident.verdict.next_check.empty())
      text += "\nNext: " + slack_text(incident.verdict.next_check, kSection / 4);
  }
  if (!incident.page.empty()) text += fmt::format("\n<{}|Open the incident page>", slack_text(incident.page));
  const OrderedJson header = {
      {"type", "header"}, {"text", {{"type", "plain_text"}, {"text", at_most(headline(message), kHeader)}}}};
  const OrderedJson section = {{"type", "section"}, {"text", {{"type", "mrkdwn"}, {"text", text}}}};
  const OrderedJson context = {
      {"type", "context"},
      {"elements",
       {{{"type", "plain_text"},
         {"text", fmt::format("{}, {}", name_of(incident.severity), message_key(message))}}}}};
  return {{"text", slack_text(headline(message) + ": " + sentence_of(message), kSection / 2)},
          {"blocks", OrderedJson::array({header, section, context})}};
}

OrderedJson pagerduty_json(const AlertMessage& message, const std::string& routing_key) {
  constexpr std::size_t kSummary = 1024;
  const Incident& incident = message.incident;
  const Verdict::Worker* worker = worker_of(incident);
  OrderedJson json = {{"routing_key", routing_key},
                      {"event_action", closes(message) ? "resolve" : "trigger"},
                      {"dedup_key", incident.key},
                      {"client", "goodput monitor"}};
  OrderedJson payload = {{"summary", at_most(incident.job + ": " + sentence_of(message), kSummary)},
                         {"source", worker != nullptr && !worker->host.empty() ? worker->host : incident.job},
                         {"severity", name_of(incident.severity)},
                         {"timestamp", rfc3339(closes(message) ? incident.closed_s.value_or(incident.opened_s)
                                                               : incident.opened_s)},
                         {"component", incident.verdict.subject.key},
                         {"group", incident.job},
                         {"class", incident.verdict.kind},
                         {"custom_details", incident_json(incident, incident.opened_s)}};
  json["payload"] = std::move(payload);
  if (!incident.page.empty()) {
    json["client_url"] = incident.page;
    json["links"] = OrderedJson::array({{{"href", incident.page}, {"text", "incident page"}}});
  }
  return json;
}

// Labels identify an alert to Alertmanager, so they are those of the moment it opened: whatever is learned
// later is an annotation.
OrderedJson alertmanager_json(const AlertMessage& message) {
  const Incident& incident = message.incident;
  const IncidentEvidence first = incident.evidence.empty() ? IncidentEvidence{} : incident.evidence.front();
  const OrderedJson labels = {{"alertname", first.rule},
                              {"job", incident.job},
                              {"severity", name_of(first.severity)},
                              {"incident_key", incident.key}};
  const Verdict& verdict = incident.verdict;
  OrderedJson annotations = {{"summary", sentence_of(message)},
                             {"description", verdict.next_check},
                             {"subject", verdict.subject.key},
                             {"cause", verdict.kind}};
  if (const std::string cost = cost_text(incident); !cost.empty()) annotations["cost"] = cost;
  if (!verdict.fix.empty()) annotations["fix"] = fmt::format("{}", fmt::join(verdict.fix, " "));
  if (const Verdict::Worker* worker = worker_of(incident)) {
    if (worker->rank >= 0) annotations["rank"] = std::to_string(worker->rank);
    if (!worker->host.empty()) annotations["host"] = worker->host;
  }
  // Without an end it would be over after the receiver's resolve_timeout, because it is sent once.
  // A clock that was set back ends nothing before it began.
  const double end_s = closes(message)
                           ? std::max(incident.closed_s.value_or(incident.opened_s), incident.opened_s)
                           : incident.opened_s + kYearS;
  OrderedJson json = {{"labels", labels},
                      {"annotations", std::move(annotations)},
                      {"startsAt", rfc3339(incident.opened_s)},
                      {"endsAt", rfc3339(end_s)}};
  if (!incident.page.empty()) json["generatorURL"] = incident.page;
  return OrderedJson::array({std::move(json)});
}

StepId step_of(const AlertMessage& message) {
  const Incident& incident = message.incident;
  if (closes(message)) return incident.closed_at.value_or(incident.last_seen);
  return message.event == IncidentEvent::kOpens ? incident.opened_at : incident.last_seen;
}

}  // namespace

std::string message_key(const AlertMessage& message) {
  const Incident& incident = message.incident;
  if (message.event != IncidentEvent::kChanges) return fmt::format("{}-{}", incident.key, event_of(message));
  Hash hash;
  hash.add(std::string_view(incident.verdict.subject.key));
  hash.add(std::string_view(incident.verdict.kind));
  hash.add(static_cast<int>(incident.severity));
  return fmt::format("{}-changes-{:08x}", incident.key, hash.value() >> 32);
}

std::string payload_of(const AlertMessage& message, WebhookShape shape, const std::string& routing_key) {
  switch (shape) {
    case WebhookShape::kJson:
      return dumped(plain_json(message));
    case WebhookShape::kSlack:
      return dumped(slack_json(message));
    case WebhookShape::kPagerDuty:
      return dumped(pagerduty_json(message, routing_key));
    case WebhookShape::kAlertmanager:
      return dumped(alertmanager_json(message));
  }
  return {};
}

std::string line_of(const AlertMessage& message) {
  const Incident& incident = message.incident;
  std::string line = fmt::format("incident {} {} at step {}: {}: {}", incident.key, event_of(message),
                                 step_of(message).step, incident.job, sentence_of(message));
  if (!closes(message)) {
    if (const std::string cost = cost_text(incident); !cost.empty()) line += fmt::format(" Cost: {}.", cost);
    if (!incident.verdict.next_check.empty()) line += fmt::format(" Next: {}.", incident.verdict.next_check);
  }
  if (!incident.page.empty()) line += " " + incident.page;
  return on_one_line(line);
}

std::vector<std::string> environment_of(const AlertMessage& message) {
  const Incident& incident = message.incident;
  const Verdict& verdict = incident.verdict;
  const Verdict::Worker* worker = worker_of(incident);
  const auto optional_number = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : "";
  };
  std::vector<std::string> all;
  const auto add = [&all](std::string_view name, std::string_view value) {
    all.push_back(fmt::format("GOODPUT_ALERT_{}={}", name, on_one_line(value)));
  };
  add("EVENT", event_of(message));
  add("KEY", message_key(message));
  add("INCIDENT", incident.key);
  add("JOB", incident.job);
  add("RULE", incident.evidence.empty() ? "" : incident.evidence.front().rule);
  add("SEVERITY", name_of(incident.severity));
  add("STEP", std::to_string(step_of(message).step));
  add("SUBJECT", verdict.subject.key);
  add("SLOWDOWN", optional_number(incident.slowdown));
  add("CAUSE", verdict.kind);
  add("WORKER", worker != nullptr ? fmt::format("{}:{}", worker->dp, worker->stage) : "");
  add("RANK", worker != nullptr && worker->rank >= 0 ? std::to_string(worker->rank) : "");
  add("HOST", worker != nullptr ? worker->host : "");
  add("COST_S_PER_STEP",
      optional_number(verdict.cost ? std::optional(verdict.cost->s_per_step) : std::nullopt));
  add("USD_PER_DAY", optional_number(incident.usd_per_day));
  add("SUMMARY", sentence_of(message));
  add("NEXT_CHECK", verdict.next_check);
  add("FIX", fmt::format("{}", fmt::join(verdict.fix, " ")));
  add("PAGE", incident.page);
  return all;
}

}  // namespace goodput
