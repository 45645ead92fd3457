#include "tools/placement/placement_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "models/placement/eplb_groups.h"
#include "sim/base/number_ranges.h"
#include "sim/base/text.h"
#include "tools/cli/named_choice.h"
#include "tools/routing/routing_selection.h"
#include "traces/routing/routing_reader.h"

namespace goodput {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 20;

Result<std::vector<std::int64_t>> parse_whole_numbers(std::string_view option, const std::string& list) {
  std::vector<std::int64_t> numbers;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (true) {
    const char* const comma = std::find(at, end, ',');
    std::int64_t number = 0;
    const auto [parsed, failed] = std::from_chars(at, comma, number);
    const std::string_view entry(at, static_cast<std::size_t>(comma - at));
    if (failed != std::errc{} || parsed != comma || number < 0) {
      return Error{fmt::format("{}: entry {} must be a whole number from 0 to 2^63-1, not {}", option,
                               numbers.size(), in_quotes(entry))};
    }
    numbers.push_back(number);
    if (comma == end) return numbers;
    at = comma + 1;
  }
}

Result<std::int32_t> parse_size(std::string_view option, std::int64_t value) {
  if (value >= 1 && value <= kMaxSize) return static_cast<std::int32_t>(value);
  return Error{fmt::format("{} must be a whole number from 1 to {}, not {}", option, kMaxSize, value)};
}

std::vector<std::int32_t> first_numbers(std::size_t count) {
  std::vector<std::int32_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<std::int32_t>(i);
  return numbers;
}

Status check_experts(const PlacementOptions& options, std::size_t experts, std::string_view source) {
  if (!options.experts || *options.experts == static_cast<std::int64_t>(experts)) return Ok{};
  return Error{fmt::format("--experts is {}, but the number of experts in {} is {}", *options.experts, source,
                           experts)};
}

// ---- Where the layers come from.

Result<std::vector<RequestedLayer>> given_replicas(const PlacementOptions& options) {
  GOODPUT_TRY(const std::vector<std::int64_t> numbers, parse_whole_numbers("--replicas", options.replicas));
  GOODPUT_TRY_STATUS(check_experts(options, numbers.size(), "--replicas"));
  RequestedLayer layer{0, first_numbers(numbers.size()), {}, {}};
  for (const std::int64_t number : numbers) {
    if (number > kMaxSize)
      return Error{fmt::format("--replicas: {} is more than the maximum of {}", number, kMaxSize)};
    layer.replicas.push_back(static_cast<std::int32_t>(number));
  }
  return std::vector{std::move(layer)};
}

// The loads when nodes are lost; the same as before unless --new-loads is given.
Result<std::vector<RequestedLayer>> listed_new_loads(const PlacementOptions& options,
                                                     std::vector<RequestedLayer> layers) {
  if (options.new_loads.empty()) return layers;
  GOODPUT_TRY(layers.front().loads, parse_whole_numbers("--new-loads", options.new_loads));
  if (layers.front().loads.size() == layers.front().experts.size()) return layers;
  return Error{fmt::format("--new-loads must have {} numbers, one per expert, not {}",
                           layers.front().experts.size(), layers.front().loads.size())};
}

Result<std::vector<RequestedLayer>> listed_loads(const PlacementOptions& options) {
  GOODPUT_TRY(std::vector<std::int64_t> loads, parse_whole_numbers("--loads", options.loads));
  GOODPUT_TRY_STATUS(check_experts(options, loads.size(), "--loads"));
  return std::vector{RequestedLayer{0, first_numbers(loads.size()), std::move(loads), {}}};
}

Result<std::vector<RequestedLayer>> even_loads(const PlacementOptions& options) {
  if (!options.experts) {
    return Error{"nothing to place; give --loads FILE or LIST, --replicas LIST, or --experts E"};
  }
  GOODPUT_TRY(const std::int32_t experts, parse_size("--experts", *options.experts));
  const auto count = static_cast<std::size_t>(experts);
  return std::vector{RequestedLayer{0, first_numbers(count), std::vector<std::int64_t>(count, 1), {}}};
}

// A recorded iteration, or the latest one before it.
Result<std::size_t> find_row(const RoutingTrace& trace, std::string_view option, std::int64_t iteration,
                             std::vector<std::string>& notes) {
  const std::int64_t first = trace.iterations().front();
  if (iteration < first)
    return Error{fmt::format("{} is {}, but the trace begins at iteration {}", option, iteration, first)};
  const std::size_t at = trace.index_at(iteration);
  if (trace.iterations()[at] != iteration) {
    notes.push_back(fmt::format("iteration {} was not recorded; using iteration {}, the latest one before it",
                                iteration, trace.iterations()[at]));
  }
  return at;
}

Result<std::size_t> find_iteration(const RoutingTrace& trace, const PlacementOptions& options,
                                   std::vector<std::string>& notes) {
  if (options.iteration) return find_row(trace, "--iteration", *options.iteration, notes);
  const std::size_t last = trace.iterations().size() - 1;
  if (last > 0) {
    notes.push_back(
        fmt::format("using iteration {}, the last of {} recorded; choose another with --iteration",
                    trace.iterations().back(), trace.iterations().size()));
  }
  return last;
}

// Of these layers the `top` experts that are busiest at one row, with the loads of another.
std::vector<RequestedLayer> layers_at(const RoutingTrace& trace, const std::vector<std::size_t>& layers,
                                      std::size_t top, std::size_t top_row, std::size_t row) {
  std::vector<RequestedLayer> requested;
  for (const std::size_t l : layers) {
    RequestedLayer layer{trace.layers()[l], most_loaded(trace.loads(top_row, l), top), {}, {}};
    for (const std::int32_t e : layer.experts)
      layer.loads.push_back(trace.loads(row, l)[static_cast<std::size_t>(e)]);
    requested.push_back(std::move(layer));
  }
  return requested;
}

Status read_traced_loads(const PlacementOptions& options, PlacementRequest& request) {
  GOODPUT_TRY(const RoutingTrace trace, read_routing_trace(options.loads));
  GOODPUT_TRY(const std::size_t row, find_iteration(trace, options, request.notes));
  std::size_t top_row = row;
  std::size_t new_row = row;
  if (options.top_iteration) {
    GOODPUT_TRY(top_row, find_row(trace, "--top-iteration", *options.top_iteration, request.notes));
  }
  if (options.new_iteration) {
    GOODPUT_TRY(new_row, find_row(trace, "--new-iteration", *options.new_iteration, request.notes));
  }
  GOODPUT_TRY(const std::vector<std::size_t> layers, find_layers(trace, options.layers));
  const std::int64_t top = options.top.value_or(trace.experts());
  if (top < 1 || top > trace.experts()) {
    return Error{fmt::format("--top must be a number from 1 to {} (the number of experts per layer), not {}",
                             trace.experts(), top)};
  }
  GOODPUT_TRY_STATUS(
      check_experts(options, static_cast<std::size_t>(top), options.top ? "--top" : options.loads));
  request.layers = layers_at(trace, layers, static_cast<std::size_t>(top), top_row, row);
  request.new_layers = layers_at(trace, layers, static_cast<std::size_t>(top), top_row, new_row);
  return Ok{};
}

Status check_sources(const PlacementOptions& options) {
  const std::pair<std::string_view, bool> decided[] = {
      {"--loads", !options.loads.empty()},
      {"--allocation", !options.allocation.empty()},
      {"--min-replicas", options.min_replicas.has_value()},
      {"--expert-groups", options.expert_groups.has_value()}};
  for (const auto& [option, given] : decided) {
    if (given && !options.replicas.empty())
      return Error{fmt::format("--replicas and {} exclude each other; leave one out", option)};
  }
  const bool from_trace = !options.loads.empty() && !is_number_list(options.loads);
  if (options.top_iteration && !options.top)
    return Error{"--top-iteration applies only to --top; give a number of experts with --top"};
  if (from_trace) {
    if (options.new_loads.empty()) return Ok{};
    return Error{"--new-loads does not apply to a routing trace; choose an iteration with --new-iteration"};
  }
  const std::pair<std::string_view, bool> of_traces[] = {
      {"--iteration", options.iteration.has_value()},
      {"--new-iteration", options.new_iteration.has_value()},
      {"--layers", !options.layers.empty()},
      {"--top", options.top.has_value()}};
  for (const auto& [option, given] : of_traces) {
    if (given) return Error{fmt::format("{} applies only to a routing trace; name one with --loads", option)};
  }
  return Ok{};
}

// --expert-groups is EPLB as DeepSeek has it: its allocation inside each node, and at least 1 replica unless
// --min-replicas says otherwise.
Result<PlacementChoice> grouped_choice(const PlacementOptions& options, PlacementChoice choice) {
  GOODPUT_TRY(choice.expert_groups, parse_size("--expert-groups", *options.expert_groups));
  if (choice.rule != PlacementRule::kEplb) {
    return Error{
        fmt::format("--expert-groups applies only to --plan eplb, not {}; add --plan eplb or leave out "
                    "--expert-groups",
                    options.plan)};
  }
  if (!options.allocation.empty() && choice.allocation != Allocation::kEplb) {
    return Error{fmt::format("--expert-groups uses EPLB's own allocation, not {}; leave out --allocation",
                             options.allocation)};
  }
  if (options.top) {
    return Error{
        "--top and --expert-groups exclude each other, because a group is a run of consecutive experts "
        "of the whole layer; leave one out"};
  }
  choice.allocation = Allocation::kEplb;
  if (!options.min_replicas) choice.min_replicas = 1;
  return choice;
}

Status check_groups(PlacementRequest& request) {
  const std::int32_t groups = request.choice.expert_groups;
  const Status divided =
      check_expert_groups(groups, static_cast<std::int64_t>(request.layers.front().experts.size()));
  if (!divided) return divided.error().of_option("expert-groups");
  if (groups > 1 && !keeps_groups_on_nodes(groups, request.nodes.nodes)) {
    request.notes.push_back(fmt::format(
        "{} expert groups do not divide evenly among {} nodes, so all experts are placed as one group, as in "
        "EPLB",
        groups, request.nodes.nodes));
  }
  return Ok{};
}

// Where nobody says how many: up to six, of fewer nodes as many as there are.
Result<std::vector<NumberRange>> failure_ranges(const PlacementOptions& options, std::int32_t nodes) {
  if (options.failures.empty()) return std::vector{NumberRange{1, std::min(6, nodes)}};
  Result<std::vector<NumberRange>> ranges = parse_number_ranges(options.failures);
  if (!ranges) return ranges.error().of_option("failures");
  return ranges;
}

Result<std::vector<std::int32_t>> parse_failures(const PlacementOptions& options, std::int32_t nodes) {
  GOODPUT_TRY(const std::vector<NumberRange> ranges, failure_ranges(options, nodes));
  std::vector<std::int32_t> failures;
  for (const NumberRange& range : ranges) {
    for (const std::int64_t k : {range.first, range.last}) {
      if (k >= 0 && k <= nodes) continue;
      return Error{
          fmt::format("--failures: {} of {} nodes cannot fail; use numbers from 0 to {}", k, nodes, nodes)};
    }
    for (std::int64_t k = range.first; k <= range.last; ++k) failures.push_back(static_cast<std::int32_t>(k));
  }
  std::sort(failures.begin(), failures.end());
  failures.erase(std::unique(failures.begin(), failures.end()), failures.end());
  return failures;
}

}  // namespace

