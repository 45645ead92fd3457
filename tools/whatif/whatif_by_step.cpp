#include "tools/whatif/whatif_by_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/json.h"
#include "sim/base/number_ranges.h"
#include "tools/cli/json_result.h"
#include "traces/op/worker_table.h"

namespace goodput {
namespace {

constexpr std::size_t kMostSteps = 40;  // that are drawn unasked

// By worker; empty when the hosts are not known.
std::span<const std::string> hosts_of(const WorkerGrid& grid) {
  for (const WorkerGrid::PlaceKind& kind : grid.places) {
    if (kind.name == "host") return kind.of_worker;
  }
  return {};
}

OrderedJson labelled(const std::vector<std::string>& labels, const std::vector<double>& values) {
  OrderedJson object = OrderedJson::object();
  for (std::size_t i = 0; i < labels.size(); ++i) append_member(object, labels[i], values[i]);
  return object;
}

// Indices of the steps to draw.
Result<std::vector<std::size_t>> chosen_steps(const std::vector<std::int64_t>& steps,
                                              const std::string& list) {
  std::vector<std::size_t> chosen;
  if (list.empty()) {
    const std::size_t count = std::min(steps.size(), kMostSteps);
    for (std::size_t i = 0; i < count; ++i)
      chosen.push_back(count == 1 ? 0 : i * (steps.size() - 1) / (count - 1));
    return chosen;
  }
  Result<std::vector<NumberRange>> ranges = parse_number_ranges(list);
  if (!ranges) return std::move(ranges).error().of_option("heatmap-steps");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool named = std::any_of(ranges->begin(), ranges->end(), [&](const NumberRange& range) {
      return range.first <= steps[i] && steps[i] <= range.last;
    });
    if (named) chosen.push_back(i);
  }
  if (chosen.empty()) {
    return Error{
        fmt::format("--heatmap-steps {}: none of these steps was analyzed; {} steps were analyzed, from step "
                    "{} to step {}",
                    list, steps.size(), steps.front(), steps.back())};
  }
  return chosen;
}

}  // namespace

void add_slowdowns_by_step(const Analysis& analysis, OrderedJson& per_step) {
  const WhatIf& result = analysis.whatif;
  const WorkerGrid& grid = analysis.grid;
  std::vector<std::string> workers;
  std::vector<std::string> ranks;
  for (std::size_t worker = 0; worker < grid.ranks.size(); ++worker) {
    const auto [dp_rank, stage] = grid.worker(worker);
    workers.push_back(fmt::format("{}:{}", dp_rank, stage));
    ranks.push_back(std::to_string(grid.ranks[worker]));
  }
  auto entry = per_step.begin();
  for (std::size_t i = 0; i < result.steps.size(); ++i, ++entry) {
    append_member(*entry, "slowdown_by_worker", labelled(workers, result.worker_step_slowdown[i]));
    if (analysis.rank_work)
      append_member(*entry, "slowdown_by_rank", labelled(ranks, result.worker_step_slowdown[i]));
    const Attribution& by_dp_rank = result.blocking.by_dp_rank;
    append_member(*entry, "slowdown_by_dp_rank", labelled(by_dp_rank.labels, by_dp_rank.per_step[i]));
    const Attribution& by_stage = result.blocking.by_stage;
    append_member(*entry, "slowdown_by_stage", labelled(by_stage.labels, by_stage.per_step[i]));
  }
}

Status write_slowdowns_by_step(const Analysis& analysis, const std::string& path,
                               std::string_view final_path) {
  const WhatIf& result = analysis.whatif;
  const WorkerGrid& grid = analysis.grid;
  const WorkerTable table{result.steps,
                          static_cast<std::size_t>(grid.pp_size),
                          grid.ranks,
                          hosts_of(grid),
                          result.worker_step_slowdown,
                          result.blocking.by_dp_rank.per_step,
                          result.blocking.by_stage.per_step};
  return write_worker_table(table, path, final_path);
}

Result<HeatmapStrip> step_heatmaps(const Analysis& analysis, const std::string& list) {
  const WhatIf& result = analysis.whatif;
  const WorkerGrid& grid = analysis.grid;
  GOODPUT_TRY(const std::vector<std::size_t> chosen, chosen_steps(result.steps, list));
  HeatmapStrip strip;
  strip.title = fmt::format("{}: slowdown caused by each worker alone, by step", analysis.job.trial_name);
  strip.subtitle = fmt::format("{} of {} steps shown; slowdown S = {:.3f} over all steps", chosen.size(),
                               result.steps.size(), result.slowdown);
  strip.dp = static_cast<std::size_t>(grid.dp_size);
  strip.pp = static_cast<std::size_t>(grid.pp_size);
  strip.worker_notes = worker_notes(grid);
  for (const std::size_t i : chosen) {
    strip.panels.push_back({fmt::format("step {}: S = {:.2f}", result.steps[i], result.step_slowdown[i]),
                            result.worker_step_slowdown[i]});
  }
  return strip;
}

std::vector<std::string> worker_notes(const WorkerGrid& grid) {
  const std::span<const std::string> hosts = hosts_of(grid);
  std::vector<std::string> notes;
  for (std::size_t worker = 0; worker < grid.ranks.size(); ++worker) {
    notes.push_back(fmt::format("rank {}", grid.ranks[worker]));
    if (!hosts.empty() && !hosts[worker].empty()) notes.back() += ", host " + hosts[worker];
  }
  return notes;
}

}  // namespace goodput
