// What a web hook sends, and what it makes of answers of all kinds.
#include <doctest/doctest.h>

#include <atomic>
#include <string>

#include "sim/base/json.h"
#include "tests/support/incident_case.h"
#include "tests/support/tiny_http_server.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/alerting/alert_sink.h"

namespace goodput {
namespace {

const std::atomic<bool> kGoesOn = false;

SinkAnswer deliver(const WebhookSink& config,
                   const AlertMessage& message = {full_incident(), IncidentEvent::kOpens}) {
  Result<std::unique_ptr<AlertSink>> sink = make_webhook_sink(config);
  REQUIRE(sink.has_value());
  return (*sink)->deliver(message, kGoesOn);
}

// Of a server that answers so to everything.
SinkAnswer answer_to(const std::string& answer, double timeout_s = 5) {
  TinyHttpServer server([&answer](std::size_t, const TinyRequest&) { return answer; });
  return deliver({.url = server.url(), .timeout_s = timeout_s});
}

TEST_CASE("webhook: an incident is posted as JSON, with a key that tells the same message") {
  TinyHttpServer server([](std::size_t, const TinyRequest&) { return TinyHttpServer::status(204, ""); });
  CHECK(deliver({.url = server.url(), .headers = {{"X-Team", "training"}, {"X-Empty", ""}}}).is_taken());
  CHECK(deliver({.url = server.url()}).is_taken());
  CHECK(deliver({.url = server.url()}, {closed(full_incident()), IncidentEvent::kCloses}).is_taken());
  const std::vector<TinyRequest> requests = server.requests();
  REQUIRE(requests.size() == 3);
  CHECK(requests[0].head.find("POST /hook HTTP/1.1\r\n") == 0);
  CHECK(requests[0].header("Content-Type") == "application/json");
  CHECK(requests[0].header("X-Team") == "training");
  CHECK(requests[0].head.find("\r\nX-Empty:\r\n") != std::string::npos);
  CHECK(requests[0].header("Expect").empty());
  CHECK(requests[0].header("X-Goodput-Signature").empty());
  CHECK(requests[0].header("Authorization").empty());
  const std::string key = requests[0].header("Idempotency-Key");
  CHECK(Json::parse(requests[0].body).at("key") == key);
  CHECK(requests[1].header("Idempotency-Key") == key);
  CHECK(requests[2].header("Idempotency-Key") != key);
}

TEST_CASE("webhook: the body is signed with the content of a file, and the token is that of another") {
  // openssl dgst -sha256 -hmac key, of the text of RFC 2104's Wikipedia example.
  CHECK(body_signature("key", "The quick brown fox jumps over the lazy dog") ==
        "sha256=f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8");
  TinyHttpServer server([](std::size_t, const TinyRequest&) { return TinyHttpServer::status(200); });
  const TemporaryFile url("url", server.url("/from-file") + "\n");
  const TemporaryFile secret("secret", "s3cret\n");
  const TemporaryFile token("token", "abc.def\n");
  const WebhookSink config{
      .url_file = url.path(), .secret_file = secret.path(), .bearer_token_file = token.path()};
  CHECK(deliver(config).is_taken());
  const std::vector<TinyRequest> requests = server.requests();
  REQUIRE(requests.size() == 1);
  CHECK(requests[0].head.find("POST /from-file ") == 0);
  CHECK(requests[0].header("X-Goodput-Signature") == body_signature("s3cret", requests[0].body));
  CHECK(requests[0].header("Authorization") == "Bearer abc.def");
  CHECK(requests[0].head.find("s3cret") == std::string::npos);
}

TEST_CASE("webhook: answers of all kinds are success, a refusal of this message, or another try") {
  CHECK(answer_to(TinyHttpServer::status(200)).is_taken());
  const SinkAnswer failed = answer_to(TinyHttpServer::status(500, "no\x1b[31m"));
  CHECK(failed.problem == "the server answered with status 500: \"no\\x1b[31m\"");
  CHECK_FALSE(failed.is_refused);
  const SinkAnswer refused = answer_to(TinyHttpServer::status(400, "bad payload"));
  CHECK(refused.problem == "the server answered with status 400: \"bad payload\"");
  CHECK(refused.is_refused);
  const SinkAnswer later =
      answer_to("HTTP/1.1 429 Slow\r\nRetry-After: 120\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  CHECK(later.problem == "the server answered with status 429");
  CHECK_FALSE(later.is_refused);
  CHECK(later.wait_s == 120);
}

TEST_CASE("webhook: redirections are not followed") {
  TinyHttpServer target([](std::size_t, const TinyRequest&) { return TinyHttpServer::status(200); });
  const SinkAnswer answer = answer_to("HTTP/1.1 307 Go\r\nLocation: " + target.url() +
                                      "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  CHECK(answer.problem == "the server answered with status 307, a redirect, which goodput does not follow");
  CHECK(target.requests().empty());
}

TEST_CASE("webhook: what closes early, is no HTTP or says nothing is another try; an endless answer is cut") {
  CHECK_FALSE(answer_to("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf").is_taken());
  CHECK_FALSE(answer_to("").is_taken());
  CHECK_FALSE(answer_to("SSH-2.0-OpenSSH_9.2\r\n").is_taken());
  CHECK(answer_to("HANG", 0.05).problem == "Timeout was reached");
  const std::string megabytes(10 << 20, 'x');
  CHECK(answer_to(TinyHttpServer::status(200, megabytes)).is_taken());
  const SinkAnswer failed = answer_to(TinyHttpServer::status(503, megabytes));
  CHECK(failed.problem.size() < 200);
  CHECK(failed.problem.find("the server answered with status 503: \"xxx") == 0);
  std::string headers = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 10'000; ++i) headers += "X-Header: 0123456789\r\n";
  CHECK_FALSE(answer_to(headers + "\r\n").is_taken());
}

TEST_CASE("webhook: nobody there is another try, and whoever stops us does not wait") {
  std::string url;
  {
    const TinyHttpServer gone([](std::size_t, const TinyRequest&) { return ""; });
    url = gone.url();
  }
  CHECK(deliver({.url = url}).problem == "Couldn't connect to server");
  TinyHttpServer server([](std::size_t, const TinyRequest&) { return "HANG"; });
  const std::atomic<bool> stop = true;
  Result<std::unique_ptr<AlertSink>> sink = make_webhook_sink({.url = server.url()});
  REQUIRE(sink.has_value());
  CHECK((*sink)->deliver({full_incident()}, stop).problem ==
        "the attempt was stopped because the monitor stopped");
}

TEST_CASE("webhook: files of secrets that are missing, empty or no line are refused") {
  const auto message = [](const WebhookSink& config) {
    const auto sink = make_webhook_sink(config);
    REQUIRE_FALSE(sink.has_value());
    return sink.error().message();
  };
  CHECK(message({.url = "http://a/", .secret_file = "/nowhere/s"}) ==
        "/nowhere/s: cannot be read: No such file or directory");
  const TemporaryFile empty("empty", "\n");
  CHECK(message({.url = "http://a/", .bearer_token_file = empty.path()}) ==
        empty.path() + ": is empty; it must contain the secret");
  const TemporaryFile lines("lines", "a\nb\n");
  CHECK(message({.url = "http://a/", .routing_key_file = lines.path()}) ==
        lines.path() + ": must be a single line without control characters");
  const TemporaryFile large("large", std::string(70'000, 'x'));
  CHECK(message({.url = "http://a/", .secret_file = large.path()}) ==
        large.path() + ": is longer than 64 KiB, the limit for a secret");
  const TemporaryFile ftp("ftp", "ftp://a/");
  CHECK(message({.url_file = ftp.path()}) == ftp.path() + ": must be http://HOST/... or https://HOST/...");
}

}  // namespace
}  // namespace goodput
