#include "traces/op/chrome_spans.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace goodput {

void OpenSpans::begin(const std::string& lane, OpenSpan span) {
  lanes_[lane].push_back(std::move(span));
}

std::optional<OpenSpan> OpenSpans::end(const std::string& lane, std::string_view name, double end_us) {
  const auto entry = lanes_.find(lane);
  if (entry == lanes_.end()) return std::nullopt;
  std::vector<OpenSpan>& spans = entry->second;
  const auto is_named = [&](const OpenSpan& span) { return name.empty() || span.name == name; };
  auto chosen = std::find_if(spans.rbegin(), spans.rend(), is_named);
  if (chosen == spans.rend()) return std::nullopt;
  if (chosen->begin_us >= end_us) {
    const auto earlier = std::find_if(std::next(chosen), spans.rend(), [&](const OpenSpan& span) {
      return span.name == chosen->name && span.begin_us < end_us;
    });
    if (earlier != spans.rend()) chosen = earlier;
  }
  std::optional<OpenSpan> ended = std::move(*chosen);
  spans.erase(std::next(chosen).base());
  if (spans.empty()) lanes_.erase(entry);
  return ended;
}

std::vector<OpenSpan> OpenSpans::take_open() && {
  std::vector<OpenSpan> open;
  for (auto& [lane, spans] : lanes_) {
    open.insert(open.end(), std::make_move_iterator(spans.begin()), std::make_move_iterator(spans.end()));
  }
  std::ranges::sort(open, {}, &OpenSpan::number);  // the map has an order of its own
  return open;
}

}  // namespace goodput
