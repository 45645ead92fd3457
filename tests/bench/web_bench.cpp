// What the web server takes a request and an event, client included: one core answers, one asks.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tools/web/web_client.h"
#include "tools/web/http_server.h"

namespace goodput::testing {
namespace {

using std::chrono::steady_clock;

HttpResponse answer(const HttpRequest& request) {
  HttpResponse response;
  if (request.path == "/events") {
    response.topic = "jobs";
  } else {
    response.body.assign(1000, 'x');
  }
  return response;
}

double seconds_since(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

void must(bool is_true) {
  if (!is_true) std::abort();
}

// The best of some seconds.
template <typename Once>
void measure(std::string_view what, int requests_once, Once once) {
  constexpr int kSeconds = 5;
  double best = 0;
  for (int second = 0; second < kSeconds; ++second) {
    const auto begin = steady_clock::now();
    std::int64_t requests = 0;
    while (seconds_since(begin) < 1) {
      once();
      requests += requests_once;
    }
    best = std::max(best, static_cast<double>(requests) / seconds_since(begin));
  }
  fmt::print("{:<44} {:9.0f} a second, {:6.1f} us each\n", what, best, 1e6 / best);
}

void ask_on(std::vector<WebClient>& clients) {
  for (WebClient& client : clients) must(client.send(get("/")));
  for (WebClient& client : clients) must(client.receive().has_value());
}

void run() {
  Result<HttpServer> server = HttpServer::start({}, answer, {});
  must(server.has_value());
  const std::uint16_t port = server->port();
  measure("requests, each on a new connection", 1, [&] { must(ask(port, get("/")).has_value()); });
  for (const int count : {1, 64}) {
    std::vector<WebClient> clients;
    for (int i = 0; i < count; ++i) clients.emplace_back(port);
    measure(fmt::format("requests on {} connections in turn", count), count, [&] { ask_on(clients); });
  }
  std::vector<WebClient> streams;
  for (int i = 0; i < 100; ++i) {
    streams.emplace_back(port);
    must(streams.back().send(get("/events")) && streams.back().receive().has_value());
  }
  measure("events to 100 streams", 100, [&] {
    server->publish("jobs", "step", "large");
    for (WebClient& stream : streams) must(!stream.receive_until("data: large\n\n").empty());
  });
}

}  // namespace
}  // namespace goodput::testing

int main() {
  goodput::testing::run();
}
