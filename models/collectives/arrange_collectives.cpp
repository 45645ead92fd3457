#include "models/collectives/arrange_collectives.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "models/collectives/collective_graph.h"
#include "models/collectives/eager_sends.h"
#include "models/collectives/joined_ranks.h"
#include "models/collectives/matched_parts.h"
#include "models/collectives/op_kinds.h"
#include "models/collectives/rough_clocks.h"
#include "models/collectives/segment_times.h"
#include "models/collectives/track_times.h"
#include "models/collectives/wait_structure.h"
#include "sim/base/statistics.h"
#include "sim/recording/worker_places.h"

namespace goodput {
namespace {

constexpr double kSecondsPerNs = 1e-9;

class Arranger {
 public:
  Arranger(JoinedRanks joined, MatchedParts matched, std::vector<SlotGroup> groups)
      : joined_(std::move(joined)),
        matched_(std::move(matched)),
        groups_(std::move(groups)),
        times_(track_times(joined_, matched_)) {
    origin_ns_ = times_.front().observations.front().begin_ns;
    waits_.resize(times_.size());
    segments_.resize(times_.size());
    hosts_.resize(times_.size());
    for (std::size_t slot = 0; slot < times_.size(); ++slot) time_slot(slot);
    eager_ = find_eager_sends(joined_, matched_, false);
  }

  // Arranges twice: only aligned clocks show when the first step of a file begins on each rank.
  Result<ArrangedJob> arrange(const CollectiveOptions& options, std::vector<std::string>& notes) {
    std::vector<std::string> own_notes;
    if (!has_order()) eager_ = find_eager_sends(joined_, matched_, true);
    GOODPUT_TRY(ArrangedJob job, arrange_once(options, own_notes));
    if (find_first_begins(job)) {
      own_notes.clear();
      for (std::size_t slot = 0; slot < times_.size(); ++slot) time_slot(slot);
      GOODPUT_TRY(job, arrange_once(options, own_notes));
    }
    notes.insert(notes.end(), own_notes.begin(), own_notes.end());
    finish(job);
    note_inference(job, notes);
    return job;
  }

 private:
  void time_slot(std::size_t slot) {
    const RankSlot& shape = joined_.slots()[slot];
    waits_[slot] = find_waits_of_parts(joined_, shape, times_[slot]);
    stretch_to_late_launches(joined_, shape, waits_[slot], times_[slot]);
    find_waits_of_segments(joined_, shape, times_[slot], waits_[slot]);
    segments_[slot] = time_segments(joined_, waits_[slot], times_[slot]);
    hosts_[slot] = find_hosts(segments_[slot]);
  }

  // On a device, the end of one step is the begin of the next, and the first step of a file has none before
  // it. It begins on every rank when it begins on the earliest rank, plus the rank's usual lateness in other
  // steps; if the rank's kernels start later, its host was late. Returns whether any begin moved.
  bool find_first_begins(const ArrangedJob& job) {
    const std::size_t steps = joined_.steps().size();
    if (!joined_.is_on_device() || steps < 2 || job.recording.steps.size() != steps) return false;
    const std::vector<std::vector<double>> begins = begins_on_one_clock(job);
    bool has_moved = false;
    for (std::uint32_t rank = 0; rank < joined_.ranks().size(); ++rank) {
      std::vector<double> usual;
      for (std::size_t step = 0; step < steps; ++step) {
        if (!joined_.is_first_of_files(step)) usual.push_back(begins[step][rank]);
      }
      const double usually_late = usual.empty() ? 0 : take_median(usual);
      for (std::size_t step = 0; step < steps; ++step) {
        const auto late = static_cast<std::int64_t>(begins[step][rank] - usually_late);
        if (!joined_.is_first_of_files(step) || late <= kShortestDeviceGapNs) continue;
        std::int64_t& begin = seen(rank, step).begin_ns;
        joined_.add_gap(rank, {begin - late, begin});
        begin -= late;
        has_moved = true;
      }
    }
    return has_moved;
  }

  // By step and rank: how many nanoseconds after the earliest rank it begins the step.
  [[nodiscard]] std::vector<std::vector<double>> begins_on_one_clock(const ArrangedJob& job) {
    const std::size_t steps = joined_.steps().size();
    std::vector<ClockShift> shifts;
    if (job.clocks.are_aligned) shifts = clock_shifts(job.clocks.estimate, job.recording);
    std::vector<std::vector<double>> begins(steps);
    for (std::size_t step = 0; step < steps; ++step) {
      for (std::uint32_t rank = 0; rank < joined_.ranks().size(); ++rank) {
        const std::size_t worker = joined_.lane_of(rank) * times_.size() + joined_.slot_of(rank);
        const double offset_s = shifts.empty() ? 0 : shifts[worker * steps + step].offset_s;
        begins[step].push_back(static_cast<double>(seen(rank, step).begin_ns - origin_ns_) -
                               offset_s / kSecondsPerNs);
      }
      const double earliest = *std::ranges::min_element(begins[step]);
      for (double& begin : begins[step]) begin -= earliest;
    }
    return begins;
  }

