#include "tools/whatif/whatif_workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/base/json.h"

namespace goodput {
namespace {

// What a reader can see of a colour or a tip; a third of the bytes of the exact number, which is in per_step.
double four_digits(double value) {
  return std::stod(fmt::format("{:.4g}", value));
}

OrderedJson places_json(const Analysis& analysis) {
  OrderedJson means = OrderedJson::array();
  for (const PeerPace& worker : analysis.worker_pace) means.push_back(four_digits(worker.mean));
  OrderedJson json = {{"rank", analysis.grid.ranks}, {"pace", std::move(means)}};
  for (const WorkerGrid::PlaceKind& kind : analysis.grid.places) json[kind.name] = kind.of_worker;
  return json;
}

// Means over steps [first, last).
OrderedJson mean_of_steps(const std::vector<std::vector<double>>& slowdown, std::size_t first,
                          std::size_t last) {
  OrderedJson row = OrderedJson::array();
  for (std::size_t worker = 0; worker < slowdown[first].size(); ++worker) {
    double sum = 0;
    for (std::size_t step = first; step < last; ++step) sum += slowdown[step][worker];
    row.push_back(four_digits(sum / static_cast<double>(last - first)));
  }
  return row;
}

}  // namespace

void add_workers_json(const Analysis& analysis, OrderedJson& json, std::size_t most_cells) {
  const WhatIf& result = analysis.whatif;
  const std::size_t steps = result.steps.size();
  const std::size_t workers = std::max<std::size_t>(1, analysis.grid.ranks.size());
  const std::size_t rows = std::clamp<std::size_t>(most_cells / workers, 1, std::max<std::size_t>(1, steps));
  const std::size_t in_a_row = (steps + rows - 1) / rows;
  OrderedJson from = OrderedJson::array();
  OrderedJson to = OrderedJson::array();
  OrderedJson slowdown = OrderedJson::array();
  for (std::size_t first = 0; first < steps; first += in_a_row) {
    const std::size_t last = std::min(first + in_a_row, steps);
    from.push_back(result.steps[first]);
    to.push_back(result.steps[last - 1]);
    slowdown.push_back(mean_of_steps(result.worker_step_slowdown, first, last));
  }
  json["workers"] = places_json(analysis);
  json["worker_steps"] = {{"steps_averaged", in_a_row},
                          {"from_step", std::move(from)},
                          {"to_step", std::move(to)},
                          {"slowdown", std::move(slowdown)}};
}

}  // namespace goodput
