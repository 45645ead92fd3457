#include "traces/kineto/kineto_activity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "sim/base/text.h"
#include "traces/kineto/kineto_forms.h"

namespace goodput {
namespace {

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // all of it without a slash
}

// The number behind "rank" in a file name: rank0_trace.json.gz, rank-12.json.
std::optional<std::int64_t> rank_in_name(std::string_view path) {
  std::string_view name = file_name(path);
  const std::size_t at = name.find("rank");
  if (at == std::string_view::npos) return std::nullopt;
  name.remove_prefix(at + 4);
  while (!name.empty() && (name.front() == '-' || name.front() == '_')) name.remove_prefix(1);
  std::size_t digits = 0;
  while (digits < name.size() && std::isdigit(static_cast<unsigned char>(name[digits])) != 0) ++digits;
  const std::optional<std::int64_t> rank = parse_integer(name.substr(0, digits));
  return rank && *rank < kMostKinetoRanks ? rank : std::nullopt;
}

// tensorboard_trace_handler names files after the host: `node3_12345.1700000000.pt.trace.json`.
std::string host_in_name(std::string_view path) {
  const std::string_view name = file_name(path);
  const std::size_t mark = name.find(".pt.trace.json");
  const std::size_t pid =
      name.find('.') == std::string_view::npos ? 0 : name.substr(0, name.find('.')).rfind('_');
  if (mark == std::string_view::npos || pid == std::string_view::npos || pid == 0) return "";
  return std::string(name.substr(0, pid));
}

Status identify(const KinetoEvents& events, RankActivity& activity) {
  std::optional<std::int64_t> rank = events.header.rank;
  if (!rank) {
    rank = rank_in_name(events.path);
    if (!rank)
      return Error{
          "the rank is unknown, because the trace has no distributedInfo; put the rank in the file name, for "
          "example rank3.json",
          {.file = events.path}};
    activity.notes.push_back(fmt::format("{}: the trace has no rank; took rank {} from the file name",
                                         on_one_line(events.path), *rank));
  }
  const std::int64_t world = events.header.world_size.value_or(0);
  if (world > 0 && *rank >= world) {
    if (events.header.rank)
      return Error{
          fmt::format("distributedInfo is damaged: it has rank {} in a job of {} ranks", *rank, world),
          {.file = events.path}};
    return Error{fmt::format("the file name has rank {}, but the job has only {} ranks; rename the file "
                             "after its rank, for example rank3.json",
                             *rank, world),
                 {.file = events.path}};
  }
  activity.rank = static_cast<std::int32_t>(*rank);
  activity.world_size = static_cast<std::int32_t>(world);
  activity.host = events.header.host_name.empty() ? host_in_name(events.path) : events.header.host_name;
  return Ok{};
}

// Differences of times must fit into 64 bits: a recording is shorter than a week.
Status check_times(const KinetoEvents& events) {
  constexpr std::int64_t kMostNs = 4'000'000'000'000'000'000;
  constexpr std::int64_t kLongestNs = 7LL * 86'400 * 1'000'000'000;
  const std::int64_t first = events.steps.front().begin_ns;
  const auto is_near = [&](std::int64_t time) {
    return time > -kMostNs && time < kMostNs && time > first - kLongestNs && time < first + kLongestNs;
  };
  const auto are_near = [&](const auto& spans) {
    return std::ranges::all_of(
        spans, [&](const auto& span) { return is_near(span.begin_ns) && is_near(span.end_ns); });
  };
  const bool are_all = std::abs(first) < kMostNs && are_near(events.steps) && are_near(events.spans) &&
                       are_near(events.marks) && are_near(events.kernels) &&
                       std::ranges::all_of(events.launches, is_near, &KinetoEvents::Launch::begin_ns);
  if (are_all) return Ok{};
  return Error{"has events more than a week before or after all steps of the file; is a \"ts\" damaged?",
               {.file = events.path}};
}

Status check_steps(const KinetoEvents& events) {
  if (events.steps.empty())
    return Error{
        "has no ProfilerStep# events; call prof.step() after every step, or use torch.profiler.schedule",
        {.file = events.path}};
  std::vector<std::int64_t> numbers;
  for (const KinetoEvents::Step& step : events.steps) numbers.push_back(step.number);
  std::ranges::sort(numbers);
  const auto twice = std::ranges::adjacent_find(numbers);
  if (twice != numbers.end())
    return Error{fmt::format("ProfilerStep#{} occurs twice; save each profiling run to its own file", *twice),
                 {.file = events.path}};
  return Ok{};
}

// torch annotates passes of some schedules: `PP:3F7` is the forward pass of micro-batch 7 on stage 3.
std::uint32_t annotated_stages(const KinetoEvents& events) {
  std::set<std::string_view> stages;
  for (const std::string& name : events.names) {
    if (!name.starts_with("PP:")) continue;
    const std::string_view place = std::string_view(name).substr(3);
    const std::size_t digits = std::min(place.find_first_not_of("0123456789"), place.size());
    if (digits > 0) stages.insert(place.substr(0, digits));
  }
  return static_cast<std::uint32_t>(stages.size());
}

// The events of the device come after those of the host, so a truncated file lacks the last ones of the
// device. A step is complete if the file still has communication of a later step.
Status drop_cut_steps(const KinetoEvents& events, RankActivity& activity) {
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  for (const CommunicationPart& part : activity.parts) last = std::max(last, part.launch_ns);
  std::erase_if(activity.steps, [&](const RankActivity::Step& step) {
    const auto own = std::ranges::find(events.steps, step.number, &KinetoEvents::Step::number);
    return own->end_ns > last;
  });
  if (activity.steps.empty())
    return Error{"the file is truncated before the end of its first step; record it again",
                 {.file = events.path}};
  activity.notes.push_back(fmt::format("{}: the file is truncated, and everything after event {} is lost",
                                       on_one_line(events.path), events.events));
  return Ok{};
}

}  // namespace

