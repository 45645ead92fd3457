// Requests and responses as handlers see them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace goodput {

struct HttpRequest {
  std::string method;  // GET, POST; HEAD comes as GET, and the server leaves the body out
  std::string path;    // decoded, begins with '/', without "." and ".." segments
  std::map<std::string, std::string, std::less<>> query;    // decoded; of a name that is there twice the last
  std::map<std::string, std::string, std::less<>> headers;  // names in lower case
  std::string body;                                         // as sent

  // Empty: not there.
  [[nodiscard]] std::string_view header(std::string_view lower_case_name) const;
  [[nodiscard]] std::string_view parameter(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/html; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // further ones, and others for those of security
  std::string topic;  // not empty: an event stream of this topic follows instead of `body`
};

// "text/csv" of "text/csv; charset=utf-8".
[[nodiscard]] std::string_view media_type(std::string_view content_type);

// `{"error": WHAT}` as JSON: for refusals of any kind.
[[nodiscard]] HttpResponse plain_error(int status, std::string_view what);

}  // namespace goodput
