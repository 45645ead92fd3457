#include "tools/alerting/alert_message.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <ctime>

#include "sim/analysis/verdict_json.h"
#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr double kYearS = 365.0 * 24 * 3600;

std::string dumped(const OrderedJson& json) {
  return json.dump();
}

std::string_view event_of(const AlertMessage& message) {
  return message.closes ? "closes" : "opens";
}

std::string_view severity_of(const AlertMessage& message) {
  return kAlertSeverities[static_cast<std::size_t>(message.alert.severity)];
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

OrderedJson or_null_json(const auto& value) {
  return value ? OrderedJson(*value) : OrderedJson();
}

OrderedJson step_json(const StepId& id) {
  return {{"run", id.run}, {"step", id.step}};
}

OrderedJson worker_json(const WorkerPlace& place) {
  return {{"dp_rank", place.dp_rank},
          {"stage", place.stage},
          {"rank", place.rank < 0 ? OrderedJson() : OrderedJson(place.rank)},
          {"host", place.host.empty() ? OrderedJson() : OrderedJson(place.host)}};
}

// Both messages of an alert say the same of it, but for its end.
OrderedJson alert_json(const AlertMessage& message) {
  const Alert& alert = message.alert;
  return {{"id", alert.id},
          {"job", alert.job},
          {"rule", alert.rule},
          {"severity", severity_of(message)},
          {"opened_at", step_json(alert.opened_at)},
          {"opened_s", alert.opened_s},
          {"closed_at", alert.closed_at ? step_json(*alert.closed_at) : OrderedJson()},
          {"closed_s", or_null_json(alert.closed_s)},
          {"slowdown", alert.slowdown},
          {"cause", alert.cause.empty() ? OrderedJson() : OrderedJson(alert.cause)},
          {"worker", alert.worker ? worker_json(*alert.worker) : OrderedJson()},
          {"worker_slowdown", alert.worker_slowdown},
          {"cost_s_per_step", alert.cost_s_per_step},
          {"usd_per_day", or_null_json(alert.usd_per_day)},
          {"summary", alert.summary},
          {"next_check", alert.next_check},
          {"fix", alert.fix},
          {"verdict", verdict_json(alert.verdict)},
          {"page", alert.page.empty() ? OrderedJson() : OrderedJson(alert.page)}};
}

OrderedJson plain_json(const AlertMessage& message) {
  return {{"schema", "goodput.alert/1"},
          {"event", event_of(message)},
          {"key", message_key(message)},
          {"alert_key", alert_key(message.alert)},
          {"alert", alert_json(message)}};
}

// "2.50 s a step, 1228.80 USD a day".
std::string cost_text(const Alert& alert) {
  std::string text;
  if (alert.cost_s_per_step > 0) text = fmt::format("{:.2f} s a step", alert.cost_s_per_step);
  if (alert.usd_per_day)
    text += fmt::format("{}{:.2f} USD a day", text.empty() ? "" : ", ", *alert.usd_per_day);
  return text;
}

std::string headline(const AlertMessage& message) {
  return fmt::format("{}: {} {}", message.alert.job, message.alert.rule,
                     message.closes ? "is over" : "needs a look");
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
  const Alert& alert = message.alert;
  std::string text = slack_text(alert.summary, kSection / 2);
  if (const std::string cost = cost_text(alert); !cost.empty()) text += "\nCost: " + cost;
  if (!message.closes && !alert.next_check.empty())
    text += "\nLook at: " + slack_text(alert.next_check, kSection / 4);
  if (!alert.page.empty()) text += fmt::format("\n<{}|Open its page>", slack_text(alert.page));
  const OrderedJson header = {
      {"type", "header"}, {"text", {{"type", "plain_text"}, {"text", at_most(headline(message), kHeader)}}}};
  const OrderedJson section = {{"type", "section"}, {"text", {{"type", "mrkdwn"}, {"text", text}}}};
  const OrderedJson context = {
      {"type", "context"},
      {"elements",
       {{{"type", "plain_text"},
         {"text", fmt::format("{}, {}", severity_of(message), message_key(message))}}}}};
  return {{"text", slack_text(headline(message) + ": " + alert.summary, kSection / 2)},
          {"blocks", OrderedJson::array({header, section, context})}};
}

OrderedJson pagerduty_json(const AlertMessage& message, const std::string& routing_key) {
  constexpr std::size_t kSummary = 1024;
  const Alert& alert = message.alert;
  OrderedJson json = {{"routing_key", routing_key},
                      {"event_action", message.closes ? "resolve" : "trigger"},
                      {"dedup_key", alert_key(alert)},
                      {"client", "goodput monitor"}};
  OrderedJson payload = {
      {"summary", at_most(alert.job + ": " + alert.summary, kSummary)},
      {"source", alert.worker && !alert.worker->host.empty() ? alert.worker->host : alert.job},
      {"severity", severity_of(message)},
      {"timestamp", rfc3339(message.closes ? alert.closed_s.value_or(alert.opened_s) : alert.opened_s)},
      {"component", alert.worker ? describe(*alert.worker) : "the whole job"},
      {"group", alert.job},
      {"class", alert.cause.empty() ? alert.rule : alert.cause},
      {"custom_details", alert_json(message)}};
  json["payload"] = std::move(payload);
  if (!alert.page.empty()) {
    json["client_url"] = alert.page;
    json["links"] = OrderedJson::array({{{"href", alert.page}, {"text", "page of the job"}}});
  }
  return json;
}

// Labels are what an alert is known by, so both messages have the same.
OrderedJson alertmanager_json(const AlertMessage& message) {
  const Alert& alert = message.alert;
  OrderedJson labels = {{"alertname", alert.rule},
                        {"job", alert.job},
                        {"severity", severity_of(message)},
                        {"alert_key", alert_key(alert)}};
  if (!alert.cause.empty()) labels["cause"] = alert.cause;
  if (alert.worker) {
    labels["worker"] = fmt::format("{}:{}", alert.worker->dp_rank, alert.worker->stage);
    if (alert.worker->rank >= 0) labels["rank"] = std::to_string(alert.worker->rank);
    if (!alert.worker->host.empty()) labels["host"] = alert.worker->host;
  }
  OrderedJson annotations = {{"summary", alert.summary}, {"description", alert.next_check}};
  if (const std::string cost = cost_text(alert); !cost.empty()) annotations["cost"] = cost;
  if (!alert.fix.empty()) annotations["fix"] = fmt::format("{}", fmt::join(alert.fix, " "));
  // Without an end it would be over after the receiver's resolve_timeout, for it is sent once.
  // A clock that was set back ends nothing before it began.
  const double end_s = message.closes ? std::max(alert.closed_s.value_or(alert.opened_s), alert.opened_s)
                                      : alert.opened_s + kYearS;
  OrderedJson json = {{"labels", std::move(labels)},
                      {"annotations", std::move(annotations)},
                      {"startsAt", rfc3339(alert.opened_s)},
                      {"endsAt", rfc3339(end_s)}};
  if (!alert.page.empty()) json["generatorURL"] = alert.page;
  return OrderedJson::array({std::move(json)});
}

}  // namespace

