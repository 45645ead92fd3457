#include "tools/web/response_text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace goodput {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kSecurityHeaders = {{
    {"Content-Security-Policy",
     "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    // Not "no-referrer", with which browsers send the forms of our own pages with `Origin: null`.
    {"Referrer-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
}};

std::string_view reason_of(int status) {
  constexpr std::array<std::pair<int, std::string_view>, 23> kReasons = {{
      {200, "OK"},
      {202, "Accepted"},
      {204, "No Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {411, "Length Required"},
      {413, "Content Too Large"},
      {415, "Unsupported Media Type"},
      {417, "Expectation Failed"},
      {421, "Misdirected Request"},
      {422, "Unprocessable Content"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {503, "Service Unavailable"},
  }};
  const auto found = std::find_if(kReasons.begin(), kReasons.end(),
                                  [&](const auto& known) { return known.first == status; });
  return found == kReasons.end() ? "Other" : found->second;
}

bool is_same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char left, char right) { return lower(left) == lower(right); });
}

bool has_header(const HttpResponse& response, std::string_view name) {
  return std::any_of(response.headers.begin(), response.headers.end(),
                     [&](const auto& header) { return is_same_name(header.first, name); });
}

// Control characters become blanks: nobody adds a header by what he is called.
void add_header(std::string& text, std::string_view name, std::string_view value) {
  text += name;
  text += ": ";
  std::transform(value.begin(), value.end(), std::back_inserter(text), [](char letter) {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f ? ' ' : letter;
  });
  text += "\r\n";
}

// Of these statuses there is no body, and nothing may say how long it is.
bool is_bodiless(int status) {
  return status == 204 || status == 304;
}

}  // namespace

std::string response_text(const HttpResponse& response, const ResponseFraming& framing) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_of(response.status));
  add_header(text, "Date", fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(framing.now)));
  const bool is_stream = !response.topic.empty();
  if (is_stream) {
    add_header(text, "Content-Type", "text/event-stream");
    add_header(text, "X-Accel-Buffering", "no");  // nginx is to pass events on as they come
  } else if (!is_bodiless(response.status)) {
    add_header(text, "Content-Type", response.content_type);
    add_header(text, "Content-Length", fmt::format("{}", response.body.size()));
  }
  for (const auto& [name, value] : kSecurityHeaders) {
    if (!has_header(response, name)) add_header(text, name, value);
  }
  for (const auto& [name, value] : response.headers) add_header(text, name, value);
  const bool closes = is_stream || framing.after == AfterResponse::kClose;
  add_header(text, "Connection", closes ? "close" : "keep-alive");
  text += "\r\n";
  if (!is_stream && !framing.is_head && !is_bodiless(response.status)) text += response.body;
  return text;
}

std::string event_text(std::string_view event, std::string_view data) {
  std::string text = "event: ";
  std::copy_if(event.begin(), event.end(), std::back_inserter(text),
               [](char letter) { return letter != '\n' && letter != '\r'; });
  text += "\ndata: ";
  for (std::size_t at = 0; at < data.size(); ++at) {
    const bool is_crlf = data[at] == '\r' && at + 1 < data.size() && data[at + 1] == '\n';
    if (is_crlf) continue;
    if (data[at] == '\n' || data[at] == '\r') {
      text += "\ndata: ";
    } else {
      text += data[at];
    }
  }
  text += "\n\n";
  return text;
}

}  // namespace goodput
