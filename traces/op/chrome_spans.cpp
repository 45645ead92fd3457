#include "traces/op/chrome_spans.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace goodput {
namespace {

constexpr std::ptrdiff_t kMostWaiting = 1024;  // ops of one name in one lane

bool differ(const std::optional<std::int64_t>& a, const std::optional<std::int64_t>& b) {
  return a && b && *a != *b;
}

SettledSpans no_span_ends() {
  SettledSpans settled;
  settled.is_end = false;
  return settled;
}

// Moves the spans for which `moves` holds into `settled`: to those that ended or to those that were cut.
template <typename Predicate>
void settle_spans(std::vector<OpenSpan>& spans, SettledSpans& settled, Predicate moves) {
  const auto first =
      std::stable_partition(spans.begin(), spans.end(), [&](const OpenSpan& span) { return !moves(span); });
  for (auto span = first; span != spans.end(); ++span) {
    if (span->is_op()) (span->end ? settled.ended : settled.cut).push_back(std::move(*span));
  }
  spans.erase(first, spans.end());
}

// The ops of one name, each of which has an end: the first that began ended first.
void end_in_order(std::vector<OpenSpan>& ops) {
  std::vector<SpanEnd> ends;
  for (OpenSpan& op : ops) ends.push_back(*std::move(op.end));
  std::ranges::sort(ends, {}, &SpanEnd::number);
  for (std::size_t i = 0; i < ops.size(); ++i) ops[i].end = std::move(ends[i]);
}

}  // namespace

SettledSpans OpenSpans::begin(const std::string& lane, OpenSpan span) {
  SettledSpans settled;
  std::vector<OpenSpan>& spans = lanes_[lane];
  if (span.is_op() && !spans.empty()) {
    const auto is_same = [&](const OpenSpan& other) { return other.is_op() && other.name == span.name; };
    const auto waiting = std::ranges::count_if(spans, is_same);
    const bool all_stay = std::ranges::all_of(spans, [&](const OpenSpan& other) {
      return !is_same(other) || (other.step && span.step && *other.step == *span.step);
    });
    if (!all_stay || waiting >= kMostWaiting) settle_spans(spans, settled, is_same);
  }
  spans.push_back(std::move(span));
  return settled;
}

SettledSpans OpenSpans::end(const std::string& lane, std::string_view name, SpanEnd end) {
  const auto entry = lanes_.find(lane);
  if (entry == lanes_.end()) return no_span_ends();
  SettledSpans settled =
      name.empty() ? end_last(entry->second, std::move(end)) : end_named(entry->second, name, std::move(end));
  if (entry->second.empty()) lanes_.erase(entry);
  return settled;
}

SettledSpans OpenSpans::end_last(Lane& lane, SpanEnd end) {
  const auto last = std::find_if(lane.rbegin(), lane.rend(), [](const OpenSpan& span) { return !span.end; });
  if (last == lane.rend() || differ(last->step, end.step)) return no_span_ends();
  SettledSpans settled;
  settled.is_ambiguous = last->encloses;
  OpenSpan ended = std::move(*last);
  lane.erase(std::next(last).base());
  if (ended.is_op()) {
    settle_spans(lane, settled, [&](const OpenSpan& span) {
      return span.is_op() && !span.end && differ(span.step, ended.step);
    });
    for (OpenSpan& span : lane) span.encloses = span.encloses || (span.is_op() && !span.end);
  }
  ended.end = std::move(end);
  if (ended.is_op()) settled.ended.push_back(std::move(ended));
  return settled;
}

SettledSpans OpenSpans::end_named(Lane& lane, std::string_view name, SpanEnd end) {
  const auto last = std::find_if(lane.rbegin(), lane.rend(), [&](const OpenSpan& span) {
    return !span.end && span.name == name && !differ(span.step, end.step);
  });
  if (last == lane.rend()) return no_span_ends();
  SettledSpans settled;
  if (!last->is_op()) {
    lane.erase(std::next(last).base());
    return settled;
  }
  last->end = std::move(end);
  const auto is_same = [&](const OpenSpan& span) { return span.name == name; };
  const bool any_waits =
      std::ranges::any_of(lane, [&](const OpenSpan& span) { return is_same(span) && !span.end; });
  if (any_waits) return settled;
  settle_spans(lane, settled, is_same);
  if (settled.ended.size() > 1) end_in_order(settled.ended);
  return settled;
}

SettledSpans OpenSpans::finish() && {
  SettledSpans settled;
  for (auto& [name, lane] : lanes_) {
    settle_spans(lane, settled, [](const OpenSpan&) { return true; });
  }
  // The map has an order of its own.
  std::ranges::sort(settled.ended, {}, &OpenSpan::number);
  std::ranges::sort(settled.cut, {}, &OpenSpan::number);
  return settled;
}

}  // namespace goodput
