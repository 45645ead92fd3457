#include "sim/causes/root_cause.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "sim/causes/fix.h"
#include "sim/causes/slow_workers.h"

namespace goodput {
namespace {

constexpr double kSlowWorker = 1.02;  // pace against peers
constexpr double kSlowStage = 1.03;   // against the middle stage
constexpr double kLikelyCorrelation = 0.8;
constexpr double kIsolated = 0.3;  // share of a worker's passes; if more are long, that is its normal pace
constexpr double kConcentrated = 0.6;
constexpr double kAlways = 0.8;            // share of the steps: a stage's layers are the same in all steps
constexpr double kLinkWorthNaming = 1.05;  // min gain if S does not show it, or all replicas share it
constexpr double kWorthDating = 0.01;      // of a pace: smaller changes are not dated

// Finds the causes of one recording.
class CauseFinder {
 public:
  CauseFinder(const AnalysedJob& job, const Patterns& patterns, double launch_threshold,
              const std::optional<Doubt>& doubt)
      : job_(job),
        recording_(job.recording),
        patterns_(patterns),
        launch_threshold_(launch_threshold),
        doubt_(doubt) {}

  [[nodiscard]] std::vector<RootCause> find() {
    add(slow_workers());
    add(stage_partition());
    add(sequence_length());
    add(gc_pauses());
    add(launch_delay(), Needs::kNothing);
    add(slow_link(), Needs::kGain);
    add(communication_flap());
    std::stable_sort(causes_.begin(), causes_.end(), [](const RootCause& a, const RootCause& b) {
      return std::pair(!a.likely, -a.gain.value_or(0)) < std::pair(!b.likely, -b.gain.value_or(0));
    });
    return std::move(causes_);
  }

 private:
  [[nodiscard]] std::size_t stages() const { return static_cast<std::size_t>(recording_.pp_size); }

  // S does not include late launches, nor what all links share. The latter needs a larger gain.
  enum class Needs : std::uint8_t { kSlowdown, kGain, kNothing };

  // Values the fix if nobody did, and judges: a pattern whose fix gains something is likely.
  void add(RootCause cause, Needs needs = Needs::kSlowdown) {
    if (!cause.fix.empty() && !cause.gain) {
      const Result<Remedy> remedy = remedy_of(job_, &patterns_, cause.fix);
      GOODPUT_CHECK(remedy, "the fix of a cause is not a valid selector");
      cause.gain = gain_of(job_, *remedy).gain;
    }
    const bool is_slow = job_.result.slowdown >= kSlowdownWorthExplaining;
    if (cause.reason.empty() && needs == Needs::kSlowdown && !is_slow)
      cause.reason = fmt::format("stragglers cost next to nothing (S = {:.3f})", job_.result.slowdown);
    const bool needs_more = needs == Needs::kGain && (!is_slow || cause.workers.empty());
    if (cause.reason.empty() && cause.gain)
      cause.reason = reason_against(*cause.gain, needs_more ? kLinkWorthNaming : kSlowdownWorthExplaining);
    if (cause.reason.empty() && needs != Needs::kNothing && doubt_) cause.reason = doubt_->why;
    cause.likely = cause.reason.empty();
    causes_.push_back(std::move(cause));
  }

  // Empty when the fix is worth naming.
  static std::string reason_against(double gain, double least) {
    if (gain >= least) return "";
    if (gain < 1) return "fixing this cause alone would make steps longer";
    return fmt::format("fixing this cause would speed up steps by less than {:.2f}x", least);
  }

  // All that are slow, or else the slowest one.
  [[nodiscard]] RootCause slow_workers() const {
    const SlowWorkers slow = slow_or_slowest(job_, patterns_.pace);
    const bool has_peers = recording_.dp_size > 1 || stages() == 1;
    RootCause cause =
        slow.are_slow || has_peers ? slow_groups(slow.groups) : slow_worker_or_stage(slow.groups);
    cause.fix = {"cause=worker-fault"};
    cause.gain = slow.gain;
    if (!slow.are_slow && has_peers && cause.reason.empty())
      cause.reason =
          "no worker is clearly slower than its peers for more than two steps, or fixing the slow workers "
          "gains less than 1 %";
    return cause;
  }

  // Of one replica nothing says whether a stage is slow because of its machine or because of its layers.
  [[nodiscard]] RootCause slow_worker_or_stage(const std::vector<SlowGroup>& groups) const {
    const std::size_t stage = patterns_.pace.slowest_stage();
    RootCause cause = slow_groups(groups);
    cause.value = patterns_.pace.stage[stage];
    cause.threshold = kSlowStage;
    cause.workers.front().pace = *cause.value;
    cause.evidence = fmt::format(
        "the passes of stage {} take {:.2f}x as long as those of the median stage; with one replica, a slow "
        "worker looks like a large stage",
        stage, *cause.value);
    cause.reason = *cause.value < kSlowStage ? "no stage is 3 % slower than the median stage" : "";
    return cause;
  }

