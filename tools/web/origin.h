// Sites as browsers name them (RFC 6454), and which of them may send a server something.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/web/http_message.h"

namespace goodput {

// "localhost" of "LOCALHOST:8080", "[::1]" of "[::1]:80". Empty: this is not a host with or without a port.
[[nodiscard]] std::string host_name(std::string_view host);

// "https://goodput.example.org" of "HTTPS://Goodput.example.org:443/pages": scheme, host, and the port unless
// it is the default of the scheme. Nothing: this is not an http or https URL with a host.
[[nodiscard]] std::optional<std::string> origin_of(std::string_view url);

// 403 if a browser says that the page of another site makes it send this (CSRF). A server's own pages have
// one of `own_origins` (origin_of()), or http and the name in Host. Programs other than browsers do not say
// where a request comes from, and are not refused.
[[nodiscard]] std::optional<HttpResponse> refuse_other_site(const HttpRequest& request,
                                                            const std::vector<std::string>& own_origins);

}  // namespace goodput
