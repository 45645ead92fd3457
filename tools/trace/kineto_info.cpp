#include "tools/trace/kineto_info.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "models/collectives/joined_ranks.h"
#include "models/collectives/matched_parts.h"
#include "models/collectives/rough_clocks.h"
#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "sim/base/statistics.h"
#include "sim/base/text.h"
#include "sim/cleaning/step_list.h"
#include "sim/ops/cleaning_finding.h"
#include "sim/ops/rank_activity.h"
#include "tools/cli/command_line.h"
#include "tools/cli/json_result.h"
#include "tools/cli/text_table.h"
#include "tools/trace/cleaning_report.h"
#include "tools/trace/read_kineto.h"
#include "traces/kineto/kineto_format.h"

namespace goodput {
namespace {

constexpr double kSecondsPerNs = 1e-9;

// ---- What the traces hold, in numbers.

enum class Device { kCuda, kCpu, kMixed };
constexpr std::string_view kDeviceNames[] = {"cuda", "cpu", "mixed"};

struct StepTimes {
  double shortest_s = 0;
  double median_s = 0;
  double longest_s = 0;
};

struct GroupKind {
  std::string description;  // empty: the trace does not describe its groups
  std::size_t size = 0;     // ranks in each
  std::size_t groups = 0;
};

// The collectives or messages of one name in groups of one kind.
struct CommunicationKind {
  std::optional<std::string> group;  // description, or "8 ranks" without one; none: unknown (gloo)
  std::string collective;            // as the trace names it
  // Medians over the ranks and steps that have any.
  double per_step = 0;
  std::optional<double> elements;  // input, per step
  std::optional<double> bytes;
  double part_s = 0;  // median time of a part, with its waiting for other ranks
};

struct KinetoSummary {
  Device device = Device::kCuda;
  bool communicates = false;
  std::vector<std::int64_t> ranks;    // ascending, those with a trace
  std::int64_t world_size = 0;        // 0: the traces do not say
  std::vector<std::string> hosts;     // in the order of their ranks
  std::vector<std::int64_t> steps;    // ascending, those that all these ranks have
  std::vector<std::int64_t> partial;  // ascending, those that some have
  std::optional<StepTimes> step_time;
  std::vector<GroupKind> groups;                 // largest first
  std::vector<CommunicationKind> communication;  // by group and name
  std::set<std::string> spinning;                // kernels that wait for peers under other names than NCCL's
  std::uint64_t hash = 0;
};

void summarize_ranks(const std::vector<const RankActivity*>& activities, KinetoSummary& summary) {
  std::size_t on_device = 0;
  for (const RankActivity* activity : activities) {
    on_device += activity->on_device ? 1 : 0;
    summary.communicates = summary.communicates || !activity->parts.empty();
    if (summary.ranks.empty() || summary.ranks.back() != activity->rank)
      summary.ranks.push_back(activity->rank);
    summary.world_size = std::max<std::int64_t>(summary.world_size, activity->world_size);
    const bool is_new = std::ranges::find(summary.hosts, activity->host) == summary.hosts.end();
    if (!activity->host.empty() && is_new) summary.hosts.push_back(activity->host);
    summary.spinning.insert(activity->spinning.begin(), activity->spinning.end());
  }
  summary.device = on_device == activities.size() ? Device::kCuda
                   : on_device == 0               ? Device::kCpu
                                                  : Device::kMixed;
}

// The time of a step is that of the rank that takes longest.
void summarize_steps(const std::vector<const RankActivity*>& activities, KinetoSummary& summary) {
  struct Seen {
    std::set<std::int32_t> ranks;
    std::int64_t longest_ns = 0;
  };
  std::map<std::int64_t, Seen> steps;
  for (const RankActivity* activity : activities) {
    for (const RankActivity::Step& step : activity->steps) {
      Seen& seen = steps[step.number];
      seen.ranks.insert(activity->rank);
      seen.longest_ns = std::max(seen.longest_ns, step.end_ns - step.begin_ns);
    }
  }
  std::vector<double> times;
  for (const auto& [number, seen] : steps) {
    const bool is_common = seen.ranks.size() == summary.ranks.size();
    (is_common ? summary.steps : summary.partial).push_back(number);
    if (is_common) times.push_back(kSecondsPerNs * static_cast<double>(seen.longest_ns));
  }
  if (times.empty()) return;
  const auto [shortest, longest] = std::ranges::minmax(times);
  summary.step_time = {shortest, take_median(times), longest};
}

// Ranks may name one group differently, and two groups of a rank may have the same ranks. So groups with the
// same description and ranks count as often as the rank that has most of them lists them.
void summarize_groups(const std::vector<const RankActivity*>& activities, KinetoSummary& summary) {
  using Like = std::pair<std::string, std::vector<std::int32_t>>;  // description and ranks
  std::map<Like, std::size_t> count;
  for (const RankActivity* activity : activities) {
    std::map<Like, std::size_t> own;
    for (const ProcessGroup& group : activity->groups) {
      Like like{is_described(group) ? group.description : "", group.ranks};
      std::ranges::sort(like.second);
      ++own[std::move(like)];
    }
    for (const auto& [like, groups] : own) {
      std::size_t& most = count[like];
      most = std::max(most, groups);
    }
  }
  std::map<std::pair<std::string, std::size_t>, std::size_t> kinds;
  for (const auto& [like, groups] : count) kinds[{like.first, like.second.size()}] += groups;
  for (const auto& [kind, groups] : kinds) summary.groups.push_back({kind.first, kind.second, groups});
  std::ranges::stable_sort(summary.groups, std::ranges::greater(), &GroupKind::size);
}

// Bytes of an element, by torch's names.
std::optional<double> size_of_element(std::string_view dtype) {
  static constexpr std::pair<std::string_view, double> kSizes[] = {
      {"Float", 4},  {"BFloat16", 2},      {"Half", 2},        {"Double", 8},
      {"Byte", 1},   {"Char", 1},          {"Bool", 1},        {"Short", 2},
      {"Int", 4},    {"Long", 8},          {"UInt8", 1},       {"Int8", 1},
      {"Float8", 1}, {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}, {"Float8_e4m3fnuz", 1}};
  const auto* const found = std::ranges::find(kSizes, dtype, &std::pair<std::string_view, double>::first);
  return found == std::end(kSizes) ? std::nullopt : std::optional(found->second);
}

class CommunicationTable {
 public:
  void add(const RankActivity& activity) {
    std::map<std::tuple<std::int32_t, std::uint32_t>, Row*> row_of;  // by group and name
    std::map<std::pair<Row*, std::uint32_t>, OneStep> steps;
    for (const CommunicationPart& part : activity.parts) {
      const auto [known, is_new] = row_of.try_emplace({part.group, part.name}, nullptr);
      if (is_new) known->second = &rows_[key_of(activity, part)];
      known->second->durations_s.push_back(kSecondsPerNs * static_cast<double>(part.end_ns - part.begin_ns));
      OneStep& step = steps[{known->second, part.step}];
      ++step.count;
      if (part.elements < 0) {
        known->second->has_elements = false;
        continue;
      }
      const std::optional<double> size = size_of_element(activity.names[part.dtype]);
      if (!size) known->second->has_bytes = false;
      step.elements += static_cast<double>(part.elements);
      step.bytes += static_cast<double>(part.elements) * size.value_or(0);
    }
    for (const auto& [at, step] : steps) {
      at.first->counts.push_back(step.count);
      at.first->elements.push_back(step.elements);
      at.first->bytes.push_back(step.bytes);
    }
  }

