#include "tools/web/form.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "sim/base/text.h"
#include "tools/web/url_encoding.h"

namespace goodput {
namespace {

std::string too_large_form() {
  return fmt::format("a form must be at most {} bytes", kMostFormBytes);
}

}  // namespace

std::optional<HttpResponse> refuse_large_form(const HttpRequest& without_body) {
  if (!without_body.header("transfer-encoding").empty())
    return plain_error(411, "send the form with Content-Length, not with chunked encoding");
  const std::optional<std::int64_t> bytes = parse_integer(without_body.header("content-length"));
  if (bytes.value_or(0) > static_cast<std::int64_t>(kMostFormBytes))
    return plain_error(413, too_large_form());
  return std::nullopt;
}

Result<FormFields> parse_form(const HttpRequest& request) {
  FormFields fields;
  if (request.body.empty()) return fields;
  if (!equals_lower(kFormType, media_type(request.header("content-type"))))
    return Error{fmt::format("Content-Type must be {}", kFormType)};
  if (request.body.size() > kMostFormBytes) return Error{too_large_form()};
  std::optional<EncodedPairs> pairs = parse_pairs(request.body, kMostFormFields, LineBreaks::kAllowed);
  if (!pairs) {
    return Error{
        fmt::format("the form is malformed; send at most {} fields NAME=VALUE separated by &, in UTF-8, with "
                    "special characters as %XX",
                    kMostFormFields)};
  }
  for (auto& [name, value] : *pairs) {
    if (fields.contains(name))
      return Error{fmt::format("the form contains the field {} twice", in_quotes(name))};
    fields.emplace(std::move(name), std::move(value));
  }
  return fields;
}

}  // namespace goodput