  [[nodiscard]] Observation& seen(std::uint32_t rank, std::size_t step) {
    return times_[joined_.slot_of(rank)].observations[joined_.lane_of(rank) * joined_.steps().size() + step];
  }

  // By cut: whether the device is idle in the segment long enough, in some observation, to make that an op.
  static std::vector<char> find_hosts(const SlotSegments& segments) {
    constexpr std::int64_t kWorthAnOpNs = 150'000;
    std::vector<char> hosts(segments.cuts, 0);
    for (std::size_t i = 0; i < segments.times.size(); ++i) {
      if (segments.times[i].host_ns > kWorthAnOpNs) hosts[i % segments.cuts] = 1;
    }
    return hosts;
  }

  // Whether no op waits for itself, directly or through others.
  [[nodiscard]] bool has_order() const {
    const CollectiveGraph graph = build_collective_graph({joined_, groups_, waits_, hosts_, eager_});
    return OpGraph::build(graph.spec, [](std::uint32_t) { return std::string(); }).has_value();
  }

  Result<ArrangedJob> arrange_once(const CollectiveOptions& options, std::vector<std::string>& notes) {
    graph_ = build_collective_graph({joined_, groups_, waits_, hosts_, eager_});
    const OpKinds kinds = kinds_of_ops(joined_, graph_, segments_);
    const auto name_of = [&](std::uint32_t op) {
      const CollectiveOp& own = graph_.ops[op];
      return fmt::format("{}_{}_{}", kinds.types[kinds.type[op]].name, own.at, own.slot);
    };
    GOODPUT_TRY(OpGraph graph, OpGraph::build(graph_.spec, name_of));
    ArrangedJob job{
        .graph = std::move(graph), .recording = {}, .job = {}, .trace = {}, .cleaning = {}, .clocks = {}};
    fill_recording(kinds, options.metadata, job);
    derive_times(job.recording, job.graph);
    // NCCL ends a collective on all ranks within microseconds, and transfers can be as short, so even small
    // clock offsets matter.
    const bool is_exact = joined_.is_on_device() && options.clocks == ClockAlignment::kAuto;
    job.clocks =
        align_clocks(job.recording, job.graph, is_exact ? ClockAlignment::kOn : options.clocks, notes);
    return job;
  }

  void fill_recording(const OpKinds& kinds, const JobMetadataFields& metadata, ArrangedJob& job) const {
    Recording& recording = job.recording;
    recording.naming = WorkerGrid::Naming::kByRank;
    recording.dp_size = static_cast<std::int32_t>(joined_.lanes());
    recording.pp_size = static_cast<std::int32_t>(joined_.slots().size());
    recording.types = kinds.types;
    recording.stages_are_alike = !joined_.is_pipeline();
    recording.steps.assign(joined_.steps().begin(), joined_.steps().end());
    std::map<std::int64_t, std::string> hosts;
    for (std::size_t lane = 0; lane < joined_.lanes(); ++lane) {
      for (const RankSlot& slot : joined_.slots()) {
        recording.ranks.push_back(static_cast<std::int32_t>(slot.ranks[lane]));
        const std::string& host = joined_.ranks()[slot.ranks[lane]].host;
        if (!host.empty()) hosts.emplace(slot.ranks[lane], host);
      }
    }
    recording.places = worker_places(metadata, hosts, recording.ranks);
    std::vector<OpId> id_of(graph_.ops.size());
    for (OpId id = 0; id < job.graph.size(); ++id) {
      const std::uint32_t op = job.graph.caller_index()[id];
      id_of[op] = id;
      TraceOp traced;
      traced.type = kinds.type[op];
      traced.seq_id = static_cast<std::int32_t>(graph_.ops[op].at);
      traced.stage = static_cast<std::int16_t>(graph_.ops[op].slot);
      recording.ops.push_back(traced);
      recording.pools.push_back(kinds.pool[op]);
    }
    for (const std::uint32_t op : graph_.finish) recording.finish_ops.push_back(id_of[op]);
    make_blocks(recording);
    for (StepBlock& block : recording.blocks) fill_block(job, block);
  }

  void fill_block(const ArrangedJob& job, StepBlock& block) const {
    const std::size_t steps = joined_.steps().size();
    for (OpId id = 0; id < job.graph.size(); ++id) {
      const CollectiveOp& op = graph_.ops[job.graph.caller_index()[id]];
      for (std::size_t lane = 0; lane < joined_.lanes(); ++lane) {
        for (std::size_t step = 0; step < block.shape.steps; ++step) {
          const std::size_t seen = lane * steps + block.first_step + step;
          const auto [start_ns, duration_ns] = time_of(op, seen);
          const std::size_t at = id * block.shape.stride() + block.shape.lane(step, lane);
          block.start_s[at] = static_cast<double>(start_ns - origin_ns_) * kSecondsPerNs;
          block.value_s[at] = static_cast<double>(duration_ns) * kSecondsPerNs;
        }
      }
    }
  }

