#include "tools/plan_step/step_slices.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/base/json.h"
#include "sim/engine/timing.h"

namespace goodput {
namespace {

struct Slice {
  double start_ns = 0;
  double end_ns = 0;
  TraceOp op;
};

// Parts of a pass are layers of one op: from the first's start to the last's end.
std::vector<Slice> slices_of(const PlannedStep& step, const TimingEngine& timing) {
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Key, Slice> by_op;
  for (OpId id = 0; id < step.ops.size(); ++id) {
    const TraceOp& op = step.ops[id].op;
    const Slice part{timing.starts(id)[0], timing.ends(id)[0], op};
    if (part.end_ns <= part.start_ns) continue;
    const Key key{op.stage, static_cast<std::int64_t>(op.type), op.mc, op.mb_id, op.seq_id};
    const auto [entry, is_first] = by_op.try_emplace(key, part);
    if (is_first) continue;
    entry->second.start_ns = std::min(entry->second.start_ns, part.start_ns);
    entry->second.end_ns = std::max(entry->second.end_ns, part.end_ns);
  }
  std::vector<Slice> slices;
  for (const auto& entry : by_op) slices.push_back(entry.second);
  std::stable_sort(slices.begin(), slices.end(),
                   [](const Slice& a, const Slice& b) { return a.start_ns < b.start_ns; });
  return slices;
}

std::int64_t microseconds(double nanoseconds) {
  return std::llround(nanoseconds / 1e3);
}

}  // namespace

OrderedJson step_slices_json(const PlannedStep& step, std::size_t most_slices) {
  TimingEngine timing(step.graph, step.lanes, {}, TimingEngine::Keep::kAllTimes);
  timing.propagate(PlannedValues(step));
  std::vector<Slice> slices = slices_of(step, timing);
  const std::size_t all = slices.size();
  if (all > most_slices) slices.resize(most_slices);
  std::vector<std::string_view> types;
  OrderedJson type = OrderedJson::array();
  OrderedJson stage = OrderedJson::array();
  OrderedJson chunk = OrderedJson::array();
  OrderedJson micro_batch = OrderedJson::array();
  OrderedJson start = OrderedJson::array();
  OrderedJson duration = OrderedJson::array();
  for (const Slice& slice : slices) {
    const std::string_view name = to_string(slice.op.type);
    const auto found = std::find(types.begin(), types.end(), name);
    type.push_back(found - types.begin());
    if (found == types.end()) types.push_back(name);
    stage.push_back(slice.op.stage);
    chunk.push_back(slice.op.mc);
    micro_batch.push_back(slice.op.mb_id);
    start.push_back(microseconds(slice.start_ns));
    duration.push_back(std::max<std::int64_t>(1, microseconds(slice.end_ns - slice.start_ns)));
  }
  OrderedJson names = OrderedJson::array();
  for (const std::string_view name : types) names.push_back(name);
  return {{"all", all},
          {"types", std::move(names)},
          {"type", std::move(type)},
          {"stage", std::move(stage)},
          {"chunk", std::move(chunk)},
          {"micro_batch", std::move(micro_batch)},
          {"start_us", std::move(start)},
          {"duration_us", std::move(duration)}};
}

}  // namespace goodput
