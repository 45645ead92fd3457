// What each receiver is sent, word for word.
#include "tools/alerting/alert_message.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "sim/base/json.h"
#include "tests/support/alert_case.h"

namespace goodput {
namespace {

Json payload(const AlertMessage& message, WebhookShape shape) {
  return Json::parse(payload_of(message, shape, "R0UTE"));
}

const AlertMessage kOpens{full_alert()};
const AlertMessage kCloses{closed(full_alert()), true};

TEST_CASE("alert message: our own JSON") {
  const std::string key = alert_key(kOpens.alert);
  CHECK(key.find("goodput-12-") == 0);
  CHECK(key.size() == 11 + 16);
  Json expected = Json::parse(R"({
    "schema": "goodput.alert/1", "event": "opens", "key": "", "alert_key": "",
    "alert": {
      "id": 12, "job": "llama", "rule": "straggling", "severity": "error",
      "opened_at": {"run": 1, "step": 340}, "opened_s": 1714564800.25, "closed_at": null, "closed_s": null,
      "slowdown": 1.25, "cause": "worker-fault",
      "worker": {"dp_rank": 1, "stage": 2, "rank": 48, "host": "n3"}, "worker_slowdown": 1.5,
      "cost_s_per_step": 2.5, "usd_per_day": 1228.8,
      "summary": "S is 1.25", "next_check": "clocks & <fans>", "fix": ["worker=1:2"], "verdict": null,
      "page": "http://here/jobs/llama"}})");
  expected["key"] = key + "-opens";
  expected["alert_key"] = key;
  CHECK(payload(kOpens, WebhookShape::kJson) == expected);
  expected["event"] = "closes";
  expected["key"] = key + "-closes";
  expected["alert"]["closed_at"] = {{"run", 1}, {"step", 400}};
  expected["alert"]["closed_s"] = 1714565400.25;
  CHECK(payload(kCloses, WebhookShape::kJson) == expected);
}

TEST_CASE("alert message: what is not known is null") {
  Alert alert;
  alert.worker = WorkerPlace{0, 1, -1, ""};
  const Json bare = payload({alert}, WebhookShape::kJson).at("alert");
  CHECK(bare.at("worker") == Json{{"dp_rank", 0}, {"stage", 1}, {"rank", nullptr}, {"host", nullptr}});
  for (const char* name : {"cause", "usd_per_day", "page", "closed_s"}) CHECK(bare.at(name).is_null());
  alert.worker.reset();
  CHECK(payload({alert}, WebhookShape::kJson).at("alert").at("worker").is_null());
}

TEST_CASE("alert message: Slack") {
  const std::string key = alert_key(kOpens.alert);
  Json expected = Json::parse(R"({
    "text": "llama: straggling needs a look: S is 1.25",
    "blocks": [
      {"type": "header", "text": {"type": "plain_text", "text": "llama: straggling needs a look"}},
      {"type": "section", "text": {"type": "mrkdwn", "text":
        "S is 1.25\nCost: 2.50 s a step, 1228.80 USD a day\nLook at: clocks &amp; &lt;fans&gt;\n<http://here/jobs/llama|Open its page>"}},
      {"type": "context", "elements": [{"type": "plain_text", "text": ""}]}]})");
  expected["blocks"][2]["elements"][0]["text"] = "error, " + key + "-opens";
  CHECK(payload(kOpens, WebhookShape::kSlack) == expected);
  CHECK(payload(kCloses, WebhookShape::kSlack).at("text") == "llama: straggling is over: S is 1.25");
}

TEST_CASE("alert message: PagerDuty") {
  const std::string key = alert_key(kOpens.alert);
  Json expected = Json::parse(R"json({
    "routing_key": "R0UTE", "event_action": "trigger", "dedup_key": "", "client": "goodput monitor",
    "payload": {
      "summary": "llama: S is 1.25", "source": "n3", "severity": "error",
      "timestamp": "2024-05-01T12:00:00.250Z", "component": "dp 1 stage 2 (rank 48, host n3)", "group": "llama",
      "class": "worker-fault", "custom_details": {}},
    "client_url": "http://here/jobs/llama",
    "links": [{"href": "http://here/jobs/llama", "text": "page of the job"}]})json");
  expected["dedup_key"] = key;
  expected["payload"]["custom_details"] = payload(kOpens, WebhookShape::kJson).at("alert");
  CHECK(payload(kOpens, WebhookShape::kPagerDuty) == expected);
  const Json closes = payload(kCloses, WebhookShape::kPagerDuty);
  CHECK(closes.at("event_action") == "resolve");
  CHECK(closes.at("dedup_key") == key);
  CHECK(closes.at("payload").at("timestamp") == "2024-05-01T12:10:00.250Z");
}