  [[nodiscard]] RootCause slow_groups(const std::vector<SlowGroup>& groups) const {
    RootCause cause;
    const bool are_alike = std::ranges::all_of(
        groups, [&](const SlowGroup& group) { return group.kind == groups.front().kind; });
    const std::string& kind = groups.front().kind;
    cause.name = !are_alike || kind == "worker" ? "worker-fault" : "slow-" + kind;
    cause.criterion = "pass time of the slowest worker divided by that of its peers, averaged over the steps";
    cause.threshold = kSlowWorker;
    std::vector<std::string> parts;
    for (const SlowGroup& group : groups) {
      const TimePattern time = time_of(group.workers);
      for (const std::size_t worker : group.workers) cause.workers.push_back({worker, pace_of(worker), time});
      parts.push_back(describe_group(group, time));
    }
    std::ranges::stable_sort(cause.workers, std::greater<>(), &RootCause::SlowWorker::pace);
    const double slowest = cause.workers.front().pace;
    cause.value = slowest;
    cause.evidence = "pass time relative to peers: " + first_ones(parts);
    if (slowest < kSlowWorker)
      cause.reason = fmt::format(
          "the slowest worker takes {:.3f}x as long as its peers, which is less than the threshold of "
          "{:.2f}x",
          slowest, kSlowWorker);
    return cause;
  }

  // Against peers, noise or not.
  [[nodiscard]] double pace_of(std::size_t worker) const {
    return std::max(slowness(recording_, patterns_.pace, worker), patterns_.pace.worker[worker].mean);
  }

  // "dp 2 stage 3 (rank 140) 1.80x", "all of host n7 1.21x (1.60 from step 12 on, 1.00 before)".
  [[nodiscard]] std::string describe_group(const SlowGroup& group, const TimePattern& time) const {
    double sum = 0;
    for (const std::size_t worker : group.workers) sum += pace_of(worker);
    std::string text = fmt::format("all of {} {}", group.kind, group.name);
    if (group.kind == "worker") text = worker_name(recording_, group.workers.front());
    if (group.kind == "replica") text = fmt::format("all of {}", group.name);
    const std::string when = describe(time, recording_.steps);
    return fmt::format("{} {:.2f}x{}", text, sum / static_cast<double>(group.workers.size()),
                       when.empty() ? "" : " (" + when + ")");
  }

  static std::string first_ones(const std::vector<std::string>& parts) {
    constexpr std::size_t kNamed = 8;
    const auto named = static_cast<std::ptrdiff_t>(std::min(kNamed, parts.size()));
    const std::string text = fmt::format("{}", fmt::join(parts.begin(), parts.begin() + named, ", "));
    return parts.size() <= kNamed ? text : fmt::format("{} and {} more", text, parts.size() - kNamed);
  }

  // Of the workers' mean pace.
  [[nodiscard]] TimePattern time_of(const std::vector<std::size_t>& workers) const {
    std::vector<double> series(recording_.steps.size(), 0.0);
    const auto count = static_cast<double>(workers.size());
    for (const std::size_t worker : workers) {
      const auto [dp_rank, stage] = recording_.worker(worker);
      const std::vector<double> pace = pace_by_step(patterns_.pace, dp_rank, stage);
      for (std::size_t step = 0; step < series.size(); ++step) series[step] += pace[step] / count;
    }
    const bool with_replica = std::ranges::any_of(workers, [&](std::size_t worker) {
      return is_replica_slow(patterns_.pace, recording_.worker(worker).dp_rank);
    });
    const double noise = with_replica ? patterns_.pace.replica_noise : patterns_.pace.worker_noise;
    return find_time_pattern(series, noise / std::sqrt(count), kWorthDating);
  }

