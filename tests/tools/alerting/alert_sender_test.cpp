// Messages get to their sinks at least once and in order, whatever the sinks do meanwhile.
#include "tools/alerting/alert_sender.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/json.h"
#include "tests/support/incident_case.h"
#include "tests/support/tiny_http_server.h"

namespace goodput {
namespace {

// As the database would hold it.
class MemoryQueue final : public DeliveryQueue {
 public:
  void add(int incident, const std::string& sink, IncidentEvent event = IncidentEvent::kOpens) {
    ++ids_;
    waiting_[ids_] = {.id = ids_, .incident = std::to_string(incident), .sink = sink, .event = event};
  }
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }
  [[nodiscard]] const Delivery& first() const { return waiting_.begin()->second; }

  [[nodiscard]] Result<std::vector<Delivery>> waiting() override {
    std::vector<Delivery> waiting;
    for (const auto& [id, delivery] : waiting_) waiting.push_back(delivery);
    return waiting;
  }
  [[nodiscard]] Result<std::optional<Incident>> incident(const std::string& key) override {
    if (lost_.contains(key)) return std::optional<Incident>();
    Incident incident = closed(full_incident());
    incident.key = key;
    incident.severity = AlertSeverity::kCritical;
    return std::optional(incident);
  }
  Status retried(const Delivery& delivery) override {
    waiting_.at(delivery.id) = delivery;
    return Ok{};
  }
  Status finished(std::int64_t delivery) override {
    waiting_.erase(delivery);
    return Ok{};
  }
  void lose_incident(const std::string& key) { lost_.insert(key); }

 private:
  std::map<std::int64_t, Delivery> waiting_;
  std::int64_t ids_ = 0;
  std::set<std::string> lost_;
};

// Counts how often the sender has something to be taken back.
class Wakes {
 public:
  std::function<void()> function() {
    return [this] {
      const std::lock_guard lock(mutex_);
      ++count_;
      changed_.notify_all();
    };
  }
  void wait_for(int count) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, std::chrono::seconds(20), [&] { return count_ >= count; }));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

SinkConfig webhook(const std::string& name, const std::string& url, double timeout_s = 10) {
  return {.name = name,
          .target = WebhookSink{.url = url, .timeout_s = timeout_s},
          .retry_s = 10,
          .max_retry_s = 60};
}

AlertSender sender_of(std::vector<SinkConfig> sinks, Wakes& wakes, std::ostream& errors) {
  AlertingConfig config;
  config.sinks = std::move(sinks);
  Result<AlertSender> sender = AlertSender::start(config, errors, wakes.function());
  REQUIRE(sender.has_value());
  return *std::move(sender);
}

std::vector<std::string> events_of(const TinyHttpServer& server) {
  std::vector<std::string> events;
  for (const TinyRequest& request : server.requests()) {
    const auto json = Json::parse(request.body);
    events.push_back(json.at("incident_key").get<std::string>() + json.at("event").get<std::string>());
  }
  return events;
}

TEST_CASE("alert sender: three failures, then success: each try later than the one before, and in order") {
  TinyHttpServer server(
      [](std::size_t number, const TinyRequest&) { return TinyHttpServer::status(number < 3 ? 500 : 200); });
  Wakes wakes;
  std::ostringstream errors;
  AlertSender sender = sender_of({webhook("ops", server.url())}, wakes, errors);
  MemoryQueue queue;
  queue.add(1, "ops");
  queue.add(1, "ops", IncidentEvent::kCloses);
  double now_s = 1000;
  std::vector<double> pauses;
  for (int tries = 1; tries <= 3; ++tries) {
    CHECK(sender.pump(queue, now_s)->problems.empty());
    wakes.wait_for(tries);
    const SendReport report = sender.pump(queue, now_s).value();
    REQUIRE(report.problems.size() == 1);
    CHECK(report.problems[0].find(
              "sink \"ops\" could not deliver a message about incident 1: the server answered "
              "with status 500: \"ok\"; attempt ") == 0);
    CHECK(queue.first().attempts == tries);
    // The end of the incident is due, but waits for its beginning.
    CHECK_FALSE(sender.is_busy());
    REQUIRE(report.next_s.has_value());
    CHECK(*report.next_s == queue.first().next_try_s);
    pauses.push_back(*report.next_s - now_s);
    now_s = *report.next_s;
  }
  for (std::size_t i = 0; i < 3; ++i) {  // 10, 20, 40 s, up to a third less
    const double full_s = 10.0 * static_cast<double>(1U << i);
    CHECK(pauses[i] <= full_s);
    CHECK(pauses[i] >= full_s * 2 / 3);
  }
  for (int tries = 4; tries <= 5; ++tries) {
    CHECK(sender.pump(queue, now_s)->problems.empty());
    wakes.wait_for(tries);
  }
  CHECK(sender.pump(queue, now_s)->problems.empty());
  CHECK(queue.size() == 0);
  CHECK(events_of(server) == std::vector<std::string>{"1opens", "1opens", "1opens", "1opens", "1closes"});
  const auto opens = Json::parse(server.requests()[0].body).at("incident");
  CHECK(opens.at("closed_s").is_null());  // told as it was, though it is closed by now
  CHECK(opens.at("severity") == "critical");
}

