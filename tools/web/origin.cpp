#include "tools/web/origin.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::string_view kHostLetters = "abcdefghijklmnopqrstuvwxyz0123456789.-_";
constexpr std::string_view kAddressLetters = "0123456789abcdef:.";
constexpr std::int64_t kMostPort = 65'535;

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lower;
}

}  // namespace

std::string host_name(std::string_view host) {
  std::string name = in_lower_case(host);
  const bool is_address = name.starts_with('[');
  std::size_t end = is_address ? name.find(']') : name.find(':');
  if (is_address) {
    if (end == std::string::npos || end < 2) return {};
    if (name.find_first_not_of(kAddressLetters, 1) != end) return {};
    ++end;
  }
  end = std::min(end, name.size());
  if (end == 0 || (!is_address && name.find_first_not_of(kHostLetters) < end)) return {};
  if (end < name.size()) {
    const std::string_view port = std::string_view(name).substr(end);
    if (port.front() != ':' || port.find_first_not_of("0123456789", 1) != std::string_view::npos) return {};
  }
  name.resize(end);
  return name;
}

std::optional<std::string> origin_of(std::string_view url) {
  const std::size_t colon = url.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string scheme = in_lower_case(url.substr(0, colon));
  if (scheme != "http" && scheme != "https") return std::nullopt;
  std::string_view authority = url.substr(colon + 3);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  const std::string host = host_name(authority);
  if (host.empty()) return std::nullopt;
  const std::string_view port = authority.substr(std::min(host.size() + 1, authority.size()));
  if (port.empty()) return fmt::format("{}://{}", scheme, host);
  const std::optional<std::int64_t> number = parse_integer(port);
  if (!number || *number < 1 || *number > kMostPort) return std::nullopt;
  if (*number == (scheme == "http" ? 80 : 443)) return fmt::format("{}://{}", scheme, host);
  return fmt::format("{}://{}:{}", scheme, host, *number);
}

std::optional<HttpResponse> refuse_other_site(const HttpRequest& request,
                                              const std::vector<std::string>& own_origins) {
  const std::string_view header = request.header("origin");
  const std::string_view site = request.header("sec-fetch-site");
  const std::optional<std::string> origin = origin_of(header);
  if (!header.empty() && !origin) return plain_error(403, "this request came from a page of another site");
  const bool is_own = !origin || *origin == origin_of(fmt::format("http://{}", request.header("host"))) ||
                      std::find(own_origins.begin(), own_origins.end(), *origin) != own_origins.end();
  if (!is_own) {
    return plain_error(
        403, fmt::format("this request came from a page at {0}, which is not a known address of this server; "
                         "if the server has this address, start the monitor with --url {0}",
                         *origin));
  }
  if (site.empty() || site == "same-origin" || site == "none") return std::nullopt;
  return plain_error(403, "this request came from a page of another site");
}

}  // namespace goodput
