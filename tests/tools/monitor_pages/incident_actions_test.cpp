#include "tools/monitor_pages/incident_actions.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/json.h"
#include "tests/tools/monitor_pages/shown_monitor.h"
#include "tools/web/form.h"

namespace goodput {
namespace {

using testing::MadeUpJob;
using testing::ShownMonitor;

constexpr const char* kToken = "0123456789abcdef";

HttpRequest action_request(std::string path, std::string body, std::string_view type = kFormType) {
  HttpRequest request;
  request.method = "POST";
  request.path = std::move(path);
  request.headers["host"] = "localhost:8646";
  request.headers["authorization"] = std::string("Bearer ") + kToken;
  request.headers["content-type"] = std::string(type);
  request.headers["content-length"] = std::to_string(body.size());
  request.body = std::move(body);
  return request;
}

std::string location_of(const HttpResponse& response) {
  for (const auto& [name, value] : response.headers) {
    if (name == "Location") return value;
  }
  return "";
}

// A monitor in which people may act, behind its gate.
struct ActedMonitor {
  ShownMonitor monitor{{MadeUpJob{}}};
  std::string key = testing::incident_key_of(MadeUpJob{});
  std::string page = "/incidents/" + key;
  std::string api = "/api/v1" + page;

  ActedMonitor() { monitor.let_act(); }

