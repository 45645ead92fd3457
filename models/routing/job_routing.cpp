#include "models/routing/job_routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/apportion.h"
#include "sim/base/index.h"
#include "sim/routing/routing_statistics.h"

namespace goodput {
namespace {

std::size_t nearest_row(const RoutingTrace& trace, std::int64_t iteration) {
  const std::size_t before = trace.index_at(iteration);
  const std::vector<std::int64_t>& recorded = trace.iterations();
  if (before + 1 == recorded.size() || recorded[before] >= iteration) return before;
  return recorded[before + 1] - iteration < iteration - recorded[before] ? before + 1 : before;
}

Status check_selection(const RoutingTrace& trace, const RoutingSelection& selection) {
  if (selection.experts < 1 || selection.experts > trace.experts()) {
    return Error{
        fmt::format("has {} experts per layer, but the model has {}; give a trace with at least as many",
                    trace.experts(), selection.experts)}
        .of_option("routing");
  }
  if (selection.layers.empty()) return Error{"no layer is selected"}.of_option("routing");
  for (const std::size_t layer : selection.layers) {
    if (layer < trace.layers().size()) continue;
    return Error{
        fmt::format("has {} layers, so there is no layer at position {}", trace.layers().size(), layer)}
        .of_option("routing");
  }
  const RankRows* const rows = selection.rank_rows;
  if (rows == nullptr || (rows->layers == trace.layers().size() && rows->experts == index(trace.experts())))
    return Ok{};
  return Error{
      fmt::format("has {} layers of {} experts, but the routing has {} layers of {}; both must be of "
                  "one job",
                  rows->layers, rows->experts, trace.layers().size(), trace.experts())}
      .of_option("folder");
}

// By layer: the experts that stand for the model's, in order of their numbers.
std::vector<std::vector<std::int32_t>> selected_experts(const RoutingTrace& trace,
                                                        const RoutingSelection& selection) {
  const std::size_t row = nearest_row(trace, selection.top_at_iteration);
  std::vector<std::vector<std::int32_t>> selected;
  for (const std::size_t layer : selection.layers) {
    selected.push_back(busiest_experts(trace.loads(row, layer), index(selection.experts)));
    std::sort(selected.back().begin(), selected.back().end());
  }
  return selected;
}

}  // namespace

Result<JobRouting> JobRouting::from_trace(const RoutingTrace& trace, const RoutingSelection& selection) {
  GOODPUT_TRY_STATUS(check_selection(trace, selection));
  const auto experts = selected_experts(trace, selection);
  JobRouting routing;
  for (std::size_t row = 0; row < trace.iterations().size(); ++row) {
    ExpertTokens tokens(selection.layers.size());
    for (std::size_t l = 0; l < tokens.size(); ++l) {
      const auto loads = trace.loads(row, selection.layers[l]);
      for (const std::int32_t e : experts[l]) tokens[l].push_back(loads[index(e)]);
    }
    if (!routing.loads_.empty() && routing.loads_.back() == tokens) continue;
    routing.first_step_.push_back(trace.iterations()[row]);
    routing.loads_.push_back(std::move(tokens));
  }
  routing.repeat_after(trace.iterations(), selection.after_end);
  if (selection.rank_rows != nullptr)
    routing.ranks_ = recorded_spread(*selection.rank_rows, selection.layers, experts);
  return routing;
}

JobRouting JobRouting::balanced(std::int32_t layers, std::int32_t experts) {
  GOODPUT_CHECK(layers >= 0 && experts > 0, "a layer must have experts");
  JobRouting routing;
  routing.first_step_ = {0};
  routing.loads_.emplace_back(index(layers), std::vector<std::int64_t>(index(experts), 1));
  return routing;
}

bool JobRouting::is_balanced() const {
  const auto is_even = [](const std::vector<std::int64_t>& layer) {
    return std::all_of(layer.begin(), layer.end(), [&](std::int64_t load) { return load == layer.front(); });
  };
  return std::all_of(loads_.begin(), loads_.end(), [&](const ExpertTokens& window) {
    return std::all_of(window.begin(), window.end(), is_even);
  });
}

// A single window is not repeated: nothing would change.
void JobRouting::repeat_after(const std::vector<std::int64_t>& iterations, AfterEnd after_end) {
  if (after_end == AfterEnd::kHold || windows() == 1) return;
  if (iterations.back() > kNever / 4) return;  // no job gets there, and sums of steps would overflow
  turns_around_ = after_end == AfterEnd::kContinue;
  repeat_from_ = turns_around_ ? iterations[iterations.size() / 2] : iterations.front();
  if (recorded_window(repeat_from_) + 1 == windows()) return;
  repeat_at_ = 2 * iterations.back() - iterations[iterations.size() - 2];
}

JobRouting::Recorded JobRouting::recorded(std::int64_t step) const {
  if (step < repeat_at_) return {step, false};
  const std::int64_t period = repeat_at_ - repeat_from_;
  const std::int64_t passes = (step - repeat_at_) / period;
  const std::int64_t in_pass = (step - repeat_at_) % period;
  if (turns_around_ && passes % 2 == 0) return {repeat_at_ - 1 - in_pass, true};
  return {repeat_from_ + in_pass, false};
}

std::size_t JobRouting::window_at(std::int64_t step) const {
  return recorded_window(recorded(step).step);
}

std::size_t JobRouting::recorded_window(std::int64_t step) const {
  const auto later = std::upper_bound(first_step_.begin() + 1, first_step_.end(), step);
  return static_cast<std::size_t>(later - first_step_.begin()) - 1;
}

// Where the recorded steps that hold from `step` on leave its window, or stop being consecutive. REQUIRES:
// the recording is repeated.
std::int64_t JobRouting::run_end(std::int64_t step) const {
  const auto [at, is_backward] = recorded(step);
  const std::size_t window = recorded_window(at);
  if (is_backward) return step + at - std::max(first_step_[window], repeat_from_) + 1;
  const std::int64_t next = window + 1 < windows() ? first_step_[window + 1] : repeat_at_;
  return step + next - at;
}

JobRouting::Stretch JobRouting::stretch(std::int64_t step) const {
  if (step < repeat_at_) {  // without a second search
    const std::size_t window = recorded_window(step);
    const bool is_last = window + 1 == windows();
    if (!is_last || repeat_at_ == kNever) return {window, is_last ? kNever : first_step_[window + 1]};
  }
  const std::size_t window = window_at(step);
  std::int64_t end = run_end(step);
  while (window_at(end) == window) end = run_end(end);
  return {window, end};
}

std::span<const std::vector<std::int64_t>> JobRouting::loads(std::size_t window) const {
  GOODPUT_CHECK(window < windows(), "no such routing window");
  return loads_[window];
}

ExpertTokens scaled_loads(std::span<const std::vector<std::int64_t>> loads, std::int64_t tokens) {
  ExpertTokens scaled;
  scaled.reserve(loads.size());
  for (const std::vector<std::int64_t>& layer : loads) scaled.push_back(apportion(layer, tokens));
  return scaled;
}

}  // namespace goodput
