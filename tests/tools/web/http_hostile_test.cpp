// Clients that are slow, rude or many: memory is bounded, and others are served.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/tools/web/web_client.h"
#include "tools/web/http_server.h"

namespace goodput::testing {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

HttpResponse page(const HttpRequest& request) {
  HttpResponse response;
  if (request.path == "/events") response.topic = "jobs";
  if (request.path == "/long") response.body.assign(std::size_t{16} << 20, 'x');
  return response;
}

HttpServer hostile_server(const HttpOptions& options, HttpHandler handler = page) {
  Result<HttpServer> server = HttpServer::start(options, std::move(handler), {});
  REQUIRE(server);
  return *std::move(server);
}

bool is_served(std::uint16_t port) {
  const auto answer = ask(port, get("/"));
  return answer && answer->status == 200;
}

template <typename Condition>
bool becomes_true(Condition condition) {
  for (int i = 0; i < 2000 && !condition(); ++i) std::this_thread::sleep_for(5ms);
  return condition();
}

// A handler that waits until it is let go.
class HeldHandler {
 public:
  HttpHandler handler() {
    return [this](const HttpRequest& request) {
      std::unique_lock lock(mutex_);
      ++running_;
      changed_.wait(lock, [this] { return is_free_; });
      return page(request);
    };
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    is_free_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] std::size_t running() {
    const std::lock_guard lock(mutex_);
    return running_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_free_ = false;
  std::size_t running_ = 0;
};

}  // namespace

TEST_CASE("hostile clients: a head of a million lines is refused at its first 16 KiB") {
  const HttpServer server = hostile_server({});
  WebClient client(server.port());
  std::string lines;
  for (int i = 0; i < 10'000; ++i) lines += fmt::format("X-{}: y\r\n", i);
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\n");
  for (int i = 0; i < 100; ++i) {
    if (!client.send(lines)) break;
  }
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 431);
  CHECK(is_served(server.port()));
}

TEST_CASE("hostile clients: who does not finish a request in time loses the connection") {
  HttpOptions options;
  options.body_bytes = 1000;
  options.header_timeout = options.body_timeout = options.idle_timeout = 60ms;
  const HttpServer server = hostile_server(options);
  WebClient silent(server.port()), half(server.port()), body(server.port()), idle(server.port());
  half.send("GET / HTTP/1.1\r\nHost: lo");
  body.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc");
  idle.send(get("/"));
  CHECK(silent.is_closed());
  for (WebClient* client : {&half, &body}) {
    const auto answer = client->receive();
    REQUIRE(answer);
    CHECK(answer->status == 408);
  }
  REQUIRE(idle.receive());
  CHECK(idle.is_closed());
}

TEST_CASE("hostile clients: readers that read nothing are dropped, of pages and of events") {
  HttpOptions options;
  options.write_timeout = 100ms;
  HttpServer server = hostile_server(options);
  WebClient page_reader(server.port(), WebClient::Buffers::kSmall);
  page_reader.send(get("/long"));
  WebClient stream(server.port(), WebClient::Buffers::kSmall);
  stream.send(get("/events"));
  REQUIRE(stream.receive());
  const std::string event(100'000, 'e');
  CHECK(becomes_true([&] {
    server.publish("jobs", "step", event);
    return server.use().event_streams == 0;
  }));
  CHECK(becomes_true([&] { return server.use().connections == 0; }));
  CHECK(is_served(server.port()));
}

TEST_CASE("hostile clients: who does not go on with his body or does not read makes room for others") {
  HttpOptions options;
  options.connections = 4;
  options.body_bytes = 100;
  const HttpServer server = hostile_server(options);
  std::vector<WebClient> crowd;
  for (int i = 0; i < 4; ++i) {
    crowd.emplace_back(server.port(), WebClient::Buffers::kSmall);
    crowd.back().send(i % 2 == 0 ? get("/long")
                                 : "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc");
  }
  REQUIRE(becomes_true([&] { return server.use().connections == 4 && server.use().body_bytes == 20; }));
  for (int i = 0; i < 8; ++i) CHECK(is_served(server.port()));
  CHECK(server.use().connections <= 4);
}

TEST_CASE("hostile clients: whoever has just come has time to ask, however many come after him") {
  HttpOptions options;
  options.connections = 4;
  options.least_wait = 1h;
  const HttpServer server = hostile_server(options);
  WebClient first(server.port());
  REQUIRE(becomes_true([&] { return server.use().connections == 1; }));
  std::vector<WebClient> crowd;
  for (int i = 0; i < 20; ++i) crowd.emplace_back(server.port());
  REQUIRE(becomes_true([&] { return server.use().connections == 4; }));
  std::this_thread::sleep_for(50ms);
  REQUIRE(first.send(get("/")));
  const auto answer = first.receive();
  REQUIRE(answer);
  CHECK(answer->status == 200);
  // He asked, and others wait.
  CHECK(answer->header("Connection") == "close");
  // All of the crowd have their turn as one after the other goes.
  for (WebClient& client : crowd) {
    REQUIRE(client.send(get("/")));
    const auto turn = client.receive();
    REQUIRE(turn);
    CHECK(turn->status == 200);
    client.end_sending();
  }
}

TEST_CASE("hostile clients: who sends his body byte by byte, or asks on and on, makes room for others") {
  HttpOptions options;
  options.connections = 2;
  options.body_bytes = 100'000;
  options.least_wait = 20ms;
  const HttpServer server = hostile_server(options);
  const std::string head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000\r\n\r\n";
  std::atomic<bool> is_over = false;
  std::vector<std::thread> crowd;
  for (int i = 0; i < 4; ++i) {
    crowd.emplace_back([&, i] {
      while (!is_over) {
        WebClient client(server.port());
        client.set_time(10ms);
        if (i % 2 == 0) client.send(head);
        for (bool goes_on = true; goes_on && !is_over; std::this_thread::sleep_for(1ms)) {
          goes_on = client.send(i % 2 == 0 ? "x" : get("/") + get("/"));
        }
      }
    });
  }
  for (int i = 0; i < 20; ++i) CHECK(is_served(server.port()));
  is_over = true;
  for (std::thread& client : crowd) client.join();
}

TEST_CASE("hostile clients: event streams have a limit, and whoever is in one has nothing to say") {
  HttpOptions options;
  options.event_streams = 2;
  const HttpServer server = hostile_server(options);
  WebClient first(server.port()), second(server.port());
  first.send(get("/events"));
  second.send(get("/events"));
  REQUIRE(first.receive());
  REQUIRE(second.receive());
  const auto third = ask(server.port(), get("/events"));
  REQUIRE(third);
  CHECK(third->status == 503);
  first.send("more");
  CHECK(first.is_closed());
  CHECK(becomes_true([&] { return server.use().event_streams == 1; }));
}

TEST_CASE("hostile clients: requests that wait for a handler have a limit") {
  HttpOptions options;
  options.handler_threads = 1;
  options.queued_requests = 1;
  HeldHandler held;
  const HttpServer server = hostile_server(options, held.handler());
  WebClient running(server.port()), waiting(server.port());
  running.send(get("/"));
  CHECK(becomes_true([&] { return held.running() == 1; }));
  waiting.send(get("/"));
  // The one behind is refused once the one before is in the queue.
  CHECK(becomes_true([&] {
    WebClient other(server.port());
    other.set_time(50ms);
    other.send(get("/"));
    const auto answer = other.receive();
    return answer && answer->status == 503;
  }));
  held.let_go();
  CHECK(running.receive());
}

TEST_CASE("hostile clients: bodies of all connections have a limit together") {
  HttpOptions options;
  options.body_bytes = 1000;
  options.body_bytes_in_flight = 1500;
  const HttpServer server = hostile_server(options);
  WebClient slow(server.port());
  slow.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n");
  CHECK(becomes_true([&] { return server.use().body_bytes == 1000; }));
  const auto answer = ask(server.port(), "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 501\r\n\r\n");
  REQUIRE(answer);
  CHECK(answer->status == 503);
  slow.send(std::string(1000, 'x'));
  CHECK(slow.receive());
  CHECK(server.use().body_bytes == 0);
}

TEST_CASE("hostile clients: a chunked body without an end is refused") {
  HttpOptions options;
  options.body_bytes = 100'000;
  const HttpServer server = hostile_server(options);
  const std::string head = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  WebClient chunks(server.port());
  chunks.send(head);
  for (int i = 0; i < 20; ++i) chunks.send(fmt::format("2710\r\n{}\r\n", std::string(10'000, 'c')));
  const auto too_large = chunks.receive();
  REQUIRE(too_large);
  CHECK(too_large->status == 413);
  WebClient extension(server.port());
  extension.send(head + "1;" + std::string(50'000, 'e'));
  const auto damaged = extension.receive();
  REQUIRE(damaged);
  CHECK(damaged->status == 400);
}

TEST_CASE("hostile clients: thousands of requests at once are answered one after the other") {
  const HttpServer server = hostile_server({});
  WebClient client(server.port());
  constexpr int kRequests = 2000;
  std::thread sender([&client] {
    std::string requests;
    for (int i = 0; i < kRequests; ++i) requests += get("/");
    client.send(requests);
  });
  int answered = 0;
  while (answered < kRequests && client.receive()) ++answered;
  sender.join();
  CHECK(answered == kRequests);
}

TEST_CASE("hostile clients: garbage is survived") {
  HttpOptions options;
  options.body_bytes = 1000;
  options.header_timeout = 50ms;
  const HttpServer server = hostile_server(options);
  const std::vector<std::string> begins = {
      "", "GET ", "GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nHost: localhost\r\n",
      "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"};
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string bytes = begins[random() % begins.size()];
    for (std::size_t left = random() % 300; left > 0; --left) bytes += static_cast<char>(random() % 256);
    if (i % 3 == 0) bytes += "\r\n\r\n";
    WebClient(server.port()).send(bytes);
  }
  CHECK(is_served(server.port()));
  CHECK(becomes_true([&] { return server.use().connections == 0; }));
}

TEST_SUITE("slow") {
  TEST_CASE("hostile clients: a thousand connections keep nobody from being served within a second") {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 4096);
    setrlimit(RLIMIT_NOFILE, &files);
    HttpServer server = hostile_server({});
    std::vector<WebClient> crowd;
    SteadyClock::duration slowest{};
    for (int i = 0; i < 1000; ++i) {
      crowd.emplace_back(server.port(), WebClient::Buffers::kSmall);
      constexpr const char* kHalf = "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
      crowd.back().send(i % 8 == 0 ? get("/events") : i % 8 == 1 ? get("/long") : kHalf);
      if (i % 20 != 19) continue;
      server.publish("jobs", "step", std::string(1000, 'e'));
      const auto begin = SteadyClock::now();
      CHECK(is_served(server.port()));
      slowest = std::max(slowest, SteadyClock::now() - begin);
    }
    CHECK(slowest < 1s);
    const HttpUse use = server.use();
    CHECK(use.connections <= 256);
    CHECK(use.event_streams <= 128);
    server.stop();
    for (WebClient& client : crowd) CHECK(client.is_closed());
  }
}

}  // namespace goodput::testing