  // Start and duration.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> time_of(const CollectiveOp& op,
                                                              std::size_t seen) const {
    if (op.kind == CollectiveOp::Kind::kPart || op.kind == CollectiveOp::Kind::kMark) {
      const Observation& own = times_[op.slot].observations[seen];
      const std::int64_t begin = own.part_begin[op.at];
      return {begin, op.kind == CollectiveOp::Kind::kMark
                         ? 0
                         : std::max<std::int64_t>(0, own.part_end[op.at] - begin)};
    }
    const SegmentTime& time = segments_[op.slot].at(seen, op.at);
    if (op.kind == CollectiveOp::Kind::kHost) return {time.ready_ns, time.host_ns};
    if (hosts_[op.slot][op.at] != 0) return {time.ready_ns + time.host_ns, time.work_ns};
    return {time.ready_ns, time.host_ns + time.work_ns};
  }

  // What derive_times() cannot know: transfers are never negative, and a rank's step lasts from the end of
  // the step before.
  void finish(ArrangedJob& job) {
    Recording& recording = job.recording;
    for (StepBlock& block : recording.blocks) {
      for (double& value : block.value_s) value = std::max(0.0, value);
    }
    for (std::size_t i = 0; i < recording.steps.size(); ++i) {
      const auto step = static_cast<std::size_t>(std::ranges::find(joined_.steps(), recording.steps[i]) -
                                                 joined_.steps().begin());
      std::int64_t longest = 0;
      for (std::uint32_t rank = 0; rank < joined_.ranks().size(); ++rank)
        longest = std::max(longest, joined_.step(rank, step).end_ns - seen(rank, step).begin_ns);
      recording.step_base_s[i] = static_cast<double>(longest) * kSecondsPerNs;
    }
    const std::size_t observations = joined_.lanes() * joined_.steps().size();
    job.trace.formats.assign(joined_.ranks().size(), "kineto");
    for (const RankSlot& slot : joined_.slots()) job.trace.ops += slot.parts.size() * observations;
    job.trace.steps = joined_.recorded_steps();
    job.trace.ops_per_lane = recording.ops.size();
    job.cleaning = joined_.findings();
    for (const CleaningFinding& finding : job.clocks.left_out) job.cleaning.push_back(finding);
    job.doubt = find_hidden_waits();
    job.job.dp_size = recording.dp_size;
    job.job.pp_size = recording.pp_size;
    job.job.world_size = static_cast<std::int64_t>(joined_.ranks().size());
  }

  // Waiting that looks like work in the traces.
  [[nodiscard]] std::optional<Doubt> find_hidden_waits() const {
    std::set<std::string> spinning;
    bool is_interleaved = false;
    for (const RankActivity& rank : joined_.ranks()) {
      spinning.insert(rank.spinning.begin(), rank.spinning.end());
      is_interleaved = is_interleaved || rank.stages > 1;
    }
    if (!spinning.empty())
      return Doubt{
          fmt::format("these kernels wait for other ranks outside NCCL, so their waiting looks like work: {}",
                      fmt::join(spinning, ", ")),
          "profile a run that communicates with NCCL"};
    if (is_interleaved && !joined_.is_on_device())
      return Doubt{
          "gloo records the end of a message only when a rank waits for it, so with several model chunks per "
          "rank it is unclear which messages are late",
          "profile on CUDA devices with NCCL"};
    return std::nullopt;
  }

  void note_inference(ArrangedJob& job, std::vector<std::string>& notes) const {
    const std::size_t observations = joined_.lanes() * joined_.steps().size();
    std::size_t inferred = 0;
    for (const SlotWaits& waits : waits_) inferred += waits.inferred;
    if (observations < kLeastObservations)
      notes.push_back(
          fmt::format("too few observations ({}; 4 are needed) to infer which work waits for which "
                      "collective; profile more steps",
                      observations));
    job.trace.has_inferred_waits = observations >= kLeastObservations && inferred > 0;
  }

  JoinedRanks joined_;
  MatchedParts matched_;
  std::vector<SlotGroup> groups_;
  std::vector<SlotTimes> times_;
  std::int64_t origin_ns_ = 0;
  std::vector<SlotWaits> waits_;
  std::vector<SlotSegments> segments_;
  std::vector<std::vector<char>> hosts_;
  std::vector<std::vector<char>> eager_;
  CollectiveGraph graph_;
};

}  // namespace

Result<ArrangedJob> arrange_collectives(std::vector<RankActivity> activities,
                                        const CollectiveOptions& options, std::vector<std::string>& notes) {
  GOODPUT_TRY(JoinedRanks joined,
              JoinedRanks::join(std::move(activities), {options.steps, options.strict}, notes));
  if (!joined.is_on_device() && options.clocks != ClockAlignment::kOff)
    GOODPUT_TRY_STATUS(align_roughly(joined, notes));
  GOODPUT_TRY(MatchedParts matched, match_parts(joined));
  GOODPUT_TRY(std::vector<SlotGroup> groups, group_by_slot(joined, matched));
  Arranger arranger(std::move(joined), std::move(matched), std::move(groups));
  GOODPUT_TRY(ArrangedJob job, arranger.arrange(options, notes));
  job.job.trial_name = options.trial_name;
  job.trace.notes = notes;
  return job;
}

}  // namespace goodput
