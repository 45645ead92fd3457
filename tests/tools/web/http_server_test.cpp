#include "tools/web/http_server.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/tools/web/web_client.h"

namespace goodput::testing {
namespace {

using namespace std::chrono_literals;

HttpResponse text(std::string body) {
  HttpResponse response;
  response.content_type = "text/plain";
  response.body = std::move(body);
  return response;
}

// Says what it was asked for; /events is a stream, /long a body of 8 MiB.
HttpResponse echo(const HttpRequest& request) {
  if (request.path == "/events") return {.body = {}, .headers = {}, .topic = "jobs"};
  if (request.path == "/long") return text(std::string(std::size_t{8} << 20, 'x'));
  if (request.path == "/throw") throw std::runtime_error("a bug");
  return text(
      fmt::format("{} {} q={} body={}", request.method, request.path, request.parameter("q"), request.body));
}

HttpServer started(const HttpOptions& options = {}, HttpHandler handler = echo, HttpGate gate = {}) {
  Result<HttpServer> server = HttpServer::start(options, std::move(handler), std::move(gate));
  REQUIRE(server);
  return *std::move(server);
}

int status_of(std::uint16_t port, std::string_view request) {
  const std::optional<WebAnswer> answer = ask(port, request);
  return answer ? answer->status : 0;
}

// Until it holds, for ten seconds at most.
template <typename Condition>
bool comes_true(Condition condition) {
  for (int i = 0; i < 2000 && !condition(); ++i) std::this_thread::sleep_for(5ms);
  return condition();
}

}  // namespace

TEST_CASE("web server: a request is answered with what the handler says") {
  const HttpServer server = started();
  const auto answer = ask(server.port(), get("/jobs/a%20b?q=1+2"));
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->body == "GET /jobs/a b q=1 2 body=");
  CHECK(answer->header("content-type") == "text/plain");
  CHECK(answer->header("connection") == "keep-alive");
}

TEST_CASE("web server: every response keeps browsers from putting the page to other uses") {
  const HttpServer server = started();
  for (const std::string& request : {get("/"), get("/../"), std::string("DELETE / HTTP/1.1\r\n\r\n")}) {
    const auto answer = ask(server.port(), request);
    REQUIRE(answer);
    CAPTURE(answer->head);
    CHECK(answer->header("content-security-policy") ==
          "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'");
    CHECK(answer->header("x-content-type-options") == "nosniff");
    CHECK(answer->header("referrer-policy") == "same-origin");
    CHECK(answer->header("cross-origin-opener-policy") == "same-origin");
    CHECK(answer->header("cross-origin-resource-policy") == "same-origin");
    CHECK(answer->header("cache-control") == "no-store");
  }
}

TEST_CASE("web server: a connection is used again, also for requests that came before they were asked for") {
  const HttpServer server = started();
  WebClient client(server.port());
  client.send(get("/1") + get("/2") + get("/3"));
  for (const std::string_view path : {"/1", "/2", "/3"}) {
    const auto answer = client.receive();
    REQUIRE(answer);
    CHECK(answer->body == fmt::format("GET {} q= body=", path));
  }
  client.send(get("/4", "Connection: close\r\n"));
  const auto last = client.receive();
  REQUIRE(last);
  CHECK(last->header("connection") == "close");
  CHECK(client.is_closed());
}

TEST_CASE("web server: a few empty lines before a request are no part of it") {
  const HttpServer server = started();
  WebClient client(server.port());
  // Behind a body, and of another request that comes in pieces.
  for (const std::string& piece :
       {get("/1"), "\r\n" + get("/2"), std::string("\r"), std::string("\n\r\n\r\n"), "\r\n" + get("/3")})
    REQUIRE(client.send(piece));
  for (const std::string_view path : {"/1", "/2", "/3"}) {
    const auto answer = client.receive();
    REQUIRE(answer);
    CHECK(answer->body == fmt::format("GET {} q= body=", path));
  }
  CHECK(status_of(server.port(), "\r\n\r\n\r\n\r\n" + get("/")) == 200);
  CHECK(status_of(server.port(), "\r\n\r\n\r\n\r\n\r\n" + get("/")) == 400);
  CHECK(status_of(server.port(), "\n" + get("/")) == 400);
  CHECK(status_of(server.port(), "\rGET / HTTP/1.1\r\nHost: localhost\r\n\r\n") == 400);
}

