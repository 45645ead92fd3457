#include "tools/web/access.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sim/base/text.h"
#include "tools/web/ip_address.h"
#include "tools/web/origin.h"
#include "tools/web/url_encoding.h"
#include "traces/io/byte_source.h"

namespace goodput {
namespace {

constexpr std::size_t kLeastTokenBytes = 16;
constexpr std::size_t kMostTokenBytes = 4096;
constexpr std::string_view kBlanks = " \t\r\n";

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin));
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char letter) { return letter > ' ' && letter <= '~'; });
}

// Nothing: no base64.
std::optional<std::string> decoded_base64(std::string_view text) {
  constexpr std::size_t kQuad = 4;
  if (text.empty() || text.size() % kQuad != 0 || text.size() > 2 * kMostTokenBytes) return std::nullopt;
  std::string bytes(text.size() / kQuad * 3, '\0');
  const int count =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (count != static_cast<int>(bytes.size())) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  bytes.resize(bytes.size() - padding);
  return bytes;
}

// "TOKEN" of "bearer TOKEN"; nothing: another scheme.
std::optional<std::string_view> credentials_of(std::string_view header, std::string_view scheme) {
  if (header.size() <= scheme.size() || header[scheme.size()] != ' ') return std::nullopt;
  if (!equals_lower(scheme, header.substr(0, scheme.size()))) return std::nullopt;
  header.remove_prefix(scheme.size());
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

struct BasicCredentials {
  std::string user;
  std::string password;
};

std::optional<BasicCredentials> basic_credentials(std::string_view header) {
  const auto encoded = credentials_of(header, "basic");
  if (!encoded) return std::nullopt;
  const std::optional<std::string> text = decoded_base64(*encoded);
  const std::size_t colon = text ? text->find(':') : std::string::npos;
  if (colon == std::string::npos) return std::nullopt;
  return BasicCredentials{text->substr(0, colon), text->substr(colon + 1)};
}

}  // namespace

Result<AccessToken> AccessToken::read(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && (status.st_mode & S_IRWXO) != 0) {
    return Error{"other users can read this token file; run chmod o-rwx on it", {.file = path}}.of_option(
        "token_file");
  }
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  GOODPUT_TRY(const std::string text, read_all(source, kMostTokenBytes));
  std::string token = trimmed(text);
  if (token.size() < kLeastTokenBytes || !is_printable(token)) {
    return Error{fmt::format("the token must be one word of at least {} printable characters; create a token "
                             "with 'openssl rand -hex 32'",
                             kLeastTokenBytes),
                 {.file = path}}
        .of_option("token_file");
  }
  return AccessToken(std::move(token));
}

bool AccessToken::is(std::string_view text) const {
  return text.size() == text_.size() && CRYPTO_memcmp(text.data(), text_.data(), text_.size()) == 0;
}

bool AccessToken::is_in(const HttpRequest& request) const {
  const std::string_view header = request.header("authorization");
  if (const auto token = credentials_of(header, "bearer")) return is(*token);
  const std::optional<BasicCredentials> basic = basic_credentials(header);
  return basic && is(basic->password);
}

Result<std::optional<AccessToken>> read_access(const AccessOptions& options) {
  const AddressKind kind = address_kind(options.address);
  if (kind == AddressKind::kNone) {
    return Error{fmt::format("{} is not an IP address", in_quotes(options.address))}.of_option("address");
  }
  if (kind == AddressKind::kOther && options.token_file.empty()) {
    return Error{fmt::format("{} is required to listen on {}, which other machines can reach", kOption,
                             options.address)}
        .of_option("token_file");
  }
  if (kind == AddressKind::kOther && !options.behind_proxy) {
    return Error{fmt::format("{} is required to listen on {}, because tokens may only be sent through a "
                             "proxy that handles TLS",
                             kOption, options.address)}
        .of_option("behind_proxy");
  }
  if (options.takes_pushes && options.token_file.empty()) {
    return Error{fmt::format("{} is required to accept pushed rows", kOption)}.of_option("token_file");
  }
  if (options.token_file.empty()) return std::optional<AccessToken>();
  GOODPUT_TRY(AccessToken token, AccessToken::read(options.token_file));
  return std::optional(std::move(token));
}

std::optional<HttpResponse> refuse_stranger(const std::optional<AccessToken>& token,
                                            const HttpRequest& request,
                                            const std::vector<std::string>& open_paths) {
  const bool is_open = request.method == "GET" &&
                       std::find(open_paths.begin(), open_paths.end(), request.path) != open_paths.end();
  if (!token || is_open || token->is_in(request)) return std::nullopt;
  HttpResponse refusal = plain_error(
      401, "an access token is required; send it as a bearer token, or as the password with any user name");
  refusal.headers.emplace_back("WWW-Authenticate", "Basic realm=\"goodput\", charset=\"UTF-8\"");
  return refusal;
}

std::optional<HttpResponse> refuse_action(const std::optional<AccessToken>& token, const HttpRequest& request,
                                          const std::vector<std::string>& own_origins) {
  if (!token) return plain_error(403, "start the monitor with --token-file to allow this");
  if (auto refusal = refuse_stranger(token, request, {})) return refusal;
  return refuse_other_site(request, own_origins);
}

std::string user_of(const HttpRequest& request) {
  const std::optional<BasicCredentials> basic = basic_credentials(request.header("authorization"));
  if (!basic || !is_plain_text(basic->user)) return {};
  return basic->user;
}

}  // namespace goodput
