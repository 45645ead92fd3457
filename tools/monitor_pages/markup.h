// Text of anybody within pages and links: names of jobs, hosts, rules and files come from anywhere.
#pragma once

#include <string>
#include <string_view>

namespace goodput {

// Valid UTF-8 in which nothing hides: what is no UTF-8 becomes U+FFFD; control characters and those that
// turn the direction of text are written out (\x1b, \u202e).
[[nodiscard]] std::string visible_text(std::string_view text);

// The same for HTML, as text or as an attribute in quotes of either kind. All that pages hold of others goes
// through here.
[[nodiscard]] std::string html_text(std::string_view text);

// A name of somebody's choice within a line of ours: its letters do not turn the words around it.
[[nodiscard]] std::string html_name(std::string_view name);

// One segment of a path, or a value of a query (RFC 3986): safe in an attribute too.
[[nodiscard]] std::string url_segment(std::string_view text);

}  // namespace goodput