std::string alert_key(const Alert& alert) {
  Hash hash;
  hash.add(std::string_view(alert.job));
  hash.add(std::string_view(alert.rule));
  hash.add(alert.opened_s);
  return fmt::format("goodput-{}-{:016x}", alert.id, hash.value());
}

std::string message_key(const AlertMessage& message) {
  return fmt::format("{}-{}", alert_key(message.alert), event_of(message));
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
  const Alert& alert = message.alert;
  const StepId at = message.closes ? alert.closed_at.value_or(alert.opened_at) : alert.opened_at;
  std::string line = fmt::format("alert {} {} at step {}: {}: {}: {}", alert.id, event_of(message), at.step,
                                 alert.job, alert.rule, alert.summary);
  if (const std::string cost = cost_text(alert); !cost.empty()) line += "; " + cost;
  if (!message.closes && !alert.next_check.empty()) line += "; next: " + alert.next_check;
  if (!alert.page.empty()) line += "; " + alert.page;
  return on_one_line(line);
}

std::vector<std::string> environment_of(const AlertMessage& message) {
  const Alert& alert = message.alert;
  std::vector<std::string> all;
  const auto add = [&all](std::string_view name, std::string_view value) {
    all.push_back(fmt::format("GOODPUT_ALERT_{}={}", name, on_one_line(value)));
  };
  add("EVENT", event_of(message));
  add("KEY", message_key(message));
  add("ID", std::to_string(alert.id));
  add("JOB", alert.job);
  add("RULE", alert.rule);
  add("SEVERITY", severity_of(message));
  add("STEP",
      std::to_string((message.closes ? alert.closed_at.value_or(alert.opened_at) : alert.opened_at).step));
  add("SLOWDOWN", fmt::format("{}", alert.slowdown));
  add("CAUSE", alert.cause);
  add("WORKER", alert.worker ? fmt::format("{}:{}", alert.worker->dp_rank, alert.worker->stage) : "");
  add("RANK", alert.worker && alert.worker->rank >= 0 ? std::to_string(alert.worker->rank) : "");
  add("HOST", alert.worker ? alert.worker->host : "");
  add("COST_S_PER_STEP", fmt::format("{}", alert.cost_s_per_step));
  add("USD_PER_DAY", alert.usd_per_day ? fmt::format("{}", *alert.usd_per_day) : "");
  add("SUMMARY", alert.summary);
  add("NEXT_CHECK", alert.next_check);
  add("FIX", fmt::format("{}", fmt::join(alert.fix, " ")));
  add("PAGE", alert.page);
  return all;
}

}  // namespace goodput