TEST_CASE("web server: a request in absolute form is for the host that it names") {
  const HttpServer server = started();
  const auto answer = ask(server.port(), get("http://127.0.0.1:80/jobs/a%20b?q=1"));
  REQUIRE(answer);
  CHECK(answer->body == "GET /jobs/a b q=1 body=");
  CHECK(status_of(server.port(), get("http://evil.example/")) == 421);
}

TEST_CASE("web server: the name and the pages of a public address are the server's own, others are not") {
  HttpOptions options;
  options.body_bytes = 1000;
  options.origins = {"https://goodput.example.org:8443"};
  const HttpServer server = started(options);
  const auto host_status = [&](std::string_view host) {
    return status_of(server.port(), fmt::format("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", host));
  };
  for (const std::string_view host : {"goodput.example.org", "Goodput.Example.ORG:443",
                                      "goodput.example.org:8443", "localhost", "127.0.0.1:1"}) {
    CAPTURE(host);
    CHECK(host_status(host) == 200);
  }
  CHECK(host_status("example.org") == 421);
  CHECK(host_status("evil.example") == 421);
  CHECK(status_of(server.port(), post("/", "x", "Origin: https://goodput.example.org:8443\r\n")) == 200);
  CHECK(status_of(server.port(), post("/", "x", "Origin: https://goodput.example.org\r\n")) == 403);
}

TEST_CASE("web server: a header that is continued on the next line is refused with a reason") {
  const HttpServer server = started();
  const auto answer = ask(server.port(), "GET / HTTP/1.1\r\n Host: localhost\r\n\r\n");
  REQUIRE(answer);
  CHECK(answer->status == 400);
  CHECK(answer->body.find("send each header on one line") != std::string::npos);
  CHECK(answer->header("connection") == "close");
}

TEST_CASE("web server: HEAD is GET without the body") {
  const HttpServer server = started();
  WebClient client(server.port());
  client.send("HEAD /a HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/b"));
  const auto head = client.receive(WebClient::Body::kAbsent);
  REQUIRE(head);
  CHECK(head->header("content-length") == "15");  // of "GET /a q= body="
  const auto next = client.receive();
  REQUIRE(next);
  CHECK(next->body == "GET /b q= body=");
}

TEST_CASE("web server: events reach the streams of their topic, and quiet ones get a heartbeat") {
  HttpOptions options;
  options.heartbeat = 20ms;
  HttpServer server = started(options);
  WebClient client(server.port());
  client.send(get("/events", "Last-Event-ID: 17\r\n"));
  const auto head = client.receive();
  REQUIRE(head);
  CAPTURE(head->head);
  CHECK(head->header("content-type") == "text/event-stream");
  server.publish("jobs", "step", "1\n2");
  server.publish("others", "step", "3");
  server.publish("jobs", "st\nep", "4");
  CHECK(client.receive_until("data: 4\n\n")
            .ends_with("event: step\ndata: 1\ndata: 2\n\nevent: step\ndata: 4\n\n"));
  CHECK(client.receive_until(":\n\n") == ":\n\n");
  CHECK(server.use().event_streams == 1);
}

TEST_CASE("web server: stop() closes what is open") {
  HttpServer server = started();
  WebClient stream(server.port()), idle(server.port()), half(server.port());
  stream.send(get("/events"));
  REQUIRE(stream.receive());
  half.send("GET / HT");
  server.stop();
  CHECK(stream.is_closed());
  CHECK(idle.is_closed());
  CHECK(half.is_closed());
  server.publish("jobs", "step", "nobody hears it");
}

