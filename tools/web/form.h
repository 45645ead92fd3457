// Forms that pages send: `application/x-www-form-urlencoded` bodies.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "tools/web/http_message.h"

namespace goodput {

inline constexpr std::string_view kFormType = "application/x-www-form-urlencoded";
inline constexpr std::size_t kMostFormBytes =
    4096;  // HttpOptions::body_bytes of a server that takes only forms
inline constexpr std::size_t kMostFormFields = 64;

using FormFields = std::map<std::string, std::string, std::less<>>;

// For the gate of a server, of requests that can only bring a form: 413 for a body of more than
// kMostFormBytes, 411 for one of unknown length. Nothing: it may come.
[[nodiscard]] std::optional<HttpResponse> refuse_large_form(const HttpRequest& without_body);

// The fields, decoded, of an empty body none. Values are UTF-8, and may have line breaks. Fails for another
// Content-Type, more bytes or fields than there may be, damaged %-sequences, and a field that is there twice.
[[nodiscard]] Result<FormFields> parse_form(const HttpRequest& request);

}  // namespace goodput
