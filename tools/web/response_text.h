// Responses as they go over the wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include "tools/web/http_message.h"

namespace goodput {

enum class AfterResponse : std::uint8_t { kKeepAlive, kClose };

struct ResponseFraming {
  bool is_head = false;  // the request was HEAD: no body, but how long it would be
  AfterResponse after = AfterResponse::kKeepAlive;
  std::time_t now = 0;
};

// With what keeps pages from being put to other uses (CSP and the like), unless the handler has other values
// of the same headers. Of an event stream the head.
[[nodiscard]] std::string response_text(const HttpResponse& response, const ResponseFraming& framing);

// "event: NAME", a "data:" a line of it. Line feeds of the name are left out.
[[nodiscard]] std::string event_text(std::string_view event, std::string_view data);

}  // namespace goodput
