// What each receiver is sent, word for word.
#include "tools/alerting/alert_message.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "sim/base/json.h"
#include "tests/support/incident_case.h"

namespace goodput {
namespace {

Json payload(const AlertMessage& message, WebhookShape shape) {
  return Json::parse(payload_of(message, shape, "R0UTE"));
}

const AlertMessage kOpens{full_incident(), IncidentEvent::kOpens};
const AlertMessage kChanges{full_incident(), IncidentEvent::kChanges};
const AlertMessage kCloses{closed(full_incident()), IncidentEvent::kCloses};
const std::string kKey = "goodput-5d3f0c1e9a7b2468";

TEST_CASE("alert message: our own JSON") {
  Json expected = Json::parse(R"({
    "schema": "goodput.incident/1", "event": "opens", "key": "goodput-5d3f0c1e9a7b2468-opens",
    "incident_key": "goodput-5d3f0c1e9a7b2468",
    "incident": {
      "key": "goodput-5d3f0c1e9a7b2468", "job": "llama",
      "subject": {"type": "worker", "key": "worker:1:2"}, "state": "muted", "severity": "error",
      "sentence": "One slow worker costs this job 20.0 % of its time.",
      "opened_step": 340, "opened_at": {"run": 1, "step": 340}, "opened_s": 1714564800.25,
      "last_seen_at": {"run": 1, "step": 352}, "closed_at": null, "closed_s": null, "closed_by": null,
      "merged_into": null, "acknowledged": {"by": "ann", "at_s": 1714564900.0},
      "muted": {"by": "bob", "at_s": 1714564910.0, "until_s": 1714568510.0},
      "slowdown": 1.25, "cost_s_per_step": 2.5, "usd_per_day": 1228.8, "next_check": "clocks & <fans>",
      "evidence": [
        {"rule": "cause", "kind": "worker-fault", "severity": "warning", "since": {"run": 1, "step": 340},
         "holds": true},
        {"rule": "incomplete", "kind": "incomplete", "severity": "error", "since": {"run": 1, "step": 350},
         "holds": false}],
      "verdict": {
        "sentence": "One slow worker costs this job 20.0 % of its time.", "kind": "worker-fault",
        "subject": {"type": "worker", "key": "worker:1:2"},
        "workers": [{"dp": 1, "stage": 2, "rank": 48, "host": "n3"}], "link": null, "since_step": 336,
        "until_step": null, "pace": 1.5, "step_s": 12.5, "cost_s_per_step": 2.5, "share": 0.2, "gain": 1.25,
        "fix": ["worker=1:2"], "next_check": "clocks & <fans>"},
      "page": "http://here/incidents/goodput-5d3f0c1e9a7b2468"}})");
  CHECK(payload(kOpens, WebhookShape::kJson) == expected);
  expected["event"] = "closes";
  expected["key"] = kKey + "-closes";
  Json& incident = expected["incident"];
  incident["state"] = "closed";
  incident["closed_at"] = {{"run", 1}, {"step", 400}};
  incident["closed_s"] = 1714565400.25;
  incident["evidence"][0]["holds"] = false;
  CHECK(payload(kCloses, WebhookShape::kJson) == expected);
}

TEST_CASE("alert message: what is unknown is null, not zero") {
  const Json bare = payload({Incident{}, IncidentEvent::kOpens}, WebhookShape::kJson).at("incident");
  for (const char* name : {"slowdown", "cost_s_per_step", "usd_per_day", "page", "closed_s", "closed_by",
                           "acknowledged", "muted"})
    CHECK_MESSAGE(bare.at(name).is_null(), name);
  for (const char* name : {"cost_s_per_step", "step_s", "share", "gain", "pace"})
    CHECK_MESSAGE(bare.at("verdict").at(name).is_null(), name);
}

TEST_CASE("alert message: Slack") {
  Json expected = Json::parse(R"({
    "text": "llama: new incident: One slow worker costs this job 20.0 % of its time.",
    "blocks": [
      {"type": "header", "text": {"type": "plain_text", "text": "llama: new incident"}},
      {"type": "section", "text": {"type": "mrkdwn", "text":
        "One slow worker costs this job 20.0 % of its time.\nCost: 2.5 s per step, 1229 USD per day\nNext: clocks &amp; &lt;fans&gt;\n<http://here/incidents/goodput-5d3f0c1e9a7b2468|Open the incident page>"}},
      {"type": "context", "elements": [{"type": "plain_text", "text": "error, goodput-5d3f0c1e9a7b2468-opens"}]}]})");
  CHECK(payload(kOpens, WebhookShape::kSlack) == expected);
  CHECK(payload(kChanges, WebhookShape::kSlack).at("text") ==
        "llama: incident changed: One slow worker costs this job 20.0 % of its time.");
  CHECK(payload(kCloses, WebhookShape::kSlack).at("text") ==
        "llama: incident closed: One slow worker costs this job 20.0 % of its time.");
}