  // A stage that is slow in all replicas, against the middle one.
  [[nodiscard]] RootCause stage_partition() const {
    const std::size_t stage = patterns_.pace.slowest_stage();
    RootCause cause;
    cause.name = "stage-partition";
    cause.criterion =
        "pass time of the slowest stage divided by that of the median stage, averaged over the steps, "
        "without slow replicas";
    cause.threshold = kSlowStage;
    cause.stage = stage;
    if (stages() == 1) {
      cause.reason = cause.evidence = "the job has only one stage";
      return cause;
    }
    cause.fix = {"cause=stage-partition"};
    cause.value = patterns_.pace.stage[stage];
    cause.evidence = fmt::format(
        "the passes of stage {} take {:.2f}x as long as those of the median stage; stage {} alone makes "
        "steps {:.3f}x as long",
        stage, *cause.value, job_.result.slowest_stage,
        job_.result.blocking.by_stage.slowdown[job_.result.slowest_stage]);
    const double steady = patterns_.pace.slow_steps[stage];
    if (*cause.value < kSlowStage)
      cause.reason = fmt::format("no stage takes at least {:.2f}x as long as the median stage", kSlowStage);
    else if (steady < kAlways)
      cause.reason = fmt::format(
          "stage {} is that slow in only {:.0f} % of the steps, but its layers are the same in all steps",
          stage, 100 * steady);
    return cause;
  }

  [[nodiscard]] RootCause sequence_length() const {
    RootCause cause;
    cause.name = "sequence-length";
    cause.criterion = "correlation between forward and backward durations of the same micro-batch";
    cause.threshold = kLikelyCorrelation;
    const auto& work = patterns_.micro_batches;
    if (!work) {
      cause.reason = cause.evidence =
          "there are no micro-batches to compare, or all passes take equally long";
      return cause;
    }
    cause.fix = {"cause=sequence-length"};
    cause.value = work->correlation;
    cause.evidence =
        fmt::format("the work of {} micro-batches varies by {:.1f} %", work->count, 100 * work->variation);
    if (work->correlation < kLikelyCorrelation)
      cause.reason = fmt::format(
          "forward and backward passes of a micro-batch do not vary together (correlation {:.2f}, less than "
          "{:.1f})",
          work->correlation, kLikelyCorrelation);
    return cause;
  }

  // Passes that paused occasionally.
  [[nodiscard]] RootCause gc_pauses() const {
    RootCause cause;
    cause.name = "gc-pauses";
    cause.criterion =
        "number of passes that take much longer than expected from the other pass (forward or backward) of "
        "the same micro-batch";
    cause.threshold = 1;
    if (patterns_.pairs.empty()) {
      cause.reason = cause.evidence = "there are no micro-batches to compare";
      return cause;
    }
    cause.fix = {"cause=gc-pauses"};
    cause.value = static_cast<double>(patterns_.pauses.size());
    if (patterns_.pauses.empty()) {
      cause.reason = cause.evidence =
          "no pass takes much longer than expected from the other pass (forward or backward) of the same "
          "micro-batch";
      return cause;
    }
    std::set<std::size_t> workers;
    std::set<std::size_t> steps;
    double excess_s = 0;
    std::size_t forwards = 0;
    for (const Pause& pause : patterns_.pauses) {
      workers.insert(pause.worker);
      steps.insert(pause.step);
      excess_s += pause.excess_s;
      forwards += recording_.ops[pause.expected.op].type == OpType::kForwardCompute ? 1 : 0;
    }
    const std::size_t backwards = patterns_.pauses.size() - forwards;
    cause.evidence = fmt::format(
        "{} long {} passes on {} of {} workers in {} of {} steps, on average {:.3g} s longer than expected",
        patterns_.pauses.size(),
        backwards == 0  ? "forward"
        : forwards == 0 ? "backward"
                        : "forward and backward",
        workers.size(), recording_.ranks.size(), steps.size(), recording_.steps.size(),
        excess_s / static_cast<double>(patterns_.pauses.size()));
    const double among = static_cast<double>(std::max(forwards, backwards)) / passes_of(workers.size());
    if (among > kIsolated)
      cause.reason = fmt::format("{:.0f} % of the {} passes are long, which is too many for pauses",
                                 100 * among, forwards >= backwards ? "forward" : "backward");
    return cause;
  }

  // How many passes in one direction that many workers run in all steps.
  [[nodiscard]] double passes_of(std::size_t workers) const {
    return static_cast<double>(patterns_.pairs.size() * recording_.steps.size() * workers) /
           static_cast<double>(stages());
  }

  // Links between stages whose messages take long in all or many steps.
  [[nodiscard]] RootCause slow_link() const {
    RootCause cause;
    cause.name = "slow-link";
    cause.criterion =
        "message time on the slowest link divided by the usual message time, over the steps in which the "
        "link is slow";
    cause.threshold = kSlowLink;
    const LinkPace& links = patterns_.links;
    if (links.slow.empty()) {
      cause.reason = cause.evidence = links.links == 0 ? "there are no messages between stages"
                                                       : "no link between stages is slower than the others";
      return cause;
    }
    cause.fix = {"cause=slow-link"};
    const LinkFault& slowest = links.slow.front();
    cause.value = slowest.factor;
    cause.stage = slowest.stage;
    cause.peer_stage = slowest.peer_stage;
    cause.more_links = links.slow.size() - 1;
    cause.time = slowest.time;
    if (slowest.dp_rank) {
      for (const std::size_t stage : {slowest.stage, slowest.peer_stage})
        cause.workers.push_back({*slowest.dp_rank * stages() + stage, slowest.factor, slowest.time});
    }
    std::vector<std::string> parts;
    for (const LinkFault& fault : links.slow) parts.push_back(describe_link(fault));
    cause.evidence = "message time relative to the usual time: " + first_ones(parts);
    if (!slowest.dp_rank && links.links == 2)
      cause.evidence += "; the usual time is that of the other link, because there are only two links";
    return cause;
  }

