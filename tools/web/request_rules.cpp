#include "tools/web/request_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/text.h"
#include "tools/web/request_target.h"

namespace goodput {
namespace {

constexpr std::string_view kHostLetters = "abcdefghijklmnopqrstuvwxyz0123456789.-_";
constexpr std::string_view kAddressLetters = "0123456789abcdef:.";

using Refusal = std::optional<HttpResponse>;

// A field that is there twice is a list; one that may be there only once is refused by what reads it.
void add_fields(const RequestHead& head, HttpRequest& request) {
  for (const auto& [name, value] : head.fields) {
    const auto [place, is_new] = request.headers.emplace(name, value);
    if (!is_new) place->second += ", " + value;
  }
}

Refusal refused_method(const std::string& method) {
  if (method == "GET" || method == "HEAD" || method == "POST") return std::nullopt;
  HttpResponse refusal = plain_error(405, "only GET, HEAD and POST are known");
  refusal.headers.emplace_back("Allow", "GET, HEAD, POST");
  return refusal;
}

Refusal refused_host(const HttpRequest& request, const RequestRules& rules) {
  const std::string name = host_name(request.header("host"));
  if (name.empty())
    return plain_error(400, "the header Host, or an absolute target beside it, is to name this server, once");
  const bool is_ours =
      rules.hosts.empty() || std::find(rules.hosts.begin(), rules.hosts.end(), name) != rules.hosts.end();
  if (is_ours) return std::nullopt;
  return plain_error(421, "this server does not go by the name in the header Host or in an absolute target");
}

// The target in origin form. The authority of one in absolute form stands for Host; a Host that is damaged
// stays, and is refused for it (RFC 9112, 3.2 and 3.2.2).
std::string take_authority(const std::string& target, HttpRequest& request) {
  std::optional<AbsoluteTarget> absolute = split_absolute_target(target);
  if (!absolute) return target;
  const bool has_host = !host_name(request.header("host")).empty();
  if (has_host) request.headers.insert_or_assign("host", std::string(absolute->authority));
  return std::move(absolute->origin_form);
}

// What another site's page makes a browser send (CSRF). Others than browsers send none of the two headers.
Refusal refused_origin(const HttpRequest& request) {
  if (request.method != "POST") return std::nullopt;
  const std::string_view origin = request.header("origin");
  const std::string_view site = request.header("sec-fetch-site");
  const bool is_ours = origin.empty() ||
                       equals_lower(fmt::format("http://{}", request.header("host")), origin) ||
                       equals_lower(fmt::format("https://{}", request.header("host")), origin);
  if (is_ours && (site.empty() || site == "same-origin" || site == "none")) return std::nullopt;
  return plain_error(403, "a page of another site sent this");
}

Refusal refused_body(const RequestHead& head, const HttpRequest& request, const RequestRules& rules) {
  const bool has_body = head.is_chunked || head.content_length.value_or(0) != 0;
  if (!has_body) return std::nullopt;
  if (request.method != "POST") return plain_error(400, "only POST comes with a body");
  if (rules.body_bytes == 0) return plain_error(413, "this server takes no bodies");
  if (head.content_length.value_or(0) > rules.body_bytes) {
    return plain_error(413, fmt::format("a body has {} bytes at most", rules.body_bytes));
  }
  return std::nullopt;
}

Refusal refused_expectation(const HttpRequest& request) {
  const std::string_view expectation = request.header("expect");
  if (expectation.empty() || equals_lower("100-continue", expectation)) return std::nullopt;
  return plain_error(417, "only 100-continue can be expected");
}

Refusal first_refusal(const RequestHead& head, const HttpRequest& request, const RequestRules& rules) {
  if (Refusal refusal = refused_method(request.method)) return refusal;
  if (Refusal refusal = refused_host(request, rules)) return refusal;
  if (request.path.empty()) return plain_error(400, "the target of the request is no plain path and query");
  if (Refusal refusal = refused_origin(request)) return refusal;
  if (Refusal refusal = refused_body(head, request, rules)) return refusal;
  return refused_expectation(request);
}

}  // namespace

std::string host_name(std::string_view host) {
  std::string name(host);
  for (char& letter : name) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
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

JudgedRequest judge_request(const RequestHead& head, const RequestRules& rules) {
  JudgedRequest judged;
  judged.request.method = head.method;
  add_fields(head, judged.request);
  const std::string origin_form = take_authority(head.target, judged.request);
  if (std::optional<RequestTarget> target = parse_request_target(origin_form)) {
    judged.request.path = std::move(target->path);
    judged.request.query = std::move(target->query);
  }
  judged.refusal = first_refusal(head, judged.request, rules);
  judged.is_head = head.method == "HEAD";
  if (judged.is_head) judged.request.method = "GET";
  judged.has_body = head.is_chunked || head.content_length.value_or(0) != 0;
  judged.awaits_continue = judged.has_body && !head.is_http_1_0 && !judged.request.header("expect").empty();
  return judged;
}

}  // namespace goodput