TEST_CASE(
    "alert message: PagerDuty triggers when an incident opens or changes, and resolves when it closes") {
  Json expected = Json::parse(R"json({
    "routing_key": "R0UTE", "event_action": "trigger", "dedup_key": "goodput-5d3f0c1e9a7b2468",
    "client": "goodput monitor",
    "payload": {
      "summary": "llama: One slow worker costs this job 20.0 % of its time.", "source": "n3",
      "severity": "error", "timestamp": "2024-05-01T12:00:00.250Z", "component": "worker:1:2",
      "group": "llama", "class": "worker-fault", "custom_details": {}},
    "client_url": "http://here/incidents/goodput-5d3f0c1e9a7b2468",
    "links": [{"href": "http://here/incidents/goodput-5d3f0c1e9a7b2468", "text": "incident page"}]})json");
  expected["payload"]["custom_details"] = payload(kOpens, WebhookShape::kJson).at("incident");
  CHECK(payload(kOpens, WebhookShape::kPagerDuty) == expected);
  CHECK(payload(kChanges, WebhookShape::kPagerDuty).at("event_action") == "trigger");
  const Json closes = payload(kCloses, WebhookShape::kPagerDuty);
  CHECK(closes.at("event_action") == "resolve");
  CHECK(closes.at("dedup_key") == kKey);
  CHECK(closes.at("payload").at("timestamp") == "2024-05-01T12:10:00.250Z");
}

TEST_CASE("alert message: Alertmanager, whose labels stay the same as long as the incident lasts") {
  Json expected = Json::parse(R"([{
    "labels": {"alertname": "cause", "job": "llama", "severity": "warning",
               "incident_key": "goodput-5d3f0c1e9a7b2468"},
    "annotations": {"summary": "One slow worker costs this job 20.0 % of its time.",
                    "description": "clocks & <fans>", "subject": "worker:1:2", "cause": "worker-fault",
                    "rank": "48", "host": "n3", "cost": "2.5 s per step, 1229 USD per day",
                    "fix": "worker=1:2"},
    "startsAt": "2024-05-01T12:00:00.250Z", "endsAt": "2025-05-01T12:00:00.250Z",
    "generatorURL": "http://here/incidents/goodput-5d3f0c1e9a7b2468"}])");
  CHECK(payload(kOpens, WebhookShape::kAlertmanager) == expected);
  Incident wider = full_incident();
  wider.verdict.subject = {"host", "host:n3"};
  wider.severity = AlertSeverity::kCritical;
  CHECK(payload({wider, IncidentEvent::kChanges}, WebhookShape::kAlertmanager)[0].at("labels") ==
        expected[0]["labels"]);
  expected[0]["endsAt"] = "2024-05-01T12:10:00.250Z";
  CHECK(payload(kCloses, WebhookShape::kAlertmanager) == expected);
}