  // "stages 1 and 2 of dp 0 3.95x (4.90 from step 12 on, 1.00 before)"
  [[nodiscard]] std::string describe_link(const LinkFault& fault) const {
    const std::string of = fault.dp_rank ? fmt::format("of dp {}", *fault.dp_rank) : "in all replicas";
    const std::string when = describe(fault.time, recording_.steps);
    return fmt::format("stages {} and {} {} {}{}", fault.stage, fault.peer_stage, of,
                       times_text(fault.factor), when.empty() ? "" : " (" + when + ")");
  }

  [[nodiscard]] RootCause launch_delay() const {
    RootCause cause;
    cause.name = "launch-delay";
    cause.criterion =
        "launch slowdown: recorded step time divided by step time replayed without launch delays";
    cause.fix = {"cause=launch-delay"};
    cause.value = job_.result.launch_slowdown;
    cause.threshold = launch_threshold_;
    cause.evidence = fmt::format("late launches cost {:.1f} % of a step",
                                 std::max(0.0, 100 * (1 - 1 / job_.result.launch_slowdown)));
    cause.time = find_time_pattern(job_.result.launch_step_slowdown, kWorthDating, kWorthDating);
    if (const std::string when = describe(*cause.time, recording_.steps); !when.empty())
      cause.evidence += fmt::format(" (launch slowdown {})", when);
    if (job_.result.launch_slowdown < launch_threshold_)
      cause.reason = fmt::format("the launch slowdown of {:.3f} is less than the threshold of {:.2f}",
                                 job_.result.launch_slowdown, launch_threshold_);
    return cause;
  }

  [[nodiscard]] RootCause communication_flap() const {
    RootCause cause;
    cause.name = "communication-flap";
    cause.criterion =
        "time lost to slow transfers on the worst link divided by the time lost to all slow transfers";
    cause.threshold = kConcentrated;
    const auto& slow = patterns_.transfers;
    if (!slow) {
      cause.reason = cause.evidence =
          "no transfer takes several times as long as the median transfer of the same kind";
      return cause;
    }
    cause.fix = {"cause=communication-flap"};
    cause.value = slow->share_of_excess;
    cause.stage = slow->stage;
    cause.peer_stage = slow->peer_stage;
    if (slow->dp_rank) cause.workers = {{*slow->dp_rank * stages() + slow->stage, slow->worst_factor, {}}};
    cause.evidence = fmt::format(
        "{} of {} transfers {} took up to {:.3g}x as long as the median, on average {:.3g} s too long; these "
        "transfers account for {:.0f} % of all time lost to slow transfers",
        slow->count, slow->transfers, place_of(*slow), slow->worst_factor,
        slow->excess_s / static_cast<double>(slow->count), 100 * slow->share_of_excess);
    if (slow->share_of_excess < kConcentrated)
      cause.reason = fmt::format(
          "slow transfers are spread over several links: the worst link accounts for only {:.0f} % of the "
          "time lost to slow transfers",
          100 * slow->share_of_excess);
    return cause;
  }

  [[nodiscard]] std::string place_of(const SlowTransfers& slow) const {
    if (!slow.dp_rank) return fmt::format("between the replicas of stage {}", slow.stage);
    const std::string worker = worker_name(recording_, *slow.dp_rank * stages() + slow.stage);
    return slow.peer_stage ? fmt::format("of {}, all to or from stage {},", worker, *slow.peer_stage)
                           : "of " + worker;
  }

  const AnalysedJob& job_;
  const Recording& recording_;
  const Patterns& patterns_;
  double launch_threshold_;
  const std::optional<Doubt>& doubt_;
  std::vector<RootCause> causes_;
};

}  // namespace

std::vector<RootCause> find_root_causes(const AnalysedJob& job, const Patterns& patterns,
                                        double launch_threshold, const std::optional<Doubt>& doubt) {
  return CauseFinder(job, patterns, launch_threshold, doubt).find();
}

}  // namespace goodput