TEST_CASE("alert sender: the pause grows no further than its limit") {
  TinyHttpServer server([](std::size_t, const TinyRequest&) { return TinyHttpServer::status(503); });
  Wakes wakes;
  std::ostringstream errors;
  AlertSender sender = sender_of({webhook("ops", server.url())}, wakes, errors);
  MemoryQueue queue;
  queue.add(1, "ops");
  double now_s = 0;
  for (int tries = 1; tries <= 8; ++tries) {
    CHECK(sender.pump(queue, now_s).has_value());
    wakes.wait_for(tries);
    now_s = *sender.pump(queue, now_s)->next_s;
    CHECK(queue.first().next_try_s - now_s <= 60);
  }
  CHECK(queue.size() == 1);  // it is never given up
}

TEST_CASE("alert sender: a sink that hangs holds up neither the others nor the one who sends") {
  TinyHttpServer dead([](std::size_t, const TinyRequest&) { return "HANG"; });
  TinyHttpServer alive([](std::size_t, const TinyRequest&) { return TinyHttpServer::status(200); });
  Wakes wakes;
  std::ostringstream errors;
  {
    AlertSender sender = sender_of({webhook("dead", dead.url()),
                                    webhook("alive", alive.url()),
                                    {.name = "screen", .target = StderrSink{}}},
                                   wakes, errors);
    CHECK(sender.sinks() == std::vector<std::string>{"alive", "dead", "screen"});
    MemoryQueue queue;
    for (int incident = 1; incident <= 3; ++incident) {
      for (const char* sink : {"dead", "alive", "screen"}) queue.add(incident, sink);
    }
    for (int tries = 1; tries <= 3; ++tries) {
      CHECK(sender.pump(queue, 0)->problems.empty());
      wakes.wait_for(tries);
    }
    CHECK(sender.pump(queue, 0)->problems.empty());
    CHECK(queue.size() == 3);  // of the dead one
    CHECK(sender.is_busy());
  }  // does not wait for its time limit
  CHECK(events_of(alive) == std::vector<std::string>{"1opens", "2opens", "3opens"});
  const std::string lines = errors.str();
  CHECK(std::ranges::count(lines, '\n') == 3);
  CHECK(lines.find("incident 1 opens") == 0);
}

TEST_CASE("alert sender: a message that is refused for what it is does not hold back the next one") {
  TinyHttpServer server(
      [](std::size_t number, const TinyRequest&) { return TinyHttpServer::status(number == 0 ? 400 : 200); });
  Wakes wakes;
  std::ostringstream errors;
  AlertSender sender = sender_of({webhook("ops", server.url())}, wakes, errors);
  MemoryQueue queue;
  queue.add(1, "ops");
  queue.add(2, "ops");
  CHECK(sender.pump(queue, 0).has_value());
  wakes.wait_for(1);
  CHECK(sender.pump(queue, 0)->problems.size() == 1);  // and hands out the next one
  wakes.wait_for(2);
  CHECK(sender.pump(queue, 0).has_value());
  CHECK(events_of(server) == std::vector<std::string>{"1opens", "2opens"});
  CHECK(queue.size() == 1);
  CHECK(queue.first().incident == "1");
}

