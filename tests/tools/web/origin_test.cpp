#include "tools/web/origin.h"

#include <doctest/doctest.h>

#include <string>

namespace goodput::testing {
namespace {

// What is answered to a POST of that origin to a server that people reach by
// https://goodput.example.org:8443.
std::string answer_to_origin(const std::string& origin, const std::string& site = {},
                             const std::string& host = "goodput.example.org") {
  HttpRequest request;
  request.headers["host"] = host;
  if (!origin.empty()) request.headers["origin"] = origin;
  if (!site.empty()) request.headers["sec-fetch-site"] = site;
  const auto refusal = refuse_other_site(request, {"https://goodput.example.org:8443"});
  return refusal ? std::to_string(refusal->status) + " " + refusal->body : "taken";
}

}  // namespace

TEST_CASE("origin: an origin is the scheme, the host and a port that is not the default of the scheme") {
  CHECK(origin_of("HTTPS://Goodput.Example.org") == "https://goodput.example.org");
  CHECK(origin_of("https://goodput.example.org:443/pages?q#f") == "https://goodput.example.org");
  CHECK(origin_of("https://goodput.example.org:80/") == "https://goodput.example.org:80");
  CHECK(origin_of("http://[::1]:80") == "http://[::1]");
  CHECK(origin_of("http://[::1]:08646") == "http://[::1]:8646");
  CHECK(origin_of("http://localhost:") == "http://localhost");
  for (const char* text :
       {"", "null", "goodput.example.org", "https://", "https:///a", "ftp://a", "https://a b",
        "https://user@a", "https://a:0", "https://a:65536", "https://a:x", "https://[::1"}) {
    CAPTURE(text);
    CHECK_FALSE(origin_of(text));
  }
}

TEST_CASE("origin: a page of this server's own may send something, by its public and its local address") {
  CHECK(answer_to_origin("https://goodput.example.org:8443", "same-origin") == "taken");
  CHECK(answer_to_origin("https://Goodput.Example.org:8443") == "taken");
  CHECK(answer_to_origin("http://127.0.0.1:8646", "same-origin", "127.0.0.1:8646") == "taken");
  CHECK(answer_to_origin("http://localhost", "", "LOCALHOST:80") == "taken");
}

TEST_CASE("origin: a program that is not a browser says nothing about where a request comes from") {
  CHECK(answer_to_origin("") == "taken");
  CHECK(answer_to_origin("", "none") == "taken");  // a person typed the address
}

TEST_CASE("origin: a page of another site may send nothing, and a forgotten --url is named") {
  const std::string other = "403 {\"error\":\"this request came from a page of another site\"}\n";
  CHECK(answer_to_origin("null") == other);
  CHECK(answer_to_origin("", "cross-site") == other);
  CHECK(answer_to_origin("", "same-site") == other);
  CHECK(answer_to_origin("https://goodput.example.org:8443", "cross-site") == other);
  CHECK(answer_to_origin("https://goodput.example.org:8443.evil.example") == other);
  CHECK(answer_to_origin("https://evil.example") ==
        "403 {\"error\":\"this request came from a page at https://evil.example, which is not a known "
        "address of this server; if the server has this address, start the monitor with --url "
        "https://evil.example\"}\n");
  for (const char* origin :
       {"https://goodput.example.org", "http://goodput.example.org:8443", "http://localhost"}) {
    CAPTURE(origin);
    CHECK(answer_to_origin(origin).starts_with("403"));
  }
}

}  // namespace goodput::testing
