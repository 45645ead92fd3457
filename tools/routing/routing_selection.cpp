#include "tools/routing/routing_selection.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/number_ranges.h"
#include "sim/routing/routing_statistics.h"

namespace goodput {
namespace {

Error no_layers(const RoutingTrace& trace, const std::string& list) {
  return Error{fmt::format("no layer {}; the trace has {} layers from {} to {}", list, trace.layers().size(),
                           trace.layers().front(), trace.layers().back())}
      .of_option("layers");
}

}  // namespace

Result<std::vector<std::size_t>> find_layers(const RoutingTrace& trace, const std::string& list) {
  std::vector<std::size_t> layers;
  if (list.empty()) {
    for (std::size_t l = 0; l < trace.layers().size(); ++l) layers.push_back(l);
    return layers;
  }
  Result<std::vector<NumberRange>> ranges = parse_number_ranges(list);
  if (!ranges) return std::move(ranges).error().of_option("layers");
  for (std::size_t l = 0; l < trace.layers().size(); ++l) {
    const std::int64_t layer = trace.layers()[l];
    const auto has_layer = [layer](const NumberRange& range) {
      return range.first <= layer && layer <= range.last;
    };
    if (std::any_of(ranges->begin(), ranges->end(), has_layer)) layers.push_back(l);
  }
  for (const NumberRange& range : *ranges) {
    if (range.first == range.last && !trace.find_layer(range.first)) return no_layers(trace, list);
  }
  if (layers.empty()) return no_layers(trace, list);
  return layers;
}

std::vector<std::int32_t> most_loaded(std::span<const std::int64_t> loads, std::size_t top) {
  std::vector<std::int32_t> experts = busiest_experts(loads, top);
  std::sort(experts.begin(), experts.end());
  return experts;
}

}  // namespace goodput
