// Jobs on CUDA devices with NCCL: a rank's track is the work of its kernels, a part is an nccl kernel.
// Everything is ordered by when the host launched it, because the device runs behind the host and has its own
// clock.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "traces/kineto/coalesced_launches.h"
#include "traces/kineto/kineto_forms.h"
#include "traces/kineto/track_builder.h"

namespace goodput {
namespace {

using Kernel = KinetoEvents::Kernel;
using Kind = CommunicationPart::Kind;

// A stream of collectives with less than this share of all computing only prepares and finishes collectives.
constexpr double kSideStreamShare = 0.1;

struct LaunchedKernel {
  const Kernel* kernel = nullptr;
  std::int64_t launch_ns = 0;
  std::uint32_t thread = 0;
};

// The sum of two sizes; a damaged trace may have sizes whose sum overflows.
std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  return a > std::numeric_limits<std::int64_t>::max() - b ? std::numeric_limits<std::int64_t>::max() : a + b;
}

bool is_message_name(std::string_view name) {
  return name == "send" || name == "recv";
}

class DeviceActivity {
 public:
  DeviceActivity(const KinetoEvents& events, const KinetoOptions& options, RankActivity& activity)
      : events_(events), options_(options), activity_(activity), steps_(events) {}

  Status fill() {
    find_launches();
    find_side_streams();
    GOODPUT_TRY_STATUS(add_parts());
    finish_parts_on_side_streams();
    const std::vector<HostSpan> runs = backward_runs(events_, own_launches_);
    std::vector<HostCut> cuts = pass_cuts(runs, ends_of_own_launches());
    add_launch_cuts(cuts);
    add_recorded_waits(cuts);
    add_stream_waits(cuts);
    const std::vector<std::int64_t> times =
        lay_out_cuts(activity_, steps_, std::move(cuts), host_spans(events_, runs));
    time_cuts(times);
    time_steps();
    find_gaps();
    return Ok{};
  }

 private:
  void find_launches() {
    std::unordered_map<std::uint32_t, const KinetoEvents::Launch*> by_correlation;
    by_correlation.reserve(events_.launches.size());
    for (const KinetoEvents::Launch& launch : events_.launches)
      by_correlation.emplace(launch.correlation, &launch);
    for (const KinetoEvents::StreamWait& wait : events_.stream_waits) {
      const auto record = by_correlation.find(wait.record_correlation);
      const auto own = by_correlation.find(wait.correlation);
      if (record == by_correlation.end() || own == by_correlation.end()) continue;
      stream_waits_.push_back(
          {own->second->begin_ns, record->second->begin_ns, wait.stream, wait.wait_on_stream});
    }
    std::size_t without_launch = 0;
    for (const Kernel& kernel : events_.kernels) {
      const auto launch = by_correlation.find(kernel.correlation);
      if (launch == by_correlation.end()) {
        ++without_launch;
        continue;
      }
      (kernel.collective < 0 ? own_ : nccl_)
          .push_back({&kernel, launch->second->begin_ns, launch->second->thread});
    }
    std::ranges::stable_sort(own_, {}, &LaunchedKernel::launch_ns);
    std::ranges::stable_sort(nccl_, {}, &LaunchedKernel::launch_ns);
    // A few kernels are normal: the device runs behind the host.
    constexpr double kManyKernels = 0.01;
    if (static_cast<double>(without_launch) > kManyKernels * static_cast<double>(events_.kernels.size()))
      activity_.notes.push_back(
          fmt::format("{}: ignored {} of {} kernels, because they were launched before the recording began",
                      on_one_line(activity_.file), without_launch, events_.kernels.size()));
  }

  // Host times right after each launch: a cut there comes after the launched kernel.
  [[nodiscard]] std::vector<std::int64_t> ends_of_own_launches() const {
    std::vector<std::int64_t> ends = own_launches_;
    for (std::int64_t& end : ends) ++end;
    return ends;
  }