TEST_CASE("alert message: names with quotes, markup, control characters and broken UTF-8 stay data") {
  Incident incident = full_incident();
  incident.job = "a\"b\\<!channel>\n\x1b[31m\xff";
  incident.verdict.workers[0].host = "</script>&\x01";
  for (const WebhookShape shape :
       {WebhookShape::kJson, WebhookShape::kSlack, WebhookShape::kPagerDuty, WebhookShape::kAlertmanager}) {
    const std::string body = payload_of({incident, IncidentEvent::kOpens}, shape, "");
    CHECK(Json::accept(body));
    CHECK(std::ranges::none_of(body, [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
  }
  CHECK(payload({incident, IncidentEvent::kOpens}, WebhookShape::kJson).at("incident").at("job") ==
        "a\"b\\<!channel>\n\x1b[31m\xef\xbf\xbd");
  CHECK(payload({incident, IncidentEvent::kOpens}, WebhookShape::kSlack)
            .at("text")
            .get<std::string>()
            .find("<!channel>") == std::string::npos);
  const std::string line = line_of({incident, IncidentEvent::kOpens});
  CHECK(std::ranges::none_of(line, [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
  CHECK(line.find("a\"b\\<!channel>\\x0a\\x1b[31m") != std::string::npos);
}

TEST_CASE("alert message: texts are cut to what a receiver takes, at a whole character") {
  Incident incident = full_incident();
  incident.verdict.sentence.clear();
  for (int i = 0; i < 2000; ++i) incident.verdict.sentence += "\xc3\xa4";
  incident.job = std::string(300, 'j');
  const Json slack = payload({incident, IncidentEvent::kOpens}, WebhookShape::kSlack);
  CHECK(slack.at("blocks")[0].at("text").at("text").get<std::string>().size() == 150);
  CHECK(slack.at("blocks")[1].at("text").at("text").get<std::string>().size() < 3000);
  incident.verdict.sentence = incident.verdict.next_check =
      std::string(2000, '&');  // five times as long for Slack
  const Json escaped = payload({incident, IncidentEvent::kOpens}, WebhookShape::kSlack);
  const auto text = escaped.at("blocks")[1].at("text").at("text").get<std::string>();
  CHECK(text.size() < 3000);
  CHECK(text.find("&amp;...\n") != std::string::npos);
  incident = full_incident();
  incident.job = std::string(300, 'j');
  for (int i = 0; i < 2000; ++i) incident.verdict.sentence += "\xc3\xa4";
  const auto summary = payload({incident, IncidentEvent::kOpens}, WebhookShape::kPagerDuty)
                           .at("payload")
                           .at("summary")
                           .get<std::string>();
  CHECK(summary.size() <= 1024);
  CHECK(summary.size() > 1020);
  CHECK(summary.find("\xef\xbf\xbd") == std::string::npos);
}

TEST_CASE("alert message: the line for people") {
  CHECK(
      line_of(kOpens) ==
      "incident goodput-5d3f0c1e9a7b2468 opens at step 340: llama: One slow worker costs this job 20.0 % of "
      "its time. Cost: 2.5 s per step, 1229 USD per day. Next: clocks & <fans>. "
      "http://here/incidents/goodput-5d3f0c1e9a7b2468");
  CHECK(line_of(kChanges).find("incident goodput-5d3f0c1e9a7b2468 changes at step 352: llama: One slow") ==
        0);
  CHECK(line_of(kCloses) ==
        "incident goodput-5d3f0c1e9a7b2468 closes at step 400: llama: One slow worker costs this job 20.0 % "
        "of its time. http://here/incidents/goodput-5d3f0c1e9a7b2468");
  Incident ended = closed(full_incident());
  ended.closed_by = "cleo";
  CHECK(line_of({ended, IncidentEvent::kCloses}).find("of its time. Ended by cleo. http") !=
        std::string::npos);
  ended.closed_by.clear();
  ended.merged_into = "goodput-1";
  CHECK(line_of({ended, IncidentEvent::kCloses}).find("of its time. Merged into incident goodput-1. http") !=
        std::string::npos);
  // Nothing is known of what silence costs per step.
  Incident silent = full_incident();
  silent.verdict.cost.reset();
  silent.usd_per_day.reset();
  CHECK(line_of({silent, IncidentEvent::kOpens}).find("Cost") == std::string::npos);
}

TEST_CASE("alert message: each message of an incident has a key of its own, the same when it is sent again") {
  CHECK(message_key(kOpens) == kKey + "-opens");
  CHECK(message_key(kCloses) == kKey + "-closes");
  Incident wider = full_incident();
  wider.verdict.subject = {"host", "host:n3"};
  const std::string key = message_key(kChanges);
  CHECK(key.find(kKey + "-changes-") == 0);
  CHECK(message_key(kChanges) == key);
  CHECK(message_key({wider, IncidentEvent::kChanges}) != key);
}

}  // namespace
}  // namespace goodput
