#include "tools/trace/spot_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/base/hash.h"
#include "sim/base/statistics.h"
#include "tools/cli/duration_text.h"
#include "traces/spot/count_changes.h"

namespace goodput {
namespace {

constexpr double kSecondsPerHour = 3600;

// Goes through stretches of time that ascend and leaves out what holes cover.
class KnownTime {
 public:
  explicit KnownTime(const std::vector<SpotHole>& holes) : holes_(holes) {}

  // Calls on_piece(begin, end) for what is known of [begin, end). REQUIRES: not before the last end.
  template <typename OnPiece>
  void visit(SimTime begin, SimTime end, OnPiece on_piece) {
    while (next_ < holes_.size() && holes_[next_].begin < end) {
      const SpotHole& hole = holes_[next_];
      if (hole.begin > begin) on_piece(begin, hole.begin);
      begin = std::max(begin, std::min(hole.end, end));
      if (hole.end > end) return;
      ++next_;
    }
    if (begin < end) on_piece(begin, end);
  }

 private:
  const std::vector<SpotHole>& holes_;
  std::size_t next_ = 0;
};

// Calls on_stretch(step, begin, end) for every step of a function of time.
template <typename Step, typename OnStretch>
void for_each_stretch(const std::vector<Step>& steps, SimTime end, OnStretch on_stretch) {
  for (std::size_t i = 0; i < steps.size(); ++i)
    on_stretch(steps[i], steps[i].time, i + 1 < steps.size() ? steps[i + 1].time : end);
}

void add_batch(RemovalBatches& batches, std::int32_t nodes) {
  if (nodes == 0) return;
  ++batches.count;
  if (nodes > 1) ++batches.of_several;
  batches.largest = std::max(batches.largest, nodes);
}

void summarize_events(const SpotTrace& trace, SpotSummary& summary) {
  summary.adds = summary.removes = trace.momentary;
  std::int32_t batch = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const NodeEvent& event = trace.events[i];
    if (i > 0 && trace.events[i - 1].time != event.time) {
      add_batch(summary.removal_batches, batch);
      batch = 0;
    }
    const bool is_add = event.kind == NodeEvent::Kind::kAdd;
    ++(is_add ? summary.adds : summary.removes);
    if (!is_add) ++batch;
  }
  add_batch(summary.removal_batches, batch);
}

void summarize_changes(const std::vector<SpotCount>& counts, const SpotTrace& trace, SpotSummary& summary) {
  std::int32_t before = 0;
  for (const SpotCount& count : counts) {
    const std::int32_t change = count.count - before;
    before = count.count;
    if (change < 0) {
      ++summary.drops;
      ++summary.drop_sizes[-change];
    }
    if (trace.has_names()) continue;
    (change > 0 ? summary.adds : summary.removes) += std::abs(change);
    add_batch(summary.removal_batches, std::max(-change, 0));
  }
}

void summarize_time(const std::vector<SpotCount>& counts, const SpotTrace& trace, SpotSummary& summary) {
  KnownTime known(trace.holes);
  for_each_stretch(counts, trace.end, [&](const SpotCount& step, SimTime from, SimTime to) {
    known.visit(from, to, [&](SimTime begin, SimTime end) {
      summary.known += end - begin;
      summary.node_hours += step.count * to_seconds(end - begin) / kSecondsPerHour;
      if (step.count > 0 || end - begin <= summary.longest_outage) return;
      summary.longest_outage = end - begin;
      summary.longest_outage_begin = begin;
    });
  });
  if (summary.known > SimDuration{})
    summary.mean_nodes = summary.node_hours / (to_seconds(summary.known) / kSecondsPerHour);
}

std::optional<PriceSummary> summarize_prices(const SpotTrace& trace) {
  if (trace.prices.empty()) return std::nullopt;
  const double first = trace.prices.front().usd_per_node_hour;
  PriceSummary price = {first, 0, first};
  for_each_stretch(trace.prices, trace.end, [&](const SpotPrice& step, SimTime begin, SimTime end) {
    price.min = std::min(price.min, step.usd_per_node_hour);
    price.max = std::max(price.max, step.usd_per_node_hour);
    price.mean += step.usd_per_node_hour * to_seconds(end - begin);
  });
  const SimDuration priced = trace.end - trace.prices.front().time;
  price.mean = priced > SimDuration{} ? price.mean / to_seconds(priced) : first;
  return price;
}

std::optional<FaultSummary> summarize_faults(const SpotTrace& trace, double node_hours) {
  if (trace.meaning != SpotMeaning::kFaults || !trace.has_names()) return std::nullopt;
  FaultSummary summary{.up_node_days = node_hours / 24};
  std::vector<std::optional<SimTime>> down_since(trace.node_names.size());
  std::vector<double> repairs;
  for (const NodeEvent& event : trace.events) {
    std::optional<SimTime>& since = down_since[static_cast<std::size_t>(event.node)];
    if (event.kind == NodeEvent::Kind::kRemove) {
      ++summary.faults;
      since = event.time;
    } else if (since) {
      repairs.push_back(to_seconds(event.time - *since));
    }
  }
  if (summary.faults == 0) return std::nullopt;
  summary.mtbf_days = summary.up_node_days / static_cast<double>(summary.faults);
  summary.repairs = static_cast<std::int64_t>(repairs.size());
  if (repairs.empty()) return summary;
  summary.mean_repair_s = mean(repairs);
  summary.median_repair_s = take_median(repairs);
  return summary;
}

std::string count_of(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string describe_drops(const SpotSummary& summary) {
  constexpr std::size_t kShown = 8;
  std::string text = fmt::format("{}", summary.drops);
  std::size_t shown = 0;
  for (const auto& [size, times] : summary.drop_sizes) {
    if (shown == kShown)
      return fmt::format("{}, ... up to size {}", text, summary.drop_sizes.rbegin()->first);
    text += fmt::format("{}{} of size {}", shown++ == 0 ? ": " : ", ", times, size);
  }
  return text;
}

std::string describe_batches(const RemovalBatches& batches) {
  if (batches.count == 0) return "0";
  return fmt::format("{}, {:.0f} % of them with more than one node, largest: {}", batches.count,
                     100 * static_cast<double>(batches.of_several) / static_cast<double>(batches.count),
                     batches.largest);
}

std::string describe_holes(const SpotTrace& trace, const SpotSummary& summary) {
  constexpr std::size_t kShown = 3;
  std::string text =
      fmt::format("{}, {:.6g} s in total", trace.holes.size(), to_seconds(summary.duration - summary.known));
  for (std::size_t i = 0; i < std::min(kShown, trace.holes.size()); ++i) {
    text += fmt::format("{}{:.9g} to {:.9g} s", i == 0 ? ": " : ", ", to_seconds(trace.holes[i].begin),
                        to_seconds(trace.holes[i].end));
  }
  return trace.holes.size() > kShown ? text + ", ..." : text;
}

template <typename Line>
void add_fault_lines(const FaultSummary& faults, const Line& line) {
  line("faults", fmt::format("{} in {:.1f} node-days: {:.3g} per 1000 node-days", faults.faults,
                             faults.up_node_days, 1000 / faults.mtbf_days));
  line("MTBF", fmt::format("{:.3g} days per node", faults.mtbf_days));
  if (faults.repairs == 0) return line("repairs", "none in the recording");
  line("repairs", fmt::format("{}, median {}, mean {}", faults.repairs, duration_text(faults.median_repair_s),
                              duration_text(faults.mean_repair_s)));
}

}  // namespace

SpotSummary summarize(const SpotTrace& trace) {
  const std::vector<SpotCount> counts = spot_counts(trace);
  SpotSummary summary;
  summary.duration = trace.end.time_since_epoch();
  summary.initial_nodes = counts.front().count;
  summary.final_nodes = counts.back().count;
  for (const SpotCount& count : counts) summary.peak_nodes = std::max(summary.peak_nodes, count.count);
  if (trace.has_names()) summarize_events(trace, summary);
  summarize_changes(counts, trace, summary);
  summarize_time(counts, trace, summary);
  summary.price = summarize_prices(trace);
  summary.faults = summarize_faults(trace, summary.node_hours);
  return summary;
}

std::uint64_t hash_trace(const SpotTrace& trace) {
  const auto ns = [](SimTime time) { return time.time_since_epoch().count(); };
  Hash hash;
  hash.add(static_cast<int>(trace.meaning));
  hash.add(ns(trace.end));
  hash.add(trace.momentary);
  for (const std::string& name : trace.node_names) hash.add(std::string_view(name));
  for (const NodeEvent& event : trace.events) {
    hash.add(ns(event.time));
    hash.add(static_cast<int>(event.kind));
    hash.add(event.node);
  }
  for (const SpotCount& count : trace.counts) {
    hash.add(ns(count.time));
    hash.add(count.count);
  }
  for (const SpotPrice& price : trace.prices) {
    hash.add(ns(price.time));
    hash.add(price.usd_per_node_hour);
  }
  for (const SpotHole& hole : trace.holes) {
    hash.add(ns(hole.begin));
    hash.add(ns(hole.end));
  }
  return hash.value();
}

std::string describe(const SpotTrace& trace, const SpotSummary& summary) {
  constexpr std::string_view kMeanings[] = {
      "held: a drop is a preemption", "probe: nodes that could be launched, not nodes that were lost",
      "faults: a drop is a fault, and nodes return when they are repaired"};
  std::string text;
  const auto line = [&text](std::string_view label, const std::string& value) {
    text += fmt::format("{:<15} {}\n", label, value);
  };
  const bool is_available = trace.polarity == SpotPolarity::kAvailable;
  line("format", fmt::format("{}, {}", trace.format, trace.has_names() ? "named nodes" : "node counts"));
  line("meaning", std::string(kMeanings[static_cast<std::size_t>(trace.meaning)]));
  line("polarity", is_available ? "available" : "preempted (the numbers below are available nodes)");
  line("duration", fmt::format("{:.9g} s, {:.2f} h", to_seconds(summary.duration),
                               to_seconds(summary.duration) / kSecondsPerHour));
  line("nodes", fmt::format("{} at the start, {} at the end, peak {}, mean {}", summary.initial_nodes,
                            summary.final_nodes, summary.peak_nodes,
                            summary.mean_nodes ? fmt::format("{:.2f}", *summary.mean_nodes) : "unknown"));
  line("node-hours", fmt::format("{:.1f}", summary.node_hours));
  if (summary.faults) add_fault_lines(*summary.faults, line);
  line("adds, removes", fmt::format("{}, {}", summary.adds, summary.removes));
  if (trace.momentary > 0)
    line("momentary", count_of(trace.momentary, "node") +
                          " added and removed at the same moment, counted only as adds and removes");
  line("removals", describe_batches(summary.removal_batches));
  line("drops", describe_drops(summary));
  if (summary.longest_outage > SimDuration{}) {
    line("longest outage",
         fmt::format("{:.9g} s without a node, from {:.9g} s", to_seconds(summary.longest_outage),
                     to_seconds(summary.longest_outage_begin)));
  }
  line("gaps", trace.holes.empty() ? "none" : describe_holes(trace, summary));
  if (summary.price) {
    line("price", fmt::format("{:.4g} USD per node-hour on average, {:.4g} to {:.4g}", summary.price->mean,
                              summary.price->min, summary.price->max));
  }
  return text;
}

}  // namespace goodput