  // Finds streams that have nccl kernels and little else; their other kernels are not the rank's own work.
  void find_side_streams() {
    for (const Kernel& kernel : events_.kernels) streams_.push_back(kernel.stream);
    std::ranges::sort(streams_);
    streams_.erase(std::unique(streams_.begin(), streams_.end()), streams_.end());
    std::map<std::uint32_t, double> busy;
    double all = 0;
    for (const LaunchedKernel& own : own_) {
      const auto duration = static_cast<double>(own.kernel->end_ns - own.kernel->begin_ns);
      busy[own.kernel->stream] += duration;
      all += duration;
    }
    for (const LaunchedKernel& nccl : nccl_) {
      if (busy[nccl.kernel->stream] < kSideStreamShare * all) side_streams_.insert({nccl.kernel->stream, {}});
    }
    std::erase_if(own_, [&](const LaunchedKernel& own) {
      const auto side = side_streams_.find(own.kernel->stream);
      if (side == side_streams_.end()) return false;
      side->second.push_back(own);
      return true;
    });
    for (const LaunchedKernel& own : own_) own_launches_.push_back(own.launch_ns);
  }

  // Counts streams from 0 in the order of CUDA's numbers, so that ranks agree if they use as many.
  [[nodiscard]] std::uint32_t number_of(std::uint32_t stream) const {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(streams_, stream) - streams_.begin());
  }

  // Index into activity_.groups of the group that args name.
  Result<std::int32_t> group_of(const KinetoCommArgs& args) {
    const std::string& name = events_.names[args.group_name];
    const std::string& ranks_text = events_.names[args.group_ranks];
    if (name.empty() && ranks_text.empty()) {
      if (options_.one_group) return world_group();
      return Error{fmt::format("NCCL kernels have no process groups (recorded before PyTorch 2.3?); if all "
                               "ranks form one group, use {}",
                               kOption),
                   {.file = activity_.file},
                   "one-group"};
    }
    const auto named = std::ranges::find(activity_.groups, name, &ProcessGroup::name);
    if (!name.empty() && named != activity_.groups.end())
      return static_cast<std::int32_t>(named - activity_.groups.begin());
    const std::vector<std::int32_t> ranks = ranks_of(ranks_text);
    if (!ranks.empty() &&
        (args.group_size < 0 || static_cast<std::int64_t>(ranks.size()) == args.group_size)) {
      activity_.groups.push_back({name, events_.names[args.group_description], ranks});
      return static_cast<std::int32_t>(activity_.groups.size()) - 1;
    }
    if (args.group_size > 0 && args.group_size == activity_.world_size) return world_group();
    return Error{fmt::format("the ranks of process group {} are not in distributedInfo and are incomplete in "
                             "\"Process Group Ranks\"; profile with PyTorch 2.3 or later",
                             in_quotes(name)),
                 {.file = activity_.file}};
  }

  std::int32_t world_group() {
    for (std::size_t i = 0; i < activity_.groups.size(); ++i) {
      if (static_cast<std::int32_t>(activity_.groups[i].ranks.size()) == activity_.world_size)
        return static_cast<std::int32_t>(i);
    }
    ProcessGroup world{"world", "", {}};
    for (std::int32_t rank = 0; rank < activity_.world_size; ++rank) world.ranks.push_back(rank);
    activity_.groups.push_back(std::move(world));
    return static_cast<std::int32_t>(activity_.groups.size()) - 1;
  }

  // "[0, 1, 2]"; nothing when it is cut ("[0, 1, ..., 63]").
  static std::vector<std::int32_t> ranks_of(std::string_view text) {
    std::vector<std::int32_t> ranks;
    if (text.size() < 2 || text.front() != '[' || text.back() != ']') return ranks;
    for (std::string_view item : split(text.substr(1, text.size() - 2), ',')) {
      while (item.starts_with(' ')) item.remove_prefix(1);
      const auto rank = parse_integer(item);
      if (!rank || *rank < 0 || *rank > (1 << 24)) return {};
      ranks.push_back(static_cast<std::int32_t>(*rank));
    }
    return ranks;
  }

