#include "tools/web/access.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace goodput::testing {
namespace {

constexpr const char* kToken = "0123456789abcdef";

// A file of this test, gone with it.
class TokenFile {
 public:
  explicit TokenFile(const std::string& text, mode_t mode = 0600)
      : path_(std::filesystem::temp_directory_path() / fmt::format("goodput_token_{}", getpid())) {
    std::ofstream(path_) << text;
    chmod(path_.c_str(), mode);
  }
  ~TokenFile() { std::filesystem::remove(path_); }
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;
  [[nodiscard]] std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string access_error(const AccessOptions& options) {
  const auto access = read_access(options);
  if (access) return {};
  return fmt::format("[{}] {}", access.error().option,
                     access.error().message([](std::string_view key) { return "--" + std::string(key); }));
}

int access_status(const std::string& authorization, const std::string& path = "/") {
  HttpRequest request;
  request.method = "GET";
  request.path = path;
  if (!authorization.empty()) request.headers["authorization"] = authorization;
  const auto refusal = refuse_stranger(AccessToken(kToken), request, {"/healthz"});
  return refusal ? refusal->status : 200;
}

HttpRequest action_of(const std::string& authorization, const std::string& origin = {}) {
  HttpRequest request;
  request.method = "POST";
  request.path = "/healthz";
  request.headers["host"] = "localhost:8646";
  if (!authorization.empty()) request.headers["authorization"] = authorization;
  if (!origin.empty()) request.headers["origin"] = origin;
  return request;
}

int action_status(const HttpRequest& request) {
  const auto refusal = refuse_action(AccessToken(kToken), request, {"https://goodput.example.org"});
  return refusal ? refusal->status : 200;
}

std::string user_in(const std::string& authorization) {
  return user_of(action_of(authorization));
}

}  // namespace

TEST_CASE("web access: this machine needs no token, others need one and a proxy") {
  const TokenFile file(fmt::format("\n {}\r\n", kToken));
  CHECK(access_error({}).empty());
  CHECK(access_error({.address = "::1"}).empty());
  CHECK(access_error({.address = "127.8.9.10"}).empty());
  CHECK(access_error({.address = "0.0.0.0"}) ==
        "[token_file] --token_file is required to listen on 0.0.0.0, which other machines can reach");
  CHECK(access_error({.address = "10.0.0.1", .token_file = file.path()}) ==
        "[behind_proxy] --behind_proxy is required to listen on 10.0.0.1, because tokens may only be sent "
        "through a proxy that handles TLS");
  CHECK(access_error({.address = "::", .token_file = file.path(), .behind_proxy = true}).empty());
  CHECK(access_error({.takes_pushes = true}) ==
        "[token_file] --token_file is required to accept pushed rows");
  CHECK(access_error({.token_file = file.path(), .takes_pushes = true}).empty());
  CHECK(access_error({.address = "localhost"}) == "[address] --address: \"localhost\" is not an IP address");
}

TEST_CASE("web access: a token is one long word that not everybody can read") {
  const std::string too_short =
      "the token must be one word of at least 16 printable characters; create a token with 'openssl rand "
      "-hex 32'";
  for (const char* text : {"0123456789abcde\n", "0123456789 abcdef", "0123456789abcde\xc3\xa9"}) {
    const TokenFile file(text);
    CHECK(AccessToken::read(file.path()).error().message() == file.path() + ": " + too_short);
  }
  const TokenFile open_to_all(kToken, 0644);
  CHECK(AccessToken::read(open_to_all.path()).error().message() ==
        open_to_all.path() + ": other users can read this token file; run chmod o-rwx on it");
  CHECK(AccessToken::read("/nonexistent/token").error().where.file == "/nonexistent/token");
}

TEST_CASE("web access: the token is a bearer's, or the password of any user") {
  CHECK(access_status("Bearer 0123456789abcdef") == 200);
  CHECK(access_status("bearer  0123456789abcdef") == 200);
  CHECK(access_status("Basic YTowMTIzNDU2Nzg5YWJjZGVm") == 200);  // a:0123456789abcdef
  CHECK(access_status("basic OjAxMjM0NTY3ODlhYmNkZWY=") == 200);  // :0123456789abcdef
  for (const char* authorization :
       {"", "Bearer", "Bearer ", "Bearer 0123456789abcdeF", "Bearer 0123456789abcdef0", "Basic",
        "Basic MDEyMzQ1Njc4OWFiY2RlZg==", "Basic YTowMTIzNDU2Nzg5YWJjZGV", "Basic ====", "Basic !!!!",
        "Digest 0123456789abcdef", "Bearer 0123456789abcdef, Bearer 0123456789abcdef"}) {
    CAPTURE(authorization);
    CHECK(access_status(authorization) == 401);
  }
  CHECK(access_status("", "/healthz") == 200);
  CHECK(access_status("", "/healthz/x") == 401);
}

TEST_CASE("web access: whoever is refused is asked for the token; without one nobody is") {
  const auto refusal = refuse_stranger(AccessToken(kToken), {}, {});
  REQUIRE(refusal);
  CHECK(refusal->body ==
        "{\"error\":\"an access token is required; send it as a bearer token, or as the password with any "
        "user name\"}\n");
  REQUIRE(refusal->headers.size() == 1);
  CHECK(refusal->headers[0].first == "WWW-Authenticate");
  CHECK(refusal->headers[0].second == "Basic realm=\"goodput\", charset=\"UTF-8\"");
  CHECK_FALSE(refuse_stranger(std::nullopt, {}, {}));
}

TEST_CASE("web access: nobody may change anything on a server without a token") {
  const auto refusal = refuse_action(std::nullopt, action_of("Bearer 0123456789abcdef"), {});
  REQUIRE(refusal);
  CHECK(refusal->status == 403);
  CHECK(refusal->body == "{\"error\":\"start the monitor with --token-file to allow this\"}\n");
}

TEST_CASE("web access: whoever changes something says the token, from a page of this server if from any") {
  const std::string bearer = "Bearer 0123456789abcdef";
  const std::string basic = "Basic YTowMTIzNDU2Nzg5YWJjZGVm";  // a:0123456789abcdef
  CHECK(action_status(action_of(bearer)) == 200);
  CHECK(action_status(action_of(basic, "http://localhost:8646")) == 200);
  CHECK(action_status(action_of(basic, "https://goodput.example.org")) == 200);
  CHECK(action_status(action_of("")) == 401);  // whatever the path
  CHECK(action_status(action_of("Bearer 0123456789abcdeF", "http://localhost:8646")) == 401);
  CHECK(action_status(action_of(basic, "https://evil.example")) == 403);
  CHECK(action_status(action_of(bearer, "null")) == 403);
  HttpRequest elsewhere = action_of(basic);
  elsewhere.headers["sec-fetch-site"] = "cross-site";
  CHECK(action_status(elsewhere) == 403);
  CHECK(refuse_action(AccessToken(kToken), action_of(""), {})->headers[0].first == "WWW-Authenticate");
}

TEST_CASE("web access: the user of a request is the one of its Basic credentials") {
  CHECK(user_in("Basic YW5uOjAxMjM0NTY3ODlhYmNkZWY=") == "ann");  // ann:0123456789abcdef
  CHECK(user_in("basic OjAxMjM0NTY3ODlhYmNkZWY=").empty());       // :0123456789abcdef
  CHECK(user_in("Basic w6k6eDp5") == "\xc3\xa9");                 // U+00E9:x:y
  CHECK(user_in("Basic CTp4").empty());                           // a tab
  CHECK(user_in("Basic /zp4").empty());                           // not UTF-8
  for (const char* authorization : {"", "Bearer 0123456789abcdef", "Basic MDEy", "Basic !!!!"}) {
    CAPTURE(authorization);
    CHECK(user_in(authorization).empty());
  }
}

}  // namespace goodput::testing
