// Which requests a server takes at all, whatever its pages are: framing, names of the host, origins.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/web/http_message.h"
#include "tools/web/request_parser.h"

namespace goodput {

struct RequestRules {
  // Names that Host may have, in lower case, without the port; empty: any. A page of somebody else's whose
  // name is made to lead here (DNS rebinding) comes with its own.
  std::vector<std::string> hosts;
  std::vector<std::string> origins{};  // of this server's own pages, besides http and the name in Host
  std::size_t body_bytes = 0;          // of a request; 0: no bodies
};

struct JudgedRequest {
  HttpRequest request;  // without its body
  bool is_head = false;
  bool has_body = false;
  bool awaits_continue = false;  // the client sends the body once it is told to
  // The connection is to be closed with them. What is wrong with the body comes last: first it is asked who
  // sends it, and what for.
  std::optional<HttpResponse> refusal{};
  std::optional<HttpResponse> body_refusal{};
};

[[nodiscard]] JudgedRequest judge_request(const RequestHead& head, const RequestRules& rules);

}  // namespace goodput
