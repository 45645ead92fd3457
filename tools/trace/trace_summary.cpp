#include "tools/trace/trace_summary.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/ops/trace_index.h"
#include "traces/op/op_trace_columns.h"

namespace goodput {
namespace {

struct Span {
  double start_s;
  double end_s;
};

// Finds or makes the entry of `key`; rows that stand together mostly ask for the same one.
template <typename Map>
class LastEntry {
 public:
  explicit LastEntry(Map& map) : map_(map) {}
  typename Map::mapped_type& at(const typename Map::key_type& key, const typename Map::mapped_type& initial) {
    if (last_ == nullptr || last_->first != key) last_ = &*map_.try_emplace(key, initial).first;
    return last_->second;
  }

 private:
  Map& map_;
  typename Map::value_type* last_ = nullptr;
};

void summarize_steps(const OpTrace& trace, TraceSummary& summary) {
  std::map<std::int64_t, Span> steps;
  LastEntry entry(steps);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const double start = trace.start_s[i];
    const double end = end_of(start, trace.duration_s[i], summary.float32_times);
    Span& span = entry.at(trace.step[i], {start, end});
    span = {std::min(span.start_s, start), std::max(span.end_s, end)};
  }
  std::vector<double> lengths;
  for (const auto& [step, span] : steps) {
    summary.steps.push_back(step);
    lengths.push_back(span.end_s - span.start_s);
  }
  std::sort(lengths.begin(), lengths.end());
  summary.shortest_step_s = lengths.front();
  summary.longest_step_s = lengths.back();
  summary.median_step_s = (lengths[(lengths.size() - 1) / 2] + lengths[lengths.size() / 2]) / 2;
}

void summarize_lanes(const OpTrace& trace, TraceSummary& summary) {
  std::map<std::pair<std::int64_t, std::int32_t>, std::size_t> ops_of_lane;
  std::map<std::pair<std::int32_t, std::int16_t>, std::size_t> ops_of_worker;
  LastEntry lane(ops_of_lane);
  LastEntry worker(ops_of_worker);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    ++lane.at({trace.step[i], trace.dp_rank[i]}, 0);
    ++worker.at({trace.dp_rank[i], trace.stage[i]}, 0);
  }
  const auto by_ops = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto [least, most] = std::minmax_element(ops_of_lane.begin(), ops_of_lane.end(), by_ops);
  summary.lanes = ops_of_lane.size();
  summary.workers = ops_of_worker.size();
  summary.least_ops_per_lane = least->second;
  summary.most_ops_per_lane = most->second;
}

std::int64_t size_of(const auto& ranks) {
  return std::int64_t{*std::max_element(ranks.begin(), ranks.end())} + 1;
}

}  // namespace

TraceSummary summarize(const OpTrace& trace) {
  TraceSummary summary;
  summary.rows = trace.size();
  summary.dp_size = size_of(trace.dp_rank);
  summary.pp_size = size_of(trace.stage);
  summary.vpp_size = std::max<std::int64_t>(1, size_of(trace.mc));
  for (std::size_t i = 0; i < trace.size(); ++i) {
    OpTypeTotals& totals = summary.by_type[index_of(trace.optype[i])];
    ++totals.ops;
    totals.seconds += trace.duration_s[i];
    if (is_pass_compute(trace.optype[i])) {
      summary.micro_batches = std::max(summary.micro_batches, std::int64_t{trace.mb_id[i]} + 1);
    }
  }
  summary.float32_times = times_are_float32(trace);
  summarize_steps(trace, summary);
  summarize_lanes(trace, summary);
  if (const auto index = index_trace(trace); !index) summary.not_dense = index.error().message();
  return summary;
}

}  // namespace goodput