TEST_CASE("alert sender: the end of an incident waits for its beginning that was refused, others do not") {
  TinyHttpServer server(
      [](std::size_t number, const TinyRequest&) { return TinyHttpServer::status(number == 0 ? 403 : 200); });
  std::ostringstream errors;
  MemoryQueue queue;
  queue.add(1, "ops");
  queue.add(1, "ops", IncidentEvent::kCloses);
  queue.add(2, "ops");
  {
    Wakes wakes;
    AlertSender sender = sender_of({webhook("ops", server.url())}, wakes, errors);
    CHECK(sender.pump(queue, 0)->handed_out == 1);
    wakes.wait_for(1);
    CHECK(sender.pump(queue, 0)->handed_out == 1);  // of the second incident
    wakes.wait_for(2);
    CHECK(sender.pump(queue, 0)->waiting == 2);
  }
  const double retry_s = queue.first().next_try_s;
  // Another process neither lets the sink rest for what was refused.
  Wakes wakes;
  AlertSender sender = sender_of({webhook("ops", server.url())}, wakes, errors);
  queue.add(3, "ops");
  for (int tries = 1; tries <= 3; ++tries) {
    CHECK(sender.pump(queue, tries == 1 ? 0 : retry_s)->handed_out == 1);
    wakes.wait_for(tries);
  }
  CHECK(sender.pump(queue, retry_s)->waiting == 0);
  CHECK(events_of(server) == std::vector<std::string>{"1opens", "2opens", "3opens", "1opens", "1closes"});
}

TEST_CASE(
    "alert sender: after a restart what was not acknowledged is told again, and a sink that failed rests "
    "on") {
  TinyHttpServer server([](std::size_t number, const TinyRequest&) {
    return number == 0 ? TinyHttpServer::status(500) : TinyHttpServer::status(200);
  });
  MemoryQueue queue;
  queue.add(1, "ops");
  std::ostringstream errors;
  {
    Wakes wakes;
    AlertSender sender = sender_of({webhook("ops", server.url())}, wakes, errors);
    CHECK(sender.pump(queue, 0).has_value());
    wakes.wait_for(1);
    CHECK(sender.pump(queue, 0).has_value());
  }
  queue.add(1, "ops", IncidentEvent::kCloses);  // due at once
  const double retry_s = queue.first().next_try_s;
  Wakes wakes;
  AlertSender sender = sender_of({webhook("ops", server.url())}, wakes, errors);
  CHECK(sender.pump(queue, 1)->next_s == retry_s);
  CHECK_FALSE(sender.is_busy());
  for (int tries = 1; tries <= 2; ++tries) {
    CHECK(sender.pump(queue, retry_s).has_value());
    wakes.wait_for(tries);
  }
  CHECK(sender.pump(queue, retry_s).has_value());
  CHECK(queue.size() == 0);
  CHECK(events_of(server) == std::vector<std::string>{"1opens", "1opens", "1closes"});
  const auto requests = server.requests();
  CHECK(requests[0].header("Idempotency-Key") == requests[1].header("Idempotency-Key"));
}

TEST_CASE("alert sender: messages to a sink, or about an incident, that no longer exists are dropped") {
  Wakes wakes;
  std::ostringstream errors;
  AlertSender sender = sender_of({{.name = "screen", .target = StderrSink{}}}, wakes, errors);
  MemoryQueue queue;
  queue.add(7, "old\n");
  queue.add(8, "screen");
  queue.lose_incident("8");
  const SendReport report = sender.pump(queue, 0).value();
  CHECK(report.problems ==
        std::vector<std::string>{
            "sink \"old\\x0a\" no longer exists; its message about incident 7 was dropped"});
  CHECK(queue.size() == 0);
  CHECK(errors.str().empty());
}

TEST_CASE("alert sender: a sink whose secret cannot be read is refused at the start") {
  AlertingConfig config;
  config.sinks = {{.name = "ops", .target = WebhookSink{.url = "http://a/", .secret_file = "/nowhere/key"}}};
  std::ostringstream errors;
  const Result<AlertSender> sender = AlertSender::start(config, errors, {});
  REQUIRE_FALSE(sender.has_value());
  CHECK(sender.error().message() == "/nowhere/key: cannot be read: No such file or directory (sink \"ops\")");
}

}  // namespace
}  // namespace goodput
