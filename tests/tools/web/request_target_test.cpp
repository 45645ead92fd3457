#include "tools/web/request_target.h"

#include <doctest/doctest.h>

#include <string>

namespace goodput::testing {
namespace {

std::string path_of(std::string_view target) {
  const auto parsed = parse_request_target(target);
  return parsed ? parsed->path : "refused";
}

std::string parameter_of(std::string_view target, std::string_view name) {
  const auto parsed = parse_request_target(target);
  if (!parsed) return "refused";
  const auto found = parsed->query.find(name);
  return found == parsed->query.end() ? "none" : found->second;
}

}  // namespace

TEST_CASE("request target: path and query are decoded") {
  CHECK(path_of("/") == "/");
  CHECK(path_of("/jobs/") == "/jobs/");
  CHECK(path_of("/a%20b+c%2B?x") == "/a b+c+");
  CHECK(path_of("/%E4%BD%9C%e4%b8%9a") == "/\xe4\xbd\x9c\xe4\xb8\x9a");
  CHECK(parameter_of("/?a=1+2%2b&b&a=3=4&&c=", "a") == "3=4");
  CHECK(parameter_of("/?a=1+2%2b&b&c=", "b") == "");
  CHECK(parameter_of("/?a=1+2%2b&b&c=", "a") == "1 2+");
  CHECK(parameter_of("/?%61%20=x", "a ") == "x");
}

TEST_CASE("request target: what others may read otherwise is refused") {
  for (const std::string_view target : {"",
                                        "*",
                                        "jobs",
                                        "http://localhost/jobs",
                                        "localhost:80",
                                        "//evil",
                                        "/a//b",
                                        "/.",
                                        "/..",
                                        "/a/../b",
                                        "/a/./b",
                                        "/%2e%2e/x",
                                        "/.%2E",
                                        "/a%2fb",
                                        "/a%5cb",
                                        "/a\\b",
                                        "/a#b",
                                        "/%",
                                        "/%4",
                                        "/%zz",
                                        "/%00",
                                        "/a%0d%0a",
                                        "/%7f",
                                        "/%c0%af",
                                        "/%e0%80%af",
                                        "/%ed%a0%80",
                                        "/%f4%90%80%80",
                                        "/%ff",
                                        "/%e4%bd",
                                        "/?a=%00",
                                        "/?%c0%af=1",
                                        "/?a=%2",
                                        "/?a#b",
                                        "\xff"}) {
    CAPTURE(target);
    CHECK(path_of(target) == "refused");
  }
}

TEST_CASE("request target: the absolute form is an authority and the origin form") {
  const auto parts = [](std::string_view target) {
    const auto split = split_absolute_target(target);
    return split ? std::string(split->authority) + " " + split->origin_form : "another form";
  };
  CHECK(parts("http://localhost:80/a?b=/c") == "localhost:80 /a?b=/c");
  CHECK(parts("HTTP://a") == "a /");
  CHECK(parts("http://a?b") == "a /?b");
  CHECK(parts("http:///a") == " /a");
  CHECK(parts("/http://a/") == "another form");
  CHECK(parts("http:/") == "another form");
  CHECK(parts("https://a/") == "another form");
}

TEST_CASE("request target: length and parameters have limits") {
  CHECK(path_of("/" + std::string(kMostTargetBytes - 1, 'a')).size() == kMostTargetBytes);
  CHECK(path_of("/" + std::string(kMostTargetBytes, 'a')) == "refused");
  std::string query = "/?";
  for (std::size_t i = 0; i + 1 < kMostParameters; ++i) query += "&";
  CHECK(path_of(query) == "/");
  CHECK(path_of(query + "&") == "refused");
}

}  // namespace goodput::testing