  [[nodiscard]] HttpResponse send(const HttpRequest& request) {
    const AccessToken token{std::string(kToken)};
    if (const auto refusal = refuse_incident_action(token, request, {"https://goodput.example.org"}))
      return *refusal;
    return monitor.respond(request);
  }
  // The status, and what the JSON says is wrong.
  [[nodiscard]] std::pair<int, std::string> refused(const HttpRequest& request) {
    const Incident before = monitor.incident(key);
    const HttpResponse response = send(request);
    CHECK(monitor.actions.empty());
    CHECK(monitor.incident(key) == before);
    return {response.status, Json::parse(response.body).at("error").get<std::string>()};
  }
};

using Refused = std::pair<int, std::string>;

TEST_CASE("incident actions: a form acknowledges, mutes and ends, and leads back to the page") {
  ActedMonitor acted;
  const auto sent = [&](const std::string& form) {
    const HttpResponse response = acted.send(action_request(acted.page, form));
    CHECK(response.status == 303);
    CHECK(location_of(response) == acted.page);
  };
  sent("action=acknowledge&by=Ann+Lee");
  CHECK(acted.monitor.incident(acted.key).acknowledged == IncidentMark{"Ann Lee", acted.monitor.now_s});
  sent("action=mute&by=%20bob%20&for=4h");
  CHECK(acted.monitor.actions.back().mute_s == 4 * 3600);
  CHECK(acted.monitor.incident(acted.key).muted->by == "bob");
  sent("action=end&by=ann");
  CHECK(acted.monitor.incident(acted.key).closed_by == "ann");
}

TEST_CASE("incident actions: the API takes JSON and forms, and answers with the incident after it") {
  ActedMonitor acted;
  const auto sent = [&](const std::string& action, const std::string& body, std::string_view type) {
    const HttpResponse response = acted.send(action_request(acted.api + "/" + action, body, type));
    REQUIRE(response.status == 200);
    const Json document = Json::parse(response.body);
    CHECK(document.at("schema") == "goodput.monitor/2");
    CHECK(document.at("incident").at("page") == acted.page);
    return document.at("incident").at("state").get<std::string>();
  };
  CHECK(sent("acknowledge", R"({"by": "ann"})", "application/json; charset=utf-8") == "acknowledged");
  CHECK(sent("mute", "by=ann&for=30d", kFormType) == "muted");
  CHECK(acted.monitor.actions.back().mute_s == 30 * 86400);
  CHECK(sent("mute", R"({"by": "ann", "for": "60"})", "application/json") == "muted");
  CHECK(acted.monitor.actions.back().mute_s == 60);
  CHECK(sent("end", R"({"by": "ann"})", "application/json") == "closed");
}

TEST_CASE("incident actions: a request without the token or with a wrong one changes nothing") {
  ActedMonitor acted;
  for (const std::string& path : {acted.page, acted.api + "/end"}) {
    HttpRequest request = action_request(path, "by=ann");
    for (const char* authorization : {"", "Bearer 0123456789abcdeX", "Basic YW5uOndyb25n"}) {
      CAPTURE(authorization);
      request.headers["authorization"] = authorization;
      CHECK(acted.refused(request).first == 401);
    }
  }
}

TEST_CASE("incident actions: a page of another site cannot use the token that a browser remembers") {
  ActedMonitor acted;
  HttpRequest request = action_request(acted.page, "action=end&by=ann");
  request.headers["origin"] = "https://evil.example.org";
  CHECK(acted.refused(request).first == 403);
  request.headers["origin"] = "null";
  CHECK(acted.refused(request).first == 403);
  request.headers.erase("origin");
  request.headers["sec-fetch-site"] = "cross-site";
  CHECK(acted.refused(request).first == 403);
  request.headers["sec-fetch-site"] = "same-origin";
  request.headers["origin"] = "https://goodput.example.org";  // that of --url
  CHECK(acted.send(request).status == 303);
}

TEST_CASE("incident actions: a monitor without a token refuses them all") {
  ShownMonitor monitor({MadeUpJob{}});
  const std::string key = testing::incident_key_of(MadeUpJob{});
  const HttpRequest request = action_request("/api/v1/incidents/" + key + "/end", "by=ann");
  const auto gate = refuse_incident_action(std::nullopt, request, {});
  REQUIRE(gate);
  CHECK(gate->status == 403);
  CHECK(Json::parse(gate->body).at("error") == "start the monitor with --token-file to allow this");
  CHECK(monitor.respond(request).status == 403);  // behind the gate, too
  CHECK(monitor.incident(key).is_open());
}

TEST_CASE("incident actions: a large body is refused before it is read") {
  ActedMonitor acted;
  HttpRequest request = action_request(acted.page, "");
  request.headers["content-length"] = "4097";
  CHECK(acted.refused(request) == Refused(413, "a form must be at most 4096 bytes"));
  request.headers["transfer-encoding"] = "chunked";
  CHECK(acted.refused(request).first == 411);
}

TEST_CASE("incident actions: whoever acts has a name") {
  ActedMonitor acted;
  const auto answer = [&](const std::string& form) {
    return acted.refused(action_request(acted.api + "/acknowledge", form));
  };
  const Refused empty(400, R"("by" is missing or empty; set it to your name)");
  CHECK(answer("") == empty);
  CHECK(answer("by=") == empty);
  CHECK(answer("by=++") == empty);
  CHECK(answer("by=a%0Ab") ==
        Refused(400, R"("by" must be a name of at most 100 bytes on one line, not "a\x0ab")"));
  const Refused too_long = answer("by=" + std::string(101, 'x'));
  CHECK(too_long.first == 400);
  CHECK(too_long.second.starts_with("\"by\" must be a name of at most 100 bytes on one line, not "));
  CHECK(acted.send(action_request(acted.api + "/acknowledge", "by=" + std::string(100, 'x'))).status == 200);
}

TEST_CASE("incident actions: a mute lasts from a minute to thirty days") {
  ActedMonitor acted;
  for (const std::string time : {"", "59s", "31d", "-1h", "4x", "nan"}) {
    CAPTURE(time);
    CHECK(acted.refused(action_request(acted.api + "/mute", "by=ann&for=" + time)) ==
          Refused(400,
                  "\"for\" must be a duration from 1m to 30d, such as 30m, 4h or 7d, not \"" + time + "\""));
  }
}

TEST_CASE("incident actions: other fields and other texts are refused") {
  ActedMonitor acted;
  const auto answer = [&](const std::string& action, const std::string& body, std::string_view type) {
    return acted.refused(action_request(acted.api + "/" + action, body, type));
  };
  CHECK(answer("end", "by=ann&for=4h", kFormType) == Refused(400, R"(unknown field "for"; allowed: "by")"));
  CHECK(answer("mute", "by=ann&for=4h&until=5", kFormType) ==
        Refused(400, R"(unknown field "until"; allowed: "by" and "for")"));
  CHECK(answer("end", "by=ann", "text/plain") ==
        Refused(400, "Content-Type must be application/x-www-form-urlencoded or application/json"));
  const Refused wanted(400,
                       R"(the body must be a JSON object of strings, such as {"by": "ann", "for": "4h"})");
  for (const char* body :
       {"", "[]", "{\"by\": 1}", "{\"by\": \"ann\"", "\"ann\"", "{\"by\": {\"by\": \"a\"}}"}) {
    CAPTURE(body);
    CHECK(answer("end", body, "application/json") == wanted);
  }
  const HttpResponse form = acted.send(action_request(acted.page, "action=close&by=ann"));
  CHECK(form.status == 400);
  CHECK(form.body.find("&quot;action&quot; must be acknowledge, mute or end, not &quot;close&quot;") !=
        std::string::npos);
  CHECK(acted.monitor.actions.empty());
}

TEST_CASE("incident actions: an incident that does not exist or is closed cannot be acted upon") {
  ActedMonitor acted;
  CHECK(acted.refused(action_request("/api/v1/incidents/goodput-12/end", "by=ann")) ==
        Refused(404, "there is no such incident, or it is no longer stored"));
  Incident closed = acted.monitor.incident(acted.key);
  closed.closed_s = closed.opened_s + 80;
  acted.monitor.change(closed);
  CHECK(acted.refused(action_request(acted.api + "/end", "by=ann")) ==
        Refused(409, "this incident is already closed"));
  CHECK(acted.send(action_request(acted.page, "action=end&by=ann")).status == 409);
}

TEST_CASE("incident actions: an incident that closes in the meantime is a conflict") {
  ActedMonitor acted;
  acted.monitor.options.act = [](const IncidentAction&) { return std::optional<Incident>(); };
  CHECK(acted.refused(action_request(acted.api + "/end", "by=ann")) ==
        Refused(409, "this incident is already closed"));
}

TEST_CASE("incident actions: a monitor that cannot act now says so") {
  ActedMonitor acted;
  acted.monitor.options.act = [](const IncidentAction&) -> Result<std::optional<Incident>> {
    return Error{"the monitor is shutting down; try again when it is running"};
  };
  CHECK(acted.refused(action_request(acted.api + "/end", "by=ann")) ==
        Refused(503, "the monitor is shutting down; try again when it is running"));
}

TEST_CASE("incident actions: one action at a time waits for the monitor") {
  ActedMonitor acted;
  const HttpRequest request = action_request(acted.api + "/end", "by=ann");
  std::pair<int, std::string> second;
  acted.monitor.options.act = [&](const IncidentAction&) {
    const HttpResponse response = acted.monitor.respond(request);
    second = {response.status, Json::parse(response.body).at("error").get<std::string>()};
    return std::optional<Incident>();
  };
  CHECK(acted.send(request).status == 409);
  CHECK(second == Refused(503, "another action is in progress; try again in a few seconds"));
}

TEST_CASE("incident actions: a path answers its methods and names them") {
  ActedMonitor acted;
  const auto allowed = [&](const std::string& method, const std::string& path) {
    HttpRequest request;
    request.method = method;
    request.path = path;
    const HttpResponse response = acted.monitor.respond(request);
    const auto allow =
        std::ranges::find(response.headers, "Allow", &std::pair<std::string, std::string>::first);
    return response.status == 405 && allow != response.headers.end() ? allow->second : "";
  };
  CHECK(allowed("GET", acted.api + "/mute") == "POST");
  CHECK(allowed("POST", acted.api) == "GET, HEAD");
  CHECK(allowed("POST", "/incidents") == "GET, HEAD");
  CHECK(allowed("PUT", acted.page) == "GET, HEAD, POST");
}

}  // namespace
}  // namespace goodput