  void find_records() {
    for (const KinetoEvents::Span& span : events_.spans) {
      if (span.comm < 0) continue;
      records_.push_back(
          {span.begin_ns, span.external_id, &events_.comm_args[static_cast<std::size_t>(span.comm)], false});
    }
    std::ranges::stable_sort(records_, {}, &CommRecord::begin_ns);
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (records_[i].external_id != 0) record_of_id_.emplace(records_[i].external_id, i);
    }
  }

  [[nodiscard]] const std::string& collective_of(const KinetoCommArgs& args) const {
    return events_.names[args.collective];
  }

  // The kernels of one launch.
  struct KernelSet {
    std::int64_t launch_ns = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::uint32_t stream = 0;
    const KinetoCommArgs* args = nullptr;  // of the kernel, or of its record
    std::optional<std::size_t> record = std::nullopt;
    bool carries_messages = false;
  };

  std::vector<KernelSet> kernel_sets() {
    std::vector<KernelSet> sets;
    std::unordered_map<std::uint64_t, std::size_t> set_of_id;
    for (const LaunchedKernel& nccl : nccl_) {
      const auto& collective = events_.collective_kernels[static_cast<std::size_t>(nccl.kernel->collective)];
      const auto [set, is_new] = collective.external_id == 0
                                     ? std::pair(set_of_id.end(), true)
                                     : set_of_id.try_emplace(collective.external_id, sets.size());
      if (!is_new) {
        KernelSet& same = sets[set->second];
        same.begin_ns = std::min(same.begin_ns, nccl.kernel->begin_ns);
        same.end_ns = std::max(same.end_ns, nccl.kernel->end_ns);
        continue;
      }
      KernelSet next;
      next.launch_ns = nccl.launch_ns;
      next.begin_ns = nccl.kernel->begin_ns;
      next.end_ns = nccl.kernel->end_ns;
      next.stream = nccl.kernel->stream;
      next.carries_messages = collective.carries_messages;
      if (collective.comm >= 0) next.args = &events_.comm_args[static_cast<std::size_t>(collective.comm)];
      if (const auto found = record_of_id_.find(collective.external_id); found != record_of_id_.end()) {
        next.record = found->second;
        records_[found->second].has_kernel = true;
        next.launch_ns = records_[found->second].begin_ns;
        if (next.args == nullptr) next.args = records_[found->second].args;
      }
      sets.push_back(next);
    }
    std::ranges::stable_sort(sets, {}, &KernelSet::launch_ns);
    return sets;
  }

  Status add_parts() {
    find_records();
    const std::vector<KernelSet> sets = kernel_sets();
    carried_ = carried_launches(events_, records_);
    for (const KernelSet& set : sets) GOODPUT_TRY_STATUS(add_parts_of(set));
    std::ranges::stable_sort(activity_.parts, {}, &CommunicationPart::launch_ns);
    return Ok{};
  }

  Status add_parts_of(const KernelSet& set) {
    static constexpr KinetoCommArgs kNoArgs{};
    const KinetoCommArgs& args = set.args == nullptr ? kNoArgs : *set.args;
    CommunicationPart part;
    part.launch_ns = set.launch_ns;
    std::vector<const KinetoCommArgs*> messages;
    std::int64_t elements = args.in_elements;
    if (is_message_name(collective_of(args))) messages.push_back(&args);
    if (set.record) {
      for (const std::size_t record : carried_[*set.record]) {
        const KinetoCommArgs& other = *records_[record].args;
        part.launch_ns = std::min(part.launch_ns, records_[record].begin_ns);
        if (is_message_name(collective_of(other))) messages.push_back(&other);
        if (other.in_elements > 0) elements = sum_of(std::max<std::int64_t>(elements, 0), other.in_elements);
      }
    }
    const std::int32_t step = steps_.step_at(part.launch_ns);
    if (step < 0) return Ok{};
    part.step = static_cast<std::uint32_t>(step);
    GOODPUT_TRY(part.group, group_of(args));
    part.name = intern(activity_, collective_of(args));
    part.dtype = intern(activity_, events_.names[args.dtype]);
    part.elements = elements;
    part.sequence = args.sequence;
    part.stream = number_of(set.stream);
    part.begin_ns = set.begin_ns;
    part.end_ns = set.end_ns;
    if (messages.empty()) {
      // All-to-alls, gathers and scatters also run as such kernels, but they name their collective.
      const std::string& name = collective_of(args);
      const bool is_unknown = name.empty() || name.find("oalesc") != std::string::npos;
      if (set.carries_messages && is_unknown)
        return Error{"sends and receives have no recorded peer ranks; profile with PyTorch 2.3 or later",
                     {.file = activity_.file}};
      activity_.parts.push_back(part);
      return Ok{};
    }
    for (const KinetoCommArgs* message : messages) GOODPUT_TRY_STATUS(add_message(part, *message));
    return Ok{};
  }

  Status add_message(CommunicationPart& part, const KinetoCommArgs& message) {
    const bool is_send = collective_of(message) == "send";
    part.kind = is_send ? Kind::kSend : Kind::kReceive;
    part.peer = is_send ? message.destination : message.source;
    const ProcessGroup& group = activity_.groups[static_cast<std::size_t>(part.group)];
    if (part.peer < 0 && group.ranks.size() == 2)
      part.peer = group.ranks[0] == activity_.rank ? group.ranks[1] : group.ranks[0];
    if (part.peer < 0)
      return Error{"sends and receives have no recorded peer ranks; profile with PyTorch 2.3 or later",
                   {.file = activity_.file}};
    part.name = intern(activity_, collective_of(message));
    part.elements = message.in_elements;
    part.sequence = -1;  // counts by rank
    activity_.parts.push_back(part);
    part.is_with_previous = true;
    return Ok{};
  }

  // Other kernels on a side stream belong to the collective that they follow, unless the next one is nearer.
  void finish_parts_on_side_streams() {
    std::map<std::uint32_t, std::vector<CommunicationPart*>> by_stream;
    for (CommunicationPart& part : activity_.parts) {
      if (!part.is_with_previous) by_stream[part.stream].push_back(&part);
    }
    for (auto& [stream, kernels] : side_streams_) {
      std::vector<CommunicationPart*>& parts = by_stream[number_of(stream)];
      std::ranges::sort(parts, {}, &CommunicationPart::begin_ns);
      std::ranges::sort(kernels, {}, [](const LaunchedKernel& own) { return own.kernel->begin_ns; });
      for (const LaunchedKernel& own : kernels) {
        const auto next =
            std::ranges::upper_bound(parts, own.kernel->begin_ns, {}, &CommunicationPart::begin_ns);
        if (next == parts.begin()) continue;
        CommunicationPart& before = **(next - 1);
        const bool is_next_nearer = next != parts.end() && (*next)->begin_ns - own.kernel->end_ns <
                                                               own.kernel->begin_ns - before.end_ns;
        if (!is_next_nearer) before.end_ns = std::max(before.end_ns, own.kernel->end_ns);
      }
    }
  }

  void add_launch_cuts(std::vector<HostCut>& cuts) const {
    for (std::size_t i = 0; i < activity_.parts.size(); ++i) {
      if (!activity_.parts[i].is_with_previous)
        cuts.push_back({activity_.parts[i].launch_ns, TrackCut::Kind::kLaunch, static_cast<std::int32_t>(i)});
    }
  }

  // The last part that was launched before `host_ns` and that `accepts`.
  template <typename Accepts>
  [[nodiscard]] std::int32_t last_part_before(std::int64_t host_ns, Accepts accepts) const {
    auto at = std::ranges::lower_bound(activity_.parts, host_ns, {}, &CommunicationPart::launch_ns) -
              activity_.parts.begin();
    while (--at >= 0) {
      const CommunicationPart& part = activity_.parts[static_cast<std::size_t>(at)];
      if (!part.is_with_previous && accepts(part)) return static_cast<std::int32_t>(at);
    }
    return -1;
  }

  void add_recorded_waits(std::vector<HostCut>& cuts) const {
    for (const CommRecord& record : records_) {
      if (collective_of(*record.args) != "wait") continue;
      const std::string& group = events_.names[record.args->group_name];
      const std::int32_t part = last_part_before(record.begin_ns, [&](const CommunicationPart& one) {
        return activity_.groups[static_cast<std::size_t>(one.group)].name == group &&
               (record.args->sequence < 0 || one.sequence < 0 || one.sequence == record.args->sequence);
      });
      if (part >= 0) cuts.push_back({record.begin_ns, TrackCut::Kind::kWait, part});
    }
  }

  // A computing stream waits for the last part launched on the other stream before the event was recorded.
  void add_stream_waits(std::vector<HostCut>& cuts) const {
    for (const SeenWait& wait : stream_waits_) {
      const bool is_known = std::ranges::binary_search(streams_, wait.wait_on_stream);
      if (side_streams_.contains(wait.stream) || !is_known) continue;
      const std::int32_t part = last_part_before(wait.record_ns, [&](const CommunicationPart& one) {
        return one.stream == number_of(wait.wait_on_stream);
      });
      if (part >= 0) cuts.push_back({wait.launch_ns, TrackCut::Kind::kWait, part});
    }
  }

  void time_cuts(const std::vector<std::int64_t>& host_times) {
    std::size_t next = 0;
    std::int64_t end = 0;
    for (std::size_t i = 0; i < activity_.cuts.size(); ++i) {
      TrackCut& cut = activity_.cuts[i];
      for (; next < own_.size() && own_[next].launch_ns < host_times[i]; ++next) {
        const Kernel& kernel = *own_[next].kernel;
        end = std::max(end, kernel.end_ns);
        if (own_[next].launch_ns < steps_.steps().front().begin_ns)
          continue;  // of a step before the recording
        if (cut.begin_ns == 0) cut.begin_ns = kernel.begin_ns;
        cut.streams |= std::uint64_t{1} << std::min<std::uint32_t>(number_of(kernel.stream), 63);
      }
      cut.end_ns = end;
    }
  }

  // A step runs from the end of the last kernel launched before it to that of the last one launched in it.
  void time_steps() {
    std::vector<LaunchedKernel> all = own_;
    all.insert(all.end(), nccl_.begin(), nccl_.end());
    for (const auto& [stream, kernels] : side_streams_) all.insert(all.end(), kernels.begin(), kernels.end());
    std::ranges::sort(all, {}, &LaunchedKernel::launch_ns);
    std::size_t next = 0;
    std::int64_t end = 0;
    for (std::size_t i = 0; i < activity_.steps.size(); ++i) {
      RankActivity::Step& step = activity_.steps[i];
      for (; next < all.size() && all[next].launch_ns < steps_.steps()[i].begin_ns; ++next)
        end = std::max(end, all[next].kernel->end_ns);
      std::int64_t first = next < all.size() ? all[next].kernel->begin_ns : end;
      const std::size_t first_of_step = next;
      const std::int64_t before = end;
      for (; next < all.size() && all[next].launch_ns < steps_.end_ns(i); ++next) {
        first = std::min(first, all[next].kernel->begin_ns);
        end = std::max(end, all[next].kernel->end_ns);
      }
      step.is_first_in_file = first_of_step == 0;
      step.begin_ns = step.is_first_in_file ? first : before;
      step.end_ns = end;
      bring_cuts_into(step);
    }
  }

  // Cuts before the first kernel of a step end no earlier than the step begins.
  void bring_cuts_into(const RankActivity::Step& step) {
    for (std::uint32_t i = 0; i < step.cut_count; ++i) {
      TrackCut& cut = activity_.cuts[step.first_cut + i];
      cut.end_ns = std::max(cut.end_ns, step.begin_ns);
    }
  }

  void find_gaps() {
    std::vector<IdleGap> busy;
    for (const LaunchedKernel& own : own_) busy.push_back({own.kernel->begin_ns, own.kernel->end_ns});
    std::ranges::sort(busy, {}, &IdleGap::begin_ns);
    // The device is idle after the rank's last own kernel.
    std::int64_t end = 0;
    for (const Kernel& kernel : events_.kernels) end = std::max(end, kernel.end_ns);
    busy.push_back({end + kShortestDeviceGapNs + 1, end + kShortestDeviceGapNs + 1});
    activity_.gaps = gaps_between(busy, kShortestDeviceGapNs);
  }

  struct SeenWait {
    std::int64_t launch_ns = 0;
    std::int64_t record_ns = 0;
    std::uint32_t stream = 0;
    std::uint32_t wait_on_stream = 0;
  };

  const KinetoEvents& events_;
  const KinetoOptions& options_;
  RankActivity& activity_;
  HostSteps steps_;
  std::vector<LaunchedKernel> own_;   // by launch; the rank's own work
  std::vector<LaunchedKernel> nccl_;  // by launch
  std::vector<std::int64_t> own_launches_;
  std::vector<std::uint32_t> streams_;  // ascending
  std::map<std::uint32_t, std::vector<LaunchedKernel>> side_streams_;
  std::vector<SeenWait> stream_waits_;
  std::vector<CommRecord> records_;
  std::unordered_map<std::uint64_t, std::size_t> record_of_id_;
  std::vector<std::vector<std::size_t>> carried_;  // by record
};

}  // namespace

Status fill_from_device(const KinetoEvents& events, const KinetoOptions& options, RankActivity& activity) {
  return DeviceActivity(events, options, activity).fill();
}

}  // namespace goodput