  std::vector<CommunicationKind> take() {
    std::vector<CommunicationKind> kinds;
    for (auto& [key, row] : rows_) {
      CommunicationKind kind{key.first, key.second, take_median(row.counts), {}, {}, 0};
      if (row.has_elements) kind.elements = take_median(row.elements);
      if (row.has_elements && row.has_bytes) kind.bytes = take_median(row.bytes);
      kind.part_s = take_median(row.durations_s);
      kinds.push_back(std::move(kind));
    }
    return kinds;
  }

 private:
  using Key = std::pair<std::optional<std::string>, std::string>;  // group and collective
  struct OneStep {
    double count = 0;
    double elements = 0;
    double bytes = 0;
  };
  struct Row {
    // Per rank and step.
    std::vector<double> counts;
    std::vector<double> elements;
    std::vector<double> bytes;
    std::vector<double> durations_s;  // per part
    bool has_elements = true;
    bool has_bytes = true;
  };

  static Key key_of(const RankActivity& activity, const CommunicationPart& part) {
    const std::string& name = activity.names[part.name];
    if (part.group < 0) return {std::nullopt, name};
    return {label_of(activity.groups[static_cast<std::size_t>(part.group)]), name};
  }

  std::map<Key, Row> rows_;
};

std::uint64_t hash_of(const std::vector<const RankActivity*>& activities) {
  Hash hash;
  for (const RankActivity* activity : activities) {
    hash.add(activity->rank);
    hash.add(activity->world_size);
    hash.add(std::string_view(activity->host));
    for (const RankActivity::Step& step : activity->steps) {
      hash.add(step.number);
      hash.add(step.begin_ns);
      hash.add(step.end_ns);
    }
    for (const TrackCut& cut : activity->cuts) {
      hash.add(static_cast<int>(cut.kind));
      hash.add(cut.end_ns);
    }
    for (const CommunicationPart& part : activity->parts) {
      hash.add(std::string_view(activity->names[part.name]));
      hash.add(part.elements);
      hash.add(part.begin_ns);
      hash.add(part.end_ns);
    }
  }
  return hash.value();
}

KinetoSummary summarize(const std::vector<RankActivity>& activities) {
  // Sorts by rank and time, so that the order of the files does not matter.
  std::vector<const RankActivity*> sorted;
  for (const RankActivity& activity : activities) sorted.push_back(&activity);
  std::ranges::sort(sorted, {}, [](const RankActivity* activity) {
    return std::pair(activity->rank, activity->steps.front().number);
  });
  KinetoSummary summary;
  summarize_ranks(sorted, summary);
  summarize_steps(sorted, summary);
  summarize_groups(sorted, summary);
  CommunicationTable table;
  for (const RankActivity* activity : sorted) table.add(*activity);
  summary.communication = table.take();
  summary.hash = hash_of(sorted);
  return summary;
}

// ---- What `whatif` would do with them.

struct KinetoUse {
  std::vector<std::string> notes;
  std::vector<CleaningFinding> findings;
  std::string refusal;  // why whatif refuses the traces; empty if their ranks and collectives match
};

Status match(JoinedRanks& joined) {
  std::vector<std::string> about_clocks;  // dropped: only whatif aligns clocks
  if (!joined.is_on_device()) GOODPUT_TRY_STATUS(align_roughly(joined, about_clocks));
  GOODPUT_TRY(const MatchedParts matched, match_parts(joined));
  const Result<std::vector<SlotGroup>> groups = group_by_slot(joined, matched);
  return groups ? Status(Ok{}) : Status(groups.error());
}

// Fails on what --strict refuses.
Result<KinetoUse> use_for_whatif(std::vector<RankActivity> activities, const TraceFiles& files) {
  KinetoUse use;
  use.notes = files.notes;
  Result<JoinedRanks> joined = JoinedRanks::join(std::move(activities), {{}, files.strict}, use.notes);
  if (joined) use.findings = joined->findings();
  const Status taken = joined ? match(*joined) : Status(joined.error());
  if (taken) return use;
  if (files.strict) return Error(taken.error()).in_file(files.named);
  use.refusal = taken.error().message(flag_of);
  return use;
}

// ---- For people.

std::string count_of(std::size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string text_of_format(const KinetoSummary& summary) {
  const std::string_view device = summary.device == Device::kCuda  ? "CUDA devices"
                                  : summary.device == Device::kCpu ? "CPUs"
                                                                   : "CUDA devices on some ranks only";
  const std::string_view library = !summary.communicates            ? "no communication"
                                   : summary.device == Device::kCpu ? "gloo"
                                                                    : "NCCL";
  return fmt::format("torch.profiler ({}), {} on {}", kKinetoFormat, library, device);
}

std::string text_of_ranks(const KinetoSummary& summary) {
  std::string text = fmt::format("{}", summary.ranks.size());
  text += summary.world_size > 0 ? fmt::format(" of {}", summary.world_size)
                                 : std::string(" (the traces do not record the world size)");
  if (summary.hosts.empty()) return text + "; the traces do not record hosts";
  constexpr std::size_t kShown = 4;
  const std::size_t shown = std::min(kShown, summary.hosts.size());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < shown; ++i) names.push_back(on_one_line(summary.hosts[i]));
  text += fmt::format(" on {}: {}", count_of(summary.hosts.size(), "host"), fmt::join(names, ", "));
  if (summary.hosts.size() > shown) text += fmt::format(" and {} more", summary.hosts.size() - shown);
  return text;
}

std::vector<std::int64_t> missing_ranks(const KinetoSummary& summary) {
  std::vector<std::int64_t> missing;
  for (std::int64_t rank = 0; rank < summary.world_size; ++rank) {
    if (!std::ranges::binary_search(summary.ranks, rank)) missing.push_back(rank);
  }
  return missing;
}

std::string text_of_steps(const KinetoSummary& summary) {
  if (summary.steps.empty()) return "none recorded by all ranks";
  const auto count = static_cast<std::int64_t>(summary.steps.size());
  if (summary.steps.back() - summary.steps.front() + 1 != count)
    return fmt::format("{}: {}", count, step_list(summary.steps));
  return fmt::format("{} from {} to {}", count, summary.steps.front(), summary.steps.back());
}

// `1.25 MB`: decimal units, as NCCL's and network bandwidths are.
std::string text_of_bytes(double bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  return fmt::format("{:.3g} {}", bytes, kUnits[unit]);
}

std::string text_of_size(const CommunicationKind& kind) {
  if (kind.bytes) return text_of_bytes(*kind.bytes);
  return kind.elements ? fmt::format("{:.6g} elements", *kind.elements) : "unknown";
}

std::string describe_communication(const KinetoSummary& summary) {
  if (summary.communication.empty()) return "";
  std::vector<TextRow> rows = {{"communication", "per step", "input per step", "median time"}};
  for (const CommunicationKind& kind : summary.communication) {
    const std::string group = kind.group ? fmt::format(" ({})", on_one_line(*kind.group)) : "";
    rows.push_back({"  " + on_one_line(kind.collective) + group, fmt::format("{:.6g}", kind.per_step),
                    text_of_size(kind), fmt::format("{:.3f} ms", 1e3 * kind.part_s)});
  }
  return "\n" + aligned(rows) + "  medians over ranks and steps; times include waiting for other ranks\n";
}

// Megatron has a dozen kinds of groups of one rank, which never communicate: these are only counted.
std::string describe_groups(const std::vector<GroupKind>& groups) {
  std::vector<std::pair<std::string, std::string>> lines;
  std::size_t width = 0;
  std::size_t lone = 0;
  for (const GroupKind& kind : groups) {
    if (kind.size == 1 && groups.front().size > 1) {
      ++lone;
      continue;
    }
    lines.emplace_back(on_one_line(kind.description),
                       fmt::format("{} of {}", count_of(kind.groups, "group"), count_of(kind.size, "rank")));
    width = std::max(width, lines.back().first.size());
  }
  std::string_view label = "process groups";
  std::string text;
  for (const auto& [name, what] : lines)
    text += fmt::format("{:<15} {:<{}}{}{}\n", std::exchange(label, ""), name, width, width > 0 ? "  " : "",
                        what);
  if (lone > 0) text += fmt::format("{:<15} and {} of groups with 1 rank\n", "", count_of(lone, "kind"));
  return text;
}

std::string describe(const KinetoSummary& summary) {
  std::string text;
  const auto line = [&text](std::string_view label, const std::string& value) {
    text += fmt::format("{:<15} {}\n", label, value);
  };
  line("format", text_of_format(summary));
  line("ranks", text_of_ranks(summary));
  if (const auto missing = missing_ranks(summary); !missing.empty())
    line("missing ranks", step_list(missing));
  line("steps", text_of_steps(summary));
  if (!summary.partial.empty())
    line("partial steps", fmt::format("{} (recorded by some ranks only)", step_list(summary.partial)));
  if (const auto& time = summary.step_time)
    line("step time", fmt::format("{:.6g} s median, {:.6g} to {:.6g} s", time->median_s, time->shortest_s,
                                  time->longest_s));
  text += describe_groups(summary.groups);
  if (!summary.spinning.empty())
    line("hidden waits", fmt::format("in non-NCCL kernels, whose time counts as work: {}",
                                     on_one_line(fmt::format("{}", fmt::join(summary.spinning, ", ")))));
  return text + describe_communication(summary);
}

std::string describe(const KinetoUse& use) {
  std::string text;
  if (!use.findings.empty()) text += "\n" + cleaning_text(use.findings);
  if (!use.refusal.empty())
    text += fmt::format("\n`goodput whatif` rejects this trace: {}\n", on_one_line(use.refusal));
  return text;
}

// ---- For programs.

OrderedJson to_json(const KinetoSummary& summary, const KinetoUse& use, const CommandContext& context) {
  OrderedJson json = begin_json_result("trace_info", context, {summary.hash, {}, "measured"});
  json["kind"] = kKinetoFormat;
  json["formats"] = {kKinetoFormat};
  json["device"] = kDeviceNames[static_cast<std::size_t>(summary.device)];
  json["ranks"] = summary.ranks;
  json["world_size"] = summary.world_size > 0 ? OrderedJson(summary.world_size) : nullptr;
  json["hosts"] = summary.hosts;
  json["steps"] = summary.steps;
  json["partial_steps"] = summary.partial;
  json["step_time_s"] = nullptr;
  if (const auto& time = summary.step_time)
    json["step_time_s"] = {{"min", time->shortest_s}, {"median", time->median_s}, {"max", time->longest_s}};
  json["process_groups"] = OrderedJson::array();
  for (const GroupKind& kind : summary.groups)
    json["process_groups"].push_back(
        {{"description", kind.description}, {"groups", kind.groups}, {"size", kind.size}});
  json["communication"] = OrderedJson::array();
  for (const CommunicationKind& kind : summary.communication)
    json["communication"].push_back({{"group", kind.group ? OrderedJson(*kind.group) : nullptr},
                                     {"collective", kind.collective},
                                     {"per_step", kind.per_step},
                                     {"elements", or_null(kind.elements)},
                                     {"bytes", or_null(kind.bytes)},
                                     {"median_s", kind.part_s}});
  json["spinning_kernels"] = std::vector<std::string>(summary.spinning.begin(), summary.spinning.end());
  json["notes"] = use.notes;
  json["cleaning"] = cleaning_json(use.findings);
  json["refused_reason"] = use.refusal.empty() ? nullptr : OrderedJson(use.refusal);
  return json;
}

}  // namespace

Result<ExitCode> run_kineto_info(const TraceFiles& files, const CommandContext& context) {
  GOODPUT_TRY_STATUS(check_file_roles(input_files(files), {}, context));
  GOODPUT_TRY(std::vector<RankActivity> activities, read_activities(files, context));
  const KinetoSummary summary = summarize(activities);
  GOODPUT_TRY(const KinetoUse use, use_for_whatif(std::move(activities), files));
  for (const std::string& note : use.notes) context.note(note);
  context.print(describe(summary) + describe(use));
  if (!context.options.wants_result()) return ExitCode::kOk;
  GOODPUT_TRY_STATUS(write_json_result(to_json(summary, use, context), context));
  return ExitCode::kOk;
}

}  // namespace goodput
