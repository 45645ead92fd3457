// A trace taken through index, graph and recording: what most tests of the analysis start from.
#pragma once

#include <numeric>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "models/megatron/megatron_rules.h"
#include "sim/ops/trace_index.h"
#include "sim/recording/recording.h"
#include "sim/whatif/whatif.h"

namespace goodput::testing {

struct AnalysedTrace {
  TemplateLane lane;
  OpGraph graph;
  Recording recording;

  [[nodiscard]] OpId op(std::string_view name) const {
    for (OpId id = 0; id < recording.ops.size(); ++id) {
      if (recording.name_of(id) == name) return id;
    }
    throw std::runtime_error("no op of this name");
  }
};

template <typename T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  return *std::move(result);
}

// Analyses the steps at `selected` (indices), or all.
inline AnalysedTrace analysed(OpTrace trace, std::vector<std::uint32_t> selected = {}) {
  TraceIndex index = value_or_throw(index_trace(trace));
  OpGraph graph = value_or_throw(megatron::build_graph(index.lane));
  if (selected.empty()) {
    selected.resize(index.steps.size());
    std::iota(selected.begin(), selected.end(), 0U);
  }
  TemplateLane lane = index.lane;
  Recording recording = arrange(std::move(trace), std::move(index), graph, selected);
  return {std::move(lane), std::move(graph), std::move(recording)};
}

}  // namespace goodput::testing
