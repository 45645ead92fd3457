#include "tools/web/http_message.h"

#include "sim/base/json.h"

namespace goodput {
namespace {

using Pairs = std::map<std::string, std::string, std::less<>>;

std::string_view value_of(const Pairs& pairs, std::string_view name) {
  const auto found = pairs.find(name);
  return found == pairs.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace

std::string_view HttpRequest::header(std::string_view lower_case_name) const {
  return value_of(headers, lower_case_name);
}

std::string_view HttpRequest::parameter(std::string_view name) const {
  return value_of(query, name);
}

std::string_view media_type(std::string_view content_type) {
  content_type = content_type.substr(0, content_type.find(';'));
  const std::size_t last = content_type.find_last_not_of(" \t");
  return content_type.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

HttpResponse plain_error(int status, std::string_view what) {
  const Json error = {{"error", what}};
  // What is no UTF-8 is replaced: refusals may quote what they were sent.
  return {.status = status,
          .content_type = "application/json",
          .body = error.dump() + "\n",
          .headers = {},
          .topic = {}};
}

}  // namespace goodput
