#include "tools/web/request_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/text.h"
#include "tools/web/origin.h"
#include "tools/web/request_target.h"

namespace goodput {
namespace {

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
  HttpResponse refusal = plain_error(405, "only GET, HEAD and POST are allowed");
  refusal.headers.emplace_back("Allow", "GET, HEAD, POST");
  return refusal;
}

Refusal refused_host(const HttpRequest& request, const RequestRules& rules) {
  const std::string name = host_name(request.header("host"));
  if (name.empty())
    return plain_error(400,
                       "the request must name this server exactly once, in the Host header or in an absolute "
                       "request target");
  const bool is_ours =
      rules.hosts.empty() || std::find(rules.hosts.begin(), rules.hosts.end(), name) != rules.hosts.end();
  if (is_ours) return std::nullopt;
  return plain_error(421, fmt::format("{0} is not a name of this server; if users reach this server by that "
                                      "name, start the monitor with --url https://{0} (or http)",
                                      name));
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

Refusal refused_body(const RequestHead& head, const HttpRequest& request, const RequestRules& rules) {
  const bool has_body = head.is_chunked || head.content_length.value_or(0) != 0;
  if (!has_body) return std::nullopt;
  if (request.method != "POST") return plain_error(400, "only POST requests may have a body");
  if (rules.body_bytes == 0) return plain_error(413, "this server does not accept request bodies");
  if (head.content_length.value_or(0) > rules.body_bytes) {
    return plain_error(413, fmt::format("a request body must be at most {} bytes", rules.body_bytes));
  }
  return std::nullopt;
}

Refusal refused_expectation(const HttpRequest& request) {
  const std::string_view expectation = request.header("expect");
  if (expectation.empty() || equals_lower("100-continue", expectation)) return std::nullopt;
  return plain_error(417, "the Expect header must be 100-continue");
}

Refusal first_refusal(const HttpRequest& request, const RequestRules& rules) {
  if (Refusal refusal = refused_method(request.method)) return refusal;
  if (Refusal refusal = refused_host(request, rules)) return refusal;
  if (request.path.empty()) return plain_error(400, "the request target must be a plain path and query");
  if (request.method != "POST") return std::nullopt;
  return refuse_other_site(request, rules.origins);
}

}  // namespace

JudgedRequest judge_request(const RequestHead& head, const RequestRules& rules) {
  JudgedRequest judged;
  judged.request.method = head.method;
  add_fields(head, judged.request);
  const std::string origin_form = take_authority(head.target, judged.request);
  if (std::optional<RequestTarget> target = parse_request_target(origin_form)) {
    judged.request.path = std::move(target->path);
    judged.request.query = std::move(target->query);
  }
  judged.refusal = first_refusal(judged.request, rules);
  judged.body_refusal = refused_body(head, judged.request, rules);
  if (!judged.body_refusal) judged.body_refusal = refused_expectation(judged.request);
  judged.is_head = head.method == "HEAD";
  if (judged.is_head) judged.request.method = "GET";
  judged.has_body = head.is_chunked || head.content_length.value_or(0) != 0;
  judged.awaits_continue = judged.has_body && !head.is_http_1_0 && !judged.request.header("expect").empty();
  return judged;
}

}  // namespace goodput
