#include "tools/web/request_target.h"

#include <algorithm>
#include <utility>

#include "sim/base/text.h"
#include "tools/web/url_encoding.h"

namespace goodput {
namespace {

std::optional<std::string> decoded_path(std::string_view text) {
  if (text.empty() || text.front() != '/') return std::nullopt;
  std::string path;
  const std::vector<std::string_view> segments = split(text.substr(1), '/');
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::optional<std::string> segment = percent_decoded(segments[i], Plus::kItself);
    if (!segment || segment->find_first_of("/\\") != std::string::npos) return std::nullopt;
    if (*segment == "." || *segment == ".." || (segment->empty() && i + 1 < segments.size())) {
      return std::nullopt;
    }
    path += '/';
    path += *segment;
  }
  return path;
}

}  // namespace

std::optional<RequestTarget> parse_request_target(std::string_view target) {
  if (target.size() > kMostTargetBytes || target.find('#') != std::string_view::npos) return std::nullopt;
  const std::size_t mark = target.find('?');
  std::optional<std::string> path = decoded_path(target.substr(0, mark));
  if (!path) return std::nullopt;
  RequestTarget parsed{*std::move(path), {}};
  if (mark == std::string_view::npos) return parsed;
  std::optional<EncodedPairs> pairs = parse_pairs(target.substr(mark + 1), kMostParameters);
  if (!pairs) return std::nullopt;
  for (auto& [name, value] : *pairs) parsed.query.insert_or_assign(std::move(name), std::move(value));
  return parsed;
}

std::optional<AbsoluteTarget> split_absolute_target(std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  if (!equals_lower(kScheme, target.substr(0, kScheme.size()))) return std::nullopt;
  target.remove_prefix(kScheme.size());
  const std::size_t end = std::min(target.find_first_of("/?#"), target.size());
  std::string origin_form = target.substr(end).starts_with('/') ? "" : "/";
  origin_form += target.substr(end);
  return AbsoluteTarget{target.substr(0, end), std::move(origin_form)};
}

}  // namespace goodput
