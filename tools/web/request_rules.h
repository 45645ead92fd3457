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
  std::size_t body_bytes = 0;  // of a request; 0: no bodies
};

struct JudgedRequest {
  HttpRequest request;  // without its body
  bool is_head = false;
  bool has_body = false;
  bool awaits_continue = false;           // the client sends the body once it is told to
  std::optional<HttpResponse> refusal{};  // the connection is to be closed with it
};

[[nodiscard]] JudgedRequest judge_request(const RequestHead& head, const RequestRules& rules);

// "localhost" of "LOCALHOST:8080", "[::1]" of "[::1]:80". Empty: no host and port.
[[nodiscard]] std::string host_name(std::string_view host);

}  // namespace goodput