Result<RankActivity> rank_activity(KinetoEvents events, const KinetoOptions& options) {
  RankActivity activity;
  activity.file = events.path;
  activity.names.emplace_back();
  GOODPUT_TRY_STATUS(identify(events, activity));
  GOODPUT_TRY_STATUS(check_steps(events));
  GOODPUT_TRY_STATUS(check_times(events));
  if (events.has_graphs)
    return Error{"CUDA graphs hide which kernels a step launches; profile without CUDA graphs",
                 {.file = events.path}};
  activity.groups = std::move(events.header.groups);
  activity.spinning = events.spinning_kernels;
  activity.stages = annotated_stages(events);
  activity.on_device = !events.kernels.empty();
  const bool has_gloo = std::ranges::any_of(events.spans, [&](const KinetoEvents::Span& span) {
    return events.names[span.name].starts_with("gloo:");
  });
  if (events.is_cut && !activity.on_device && !has_gloo)
    return Error{
        fmt::format("the file is truncated after event {}, before any communication; record it again",
                    events.events),
        {.file = events.path}};
  const bool communicates = activity.on_device ? !events.collective_kernels.empty() : has_gloo;
  if (!communicates && activity.world_size != 1)
    return Error{fmt::format("world_size is {}, but there are no NCCL kernels or gloo events; profile with "
                             "ProfilerActivity.CUDA",
                             activity.world_size == 0 ? "unknown" : std::to_string(activity.world_size)),
                 {.file = events.path}};
  GOODPUT_TRY_STATUS(activity.on_device ? fill_from_device(events, options, activity)
                                        : fill_from_host(events, activity));
  if (events.is_cut) GOODPUT_TRY_STATUS(drop_cut_steps(events, activity));
  return activity;
}

}  // namespace goodput