TEST_CASE("alert message: Alertmanager, whose labels are the same when it opens and when it closes") {
  Json expected = Json::parse(R"([{
    "labels": {"alertname": "straggling", "job": "llama", "severity": "error", "alert_key": "",
               "cause": "worker-fault", "worker": "1:2", "rank": "48", "host": "n3"},
    "annotations": {"summary": "S is 1.25", "description": "clocks & <fans>",
                    "cost": "2.50 s a step, 1228.80 USD a day", "fix": "worker=1:2"},
    "startsAt": "2024-05-01T12:00:00.250Z", "endsAt": "2025-05-01T12:00:00.250Z",
    "generatorURL": "http://here/jobs/llama"}])");
  expected[0]["labels"]["alert_key"] = alert_key(kOpens.alert);
  CHECK(payload(kOpens, WebhookShape::kAlertmanager) == expected);
  expected[0]["endsAt"] = "2024-05-01T12:10:00.250Z";
  CHECK(payload(kCloses, WebhookShape::kAlertmanager) == expected);
}

TEST_CASE("alert message: names with quotes, markup, control characters and broken UTF-8 stay data") {
  Alert alert = full_alert();
  alert.job = "a\"b\\<!channel>\n\x1b[31m\xff";
  alert.worker->host = "</script>&\x01";
  for (const WebhookShape shape :
       {WebhookShape::kJson, WebhookShape::kSlack, WebhookShape::kPagerDuty, WebhookShape::kAlertmanager}) {
    const std::string body = payload_of({alert}, shape, "");
    CHECK(Json::accept(body));
    CHECK(std::ranges::none_of(body, [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
  }
  CHECK(payload({alert}, WebhookShape::kJson).at("alert").at("job") ==
        "a\"b\\<!channel>\n\x1b[31m\xef\xbf\xbd");
  CHECK(payload({alert}, WebhookShape::kSlack).at("text").get<std::string>().find("<!channel>") ==
        std::string::npos);
  const std::string line = line_of({alert});
  CHECK(std::ranges::none_of(line, [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
  CHECK(line.find("a\"b\\<!channel>\\x0a\\x1b[31m") != std::string::npos);
}

TEST_CASE("alert message: texts are cut to what a receiver takes, at a whole character") {
  Alert alert = full_alert();
  alert.summary.clear();
  for (int i = 0; i < 2000; ++i) alert.summary += "\xc3\xa4";
  alert.job = std::string(300, 'j');
  const Json slack = payload({alert}, WebhookShape::kSlack);
  CHECK(slack.at("blocks")[0].at("text").at("text").get<std::string>().size() == 150);
  CHECK(slack.at("blocks")[1].at("text").at("text").get<std::string>().size() < 3000);
  alert.summary = alert.next_check = std::string(2000, '&');  // five times as long for Slack
  const Json escaped = payload({alert}, WebhookShape::kSlack);
  const auto text = escaped.at("blocks")[1].at("text").at("text").get<std::string>();
  CHECK(text.size() < 3000);
  CHECK(text.find("&amp;...\n") != std::string::npos);
  alert = full_alert();
  alert.job = std::string(300, 'j');
  for (int i = 0; i < 2000; ++i) alert.summary += "\xc3\xa4";
  const auto summary =
      payload({alert}, WebhookShape::kPagerDuty).at("payload").at("summary").get<std::string>();
  CHECK(summary.size() <= 1024);
  CHECK(summary.size() > 1020);
  CHECK(summary.find("\xef\xbf\xbd") == std::string::npos);
}

TEST_CASE("alert message: the line for people") {
  CHECK(line_of(kOpens) ==
        "alert 12 opens at step 340: llama: straggling: S is 1.25; 2.50 s a step, 1228.80 USD a day; next: "
        "clocks "
        "& <fans>; http://here/jobs/llama");
  CHECK(line_of(kCloses) ==
        "alert 12 closes at step 400: llama: straggling: S is 1.25; 2.50 s a step, 1228.80 USD a day; "
        "http://here/jobs/llama");
}

TEST_CASE("alert message: keys differ between alerts, and are the same for both messages of one") {
  Alert other = full_alert();
  other.opened_s += 1;
  CHECK(alert_key(other) != alert_key(full_alert()));
  other = full_alert();
  other.job = "gpt";
  CHECK(alert_key(other) != alert_key(full_alert()));
  CHECK(alert_key(closed(full_alert())) == alert_key(full_alert()));
  CHECK(message_key(kOpens) != message_key(kCloses));
}

}  // namespace
}  // namespace goodput
