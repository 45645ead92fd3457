#include "tools/web/request_rules.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace goodput::testing {
namespace {

// Lines without their ends; 0: the head is malformed.
int rules_status(const std::vector<std::string>& lines, const RequestRules& rules) {
  std::string text;
  for (const std::string& line : lines) text += line + "\r\n";
  text += "\r\n";
  RequestParser parser;
  const Result<RequestHead> head = parser.read_head(text);
  if (!head) return 0;
  const JudgedRequest judged = judge_request(*head, rules);
  if (judged.refusal) return judged.refusal->status;
  return judged.body_refusal ? judged.body_refusal->status : 200;
}

const RequestRules& local_rules() {
  static const RequestRules kRules{
      {"localhost", "127.0.0.1", "[::1]"}, {"https://goodput.example.org"}, 1000};
  return kRules;
}

int with_host(const std::string& host) {
  return rules_status({"GET / HTTP/1.1", "Host: " + host}, local_rules());
}

int with(const std::string& request_line, const std::vector<std::string>& more) {
  std::vector<std::string> lines{request_line, "Host: localhost:8080"};
  lines.insert(lines.end(), more.begin(), more.end());
  return rules_status(lines, local_rules());
}

}  // namespace

TEST_CASE("request rules: only names of this machine are served, for others may lead here too") {
  for (const char* host : {"localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]", "[::1]:80", "localhost:"}) {
    CAPTURE(host);
    CHECK(with_host(host) == 200);
  }
  for (const char* host : {"evil.example", "localhost.evil.example:8080", "127.0.0.1.nip.io", "10.0.0.1"}) {
    CAPTURE(host);
    CHECK(with_host(host) == 421);
  }
  for (const char* host :
       {"", ":80", "local host", "localhost:80x", "[::1", "[]", "localhost/", "a@localhost"}) {
    CAPTURE(host);
    CHECK(with_host(host) == 400);
  }
  CHECK(rules_status({"GET / HTTP/1.1"}, local_rules()) == 400);
  CHECK(with("GET / HTTP/1.1", {"Host: localhost"}) == 400);  // twice
  CHECK(rules_status({"GET / HTTP/1.1", "Host: any.example"}, {}) == 200);
}

TEST_CASE("request rules: methods are GET, HEAD and POST") {
  CHECK(with("HEAD / HTTP/1.1", {}) == 200);
  CHECK(with("POST / HTTP/1.1", {}) == 200);
  for (const char* line : {"PUT / HTTP/1.1", "DELETE / HTTP/1.1", "OPTIONS * HTTP/1.1",
                           "CONNECT a:1 HTTP/1.1", "get / HTTP/1.1", "TRACE / HTTP/1.1"}) {
    CAPTURE(line);
    CHECK(with(line, {}) == 405);
  }
}

TEST_CASE("request rules: a target in absolute form names the host, whatever Host says") {
  for (const char* target :
       {"http://localhost/", "HTTP://LocalHost:8080/jobs?q=1", "http://127.0.0.1", "http://[::1]:80?q=1"}) {
    CAPTURE(target);
    CHECK(with(fmt::format("GET {} HTTP/1.1", target), {}) == 200);
    CHECK(rules_status({fmt::format("GET {} HTTP/1.1", target), "Host: proxy.example"}, local_rules()) ==
          200);
    CHECK(rules_status({fmt::format("GET {} HTTP/1.1", target)}, local_rules()) == 400);  // Host is wanted
    CHECK(rules_status({fmt::format("GET {} HTTP/1.1", target), "Host: a b"}, local_rules()) == 400);
  }
  CHECK(with("GET http://evil.example/ HTTP/1.1", {}) == 421);
  for (const char* target :
       {"http://", "http:///", "http://:80/", "http://a@localhost/", "http://localhost:x/",
        "http:/localhost/", "http:localhost", "https://localhost/", "ftp://localhost/",
        "http://localhost/../", "http://localhost//a", "http://localhost#a", "http://localhost\\a"}) {
    CAPTURE(target);
    CHECK(with(fmt::format("GET {} HTTP/1.1", target), {}) == 400);
  }
}

TEST_CASE("request rules: a POST to an absolute target is from that host's own page, or refused") {
  CHECK(with("POST http://127.0.0.1:80/ HTTP/1.1", {"Origin: http://127.0.0.1:80"}) == 200);
  CHECK(with("POST http://127.0.0.1:80/ HTTP/1.1", {"Origin: http://localhost:8080"}) == 403);
}

TEST_CASE("request rules: a POST that another site's page sends is refused") {
  CHECK(with("POST / HTTP/1.1", {"Origin: http://localhost:8080"}) == 200);
  CHECK(with("POST / HTTP/1.1", {"Origin: https://goodput.example.org", "Sec-Fetch-Site: same-origin"}) ==
        200);
  for (const char* origin : {"null", "http://localhost", "https://localhost:8080", "http://localhost:8081",
                             "http://evil.example", "http://localhost:8080.evil.example"}) {
    CAPTURE(origin);
    CHECK(with("POST / HTTP/1.1", {fmt::format("Origin: {}", origin)}) == 403);
  }
  CHECK(with("POST / HTTP/1.1", {"Sec-Fetch-Site: cross-site"}) == 403);
  CHECK(with("GET / HTTP/1.1", {"Origin: http://evil.example"}) == 200);  // it may not read what comes
}