bool stays_in_groups(const PlacementRequest& request) {
  return request.choice.expert_groups > 1 &&
         keeps_groups_on_nodes(request.choice.expert_groups, request.nodes.nodes);
}

bool is_number_list(const std::string& loads) {
  return loads.find_first_not_of("0123456789,.+-eE ") == std::string::npos;
}

Result<PlacementRequest> read_placement_request(const PlacementOptions& options) {
  PlacementRequest request;
  if (!options.allocation.empty()) {
    GOODPUT_TRY(request.choice.allocation,
                choose<Allocation>("allocation", "allocation", options.allocation, kAllocationNames));
  }
  GOODPUT_TRY(request.choice.rule,
              choose<PlacementRule>("plan", "placement rule", options.plan, kPlacementRuleNames));
  GOODPUT_TRY(request.nodes.nodes, parse_size("--nodes", options.nodes));
  GOODPUT_TRY(request.nodes.slots, parse_size("--slots", options.slots));
  GOODPUT_TRY(request.nodes.gpus, parse_size("--gpus-per-node", options.gpus_per_node));
  if (options.min_replicas) {
    GOODPUT_TRY(request.choice.min_replicas, parse_size("--min-replicas", *options.min_replicas));
  }
  GOODPUT_TRY(request.failures, parse_failures(options, request.nodes.nodes));
  GOODPUT_TRY_STATUS(check_sources(options));
  if (options.expert_groups) {
    GOODPUT_TRY(request.choice, grouped_choice(options, std::move(request.choice)));
  }
  if (!options.replicas.empty()) {
    GOODPUT_TRY(request.layers, given_replicas(options));
  } else if (options.loads.empty()) {
    GOODPUT_TRY(request.layers, even_loads(options));
  } else if (is_number_list(options.loads)) {
    GOODPUT_TRY(request.layers, listed_loads(options));
  } else {
    request.from_trace = true;
    GOODPUT_TRY_STATUS(read_traced_loads(options, request));
  }
  if (!request.from_trace) {
    GOODPUT_TRY(request.new_layers, listed_new_loads(options, request.layers));
  }
  GOODPUT_TRY_STATUS(check_groups(request));
  return request;
}

}  // namespace goodput
