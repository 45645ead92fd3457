#include "sim/cleaning/op_instances.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace goodput {

std::string op_name(OpKey op) {
  return fmt::format("{}_{}_{}", to_string(type_of(op)), seq_id_of(op), stage_of(op));
}

std::vector<StepInstances> list_instances(const OpTrace& trace) {
  std::vector<StepInstances> steps;
  std::unordered_map<std::int64_t, std::size_t> place;
  std::size_t last = 0;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    if (row == 0 || steps[last].step != trace.step[row]) {
      const auto [entry, is_new] = place.try_emplace(trace.step[row], steps.size());
      if (is_new) steps.push_back({trace.step[row], {}});
      last = entry->second;
    }
    steps[last].rows.push_back({op_key(trace.optype[row], trace.stage[row], trace.seq_id[row]),
                                trace.dp_rank[row], static_cast<std::uint32_t>(row)});
  }
  const auto key = [](const InstanceRow& at) { return std::tuple(at.dp_rank, at.op, at.row); };
  for (StepInstances& step : steps) {
    std::sort(step.rows.begin(), step.rows.end(),
              [&](const InstanceRow& a, const InstanceRow& b) { return key(a) < key(b); });
  }
  std::sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  return steps;
}

std::size_t end_of_lane(std::span<const InstanceRow> rows, std::size_t begin) {
  std::size_t end = begin;
  while (end < rows.size() && rows[end].dp_rank == rows[begin].dp_rank) ++end;
  return end;
}

}  // namespace goodput