TEST_CASE("web server: what cannot be answered is refused, and the connection closed") {
  HttpOptions options;
  options.body_bytes = 1000;
  const HttpServer server = started(options);
  const std::uint16_t port = server.port();
  CHECK(status_of(port, "hello\r\n\r\n") == 400);
  CHECK(status_of(port, "\x16\x03\x01\x02") == 400);  // TLS
  CHECK(status_of(port, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n") == 421);
  CHECK(status_of(port, get("/%00")) == 400);
  CHECK(status_of(port, "PUT / HTTP/1.1\r\nHost: localhost\r\n\r\n") == 405);
  CHECK(status_of(port, get("/", "Padding: " + std::string(options.header_bytes, 'x') + "\r\n")) == 431);
  CHECK(status_of(port, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n") == 413);
  CHECK(status_of(port, "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n") ==
        400);
  CHECK(status_of(port, get("/throw")) == 500);
  WebClient client(port);
  client.send("junk");
  REQUIRE(client.receive());
  client.end_sending();
  CHECK(client.is_closed());
}

TEST_CASE("web server: a body is read once the gate lets it, and only then") {
  HttpOptions options;
  options.body_bytes = 1000;
  const HttpServer server = started(options, echo, [](const HttpRequest& request) {
    return request.path == "/no" ? std::optional(plain_error(401, "no")) : std::nullopt;
  });
  // Whoever may not ask is not told what else is wrong.
  for (const int bytes : {999, 1001}) {
    CHECK(status_of(server.port(),
                    fmt::format("POST /no HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
                                bytes)) == 401);
  }
  const auto answer = ask(server.port(), post("/yes", "abc"));
  REQUIRE(answer);
  CHECK(answer->body == "POST /yes q= body=abc");
  WebClient client(server.port());
  client.send("POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  CHECK(client.receive_until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hi" + post("/b", "", "") + get("/c"));
  for (const std::string_view body : {"POST /a q= body=hi", "POST /b q= body=", "GET /c q= body="}) {
    const auto next = client.receive();
    REQUIRE(next);
    CHECK(next->body == body);
  }
  CHECK(comes_true([&] { return server.use().body_bytes == 0; }));
}

TEST_CASE("web server: an address or a port that cannot be had is an error of its option") {
  HttpOptions options;
  options.address = "localhost";
  const auto no_address = HttpServer::start(options, echo, {});
  REQUIRE_FALSE(no_address);
  CHECK(no_address.error().message() == "address: \"localhost\" is not an IP address");
  const HttpServer server = started();
  options = {};
  options.port = server.port();
  const auto taken = HttpServer::start(options, echo, {});
  REQUIRE_FALSE(taken);
  CHECK(taken.error().message() ==
        fmt::format("port: cannot listen on port {} of 127.0.0.1: Address already in use", server.port()));
}

TEST_CASE("web server: a client that comes before anything is served is served then") {
  Result<HttpServer> server = HttpServer::listen({});
  REQUIRE(server);
  WebClient early(server->port());
  REQUIRE(early.send(get("/early")));
  server->serve(echo, {});
  const auto answer = early.receive();
  REQUIRE(answer);
  CHECK(answer->body == "GET /early q= body=");
  REQUIRE(HttpServer::listen({}));  // gone without having served
}

TEST_CASE("web server: headers of a handler stand for the usual ones, and cannot be broken out of") {
  const HttpServer server = started({}, [](const HttpRequest&) {
    HttpResponse response = text("x");
    response.headers = {{"cache-control", "max-age=60"}, {"X-Job", "a\r\nSet-Cookie: b"}};
    return response;
  });
  const auto answer = ask(server.port(), get("/"));
  REQUIRE(answer);
  CHECK(answer->head.find("no-store") == std::string::npos);
  CHECK(answer->header("cache-control") == "max-age=60");
  CHECK(answer->header("x-job") == "a  Set-Cookie: b");
}

}  // namespace goodput::testing
