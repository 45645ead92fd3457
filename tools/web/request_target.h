// What a request line asks for: path and query, decoded. Strict: what proxies and file systems are known to
// read in two ways is refused.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace goodput {

inline constexpr std::size_t kMostTargetBytes = 4096;
inline constexpr std::size_t kMostParameters = 64;

struct RequestTarget {
  std::string path;
  std::map<std::string, std::string, std::less<>> query;  // of a name that is there twice the last
};

// Nothing: longer than kMostTargetBytes or with more than kMostParameters, not in origin form
// ("/path?query"), a damaged %-sequence, a control character or what is no UTF-8 (decoded or not), a segment
// that is ".", ".." or empty (a last one may be empty), a backslash, or a '/' as %2F.
[[nodiscard]] std::optional<RequestTarget> parse_request_target(std::string_view target);

// Of a target in absolute form, as clients send it to proxies ("http://localhost:80/path?query"; RFC 9112,
// 3.2.2): what stands for Host, and the rest in origin form. Nothing: it is in another form.
struct AbsoluteTarget {
  std::string_view authority;
  std::string origin_form;
};
[[nodiscard]] std::optional<AbsoluteTarget> split_absolute_target(std::string_view target);

}  // namespace goodput
