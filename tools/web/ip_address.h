// What an address to listen on is.
#pragma once

#include <string>

namespace goodput {

enum class AddressKind : unsigned char { kNone, kLoopback, kOther };

// Of "127.0.0.1", "::1", "0.0.0.0"; kNone: no IP address (a name, say).
[[nodiscard]] AddressKind address_kind(const std::string& text);

}  // namespace goodput
