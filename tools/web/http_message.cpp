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