TEST_CASE("request rules: a body is judged after the rest, so that a gate is asked before") {
  RequestParser parser;
  const auto head = parser.read_head("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n");
  REQUIRE(head);
  const JudgedRequest judged = judge_request(*head, local_rules());
  CHECK_FALSE(judged.refusal);
  REQUIRE(judged.body_refusal);
  CHECK(judged.body_refusal->status == 413);
}

TEST_CASE("request rules: a name that is not the server's is refused with what to do if it should be") {
  RequestParser parser;
  const auto head = parser.read_head("GET / HTTP/1.1\r\nHost: Goodput.example:8443\r\n\r\n");
  REQUIRE(head);
  const JudgedRequest judged = judge_request(*head, local_rules());
  REQUIRE(judged.refusal);
  CHECK(judged.refusal->body ==
        "{\"error\":\"goodput.example is not a name of this server; if users reach this server by that name, "
        "start the monitor with --url https://goodput.example (or http)\"}\n");
}

TEST_CASE("request rules: bodies are those of POST, of a size that is known to fit") {
  CHECK(with("POST / HTTP/1.1", {"Content-Length: 1000"}) == 200);
  CHECK(with("POST / HTTP/1.1", {"Transfer-Encoding: chunked"}) == 200);
  CHECK(with("POST / HTTP/1.1", {"Content-Length: 1001"}) == 413);
  CHECK(with("POST / HTTP/1.1", {"Content-Length: 18446744073709551615"}) == 413);
  CHECK(with("GET / HTTP/1.1", {"Content-Length: 1"}) == 400);
  CHECK(with("GET / HTTP/1.1", {"Content-Length: 0"}) == 200);
  CHECK(with("POST / HTTP/1.1", {"Content-Length: 5", "Expect: 100-continue"}) == 200);
  CHECK(with("POST / HTTP/1.1", {"Content-Length: 5", "Expect: something"}) == 417);
  CHECK(rules_status({"POST / HTTP/1.1", "Host: a", "Content-Length: 1"}, {}) == 413);
}

TEST_CASE("request rules: requests whose end is a matter of opinion are malformed") {
  for (const auto& more :
       std::vector<std::vector<std::string>>{{"Content-Length: 5", "Content-Length: 6"},
                                             {"Content-Length: 5", "Transfer-Encoding: chunked"},
                                             {"Transfer-Encoding: chunked", "Content-Length: 5"},
                                             {"Transfer-Encoding: chunked", "Transfer-Encoding: chunked"},
                                             {"Transfer-Encoding: gzip, chunked"},
                                             {"Transfer-Encoding: chunked, identity"},
                                             {"Transfer-Encoding: identity"},
                                             {"Transfer-Encoding : chunked"},
                                             {"Content-Length: -1"},
                                             {"Content-Length: +5"},
                                             {"Content-Length: 0x5"},
                                             {"Content-Length: 18446744073709551616"},
                                             {"No colon"},
                                             {": no name"},
                                             {std::string("Bell: \x07")}}) {
    CAPTURE(more.front());
    CHECK(with("POST / HTTP/1.1", more) == 0);
  }
  CHECK(with("POST / HTTP/1.0", {"Transfer-Encoding: chunked"}) == 0);
  for (const char* line :
       {"GET / HTTP/2.0", "GET /", "GET / FTP/1.1", "GET  / HTTP/1.1", "GET /\x01 HTTP/1.1"}) {
    CAPTURE(line);
    CHECK(with(line, {}) == 0);
  }
}

TEST_CASE("request parser: a header that is continued on the next line is refused, wherever it is") {
  const std::string folded =
      "a header line begins with a space or a tab; continued headers are not accepted, so send each header "
      "on one line";
  for (const char* head :
       {"GET / HTTP/1.1\r\n Host: localhost\r\n\r\n", "GET / HTTP/1.1\r\n\tHost: localhost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\n evil.example\r\n\r\n",
        "GET / HTTP/1.1\r\nHost:\r\n\tlocalhost\r\n\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\n \r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: a\r\n b\r\nX: y\r\n\r\n"}) {
    CAPTURE(head);
    const auto read = RequestParser().read_head(head);
    REQUIRE_FALSE(read);
    CHECK(read.error().what == folded);
  }
  const auto junk = RequestParser().read_head("GET\r\n\r\n");
  REQUIRE_FALSE(junk);
  CHECK(junk.error().what == "this is not an HTTP request");
}

// Byte by byte: the body, and what is behind it.
std::pair<std::string, std::string> read_chunks(const std::string& body) {
  RequestParser parser;
  REQUIRE(parser.read_head("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"));
  std::string input;
  std::size_t given = 0;
  auto state = RequestParser::State::kMore;
  while (state == RequestParser::State::kMore) {
    REQUIRE(given < body.size());
    input += body[given++];
    const auto progress = parser.read_body(input, 13);
    input.erase(0, progress.used);
    state = progress.state;
  }
  CHECK(state == RequestParser::State::kComplete);
  return {parser.take_body(), body.substr(given)};
}

TEST_CASE("request parser: a body comes in pieces of any size") {
  using Read = std::pair<std::string, std::string>;
  CHECK(read_chunks("3\r\nabc\r\nA;x=1\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nGET") ==
        Read{"abc0123456789", "GET"});
  CHECK(read_chunks("0\r\n\r\nGET") == Read{"", "GET"});
}

TEST_CASE("request parser: a chunk that does not fit is refused by its length alone") {
  RequestParser parser;
  REQUIRE(parser.read_head("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"));
  CHECK(parser.read_body("3\r\nabc\r\nB\r\n", 13).state == RequestParser::State::kTooLarge);
}

}  // namespace goodput::testing
