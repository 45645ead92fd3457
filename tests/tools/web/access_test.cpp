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

}  // namespace

TEST_CASE("web access: this machine needs no token, others need one and a proxy") {
  const TokenFile file(fmt::format("\n {}\r\n", kToken));
  CHECK(access_error({}).empty());
  CHECK(access_error({.address = "::1"}).empty());
  CHECK(access_error({.address = "127.8.9.10"}).empty());
  CHECK(access_error({.address = "0.0.0.0"}) ==
        "[token_file] --token_file is needed to listen on 0.0.0.0, which others reach");
  CHECK(
      access_error({.address = "10.0.0.1", .token_file = file.path()}) ==
      "[behind_proxy] --behind_proxy is needed to listen on 10.0.0.1: tokens are to go through a proxy that "
      "does TLS");
  CHECK(access_error({.address = "::", .token_file = file.path(), .behind_proxy = true}).empty());
  CHECK(access_error({.takes_pushes = true}) ==
        "[token_file] --token_file is needed to take what others push");
  CHECK(access_error({.token_file = file.path(), .takes_pushes = true}).empty());
  CHECK(access_error({.address = "localhost"}) == "[address] --address: \"localhost\" is no IP address");
}

TEST_CASE("web access: a token is one long word that not everybody can read") {
  const std::string too_short =
      "a token is one word of at least 16 printable characters: openssl rand -hex 32";
  for (const char* text : {"0123456789abcde\n", "0123456789 abcdef", "0123456789abcde\xc3\xa9"}) {
    const TokenFile file(text);
    CHECK(AccessToken::read(file.path()).error().message() == file.path() + ": " + too_short);
  }
  const TokenFile open_to_all(kToken, 0644);
  CHECK(AccessToken::read(open_to_all.path()).error().message() ==
        open_to_all.path() + ": others may read this token: chmod o-rwx it");
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
        "{\"error\":\"the token is needed: as a bearer, or as the password of any user\"}\n");
  REQUIRE(refusal->headers.size() == 1);
  CHECK(refusal->headers[0].first == "WWW-Authenticate");
  CHECK(refusal->headers[0].second == "Basic realm=\"goodput\", charset=\"UTF-8\"");
  CHECK_FALSE(refuse_stranger(std::nullopt, {}, {}));
}

}  // namespace goodput::testing
