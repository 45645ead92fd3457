#include "sim/analysis/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "sim/base/statistics.h"

namespace goodput {
namespace {

constexpr double kAsLarge = 0.8;  // of gain - 1: another cause from there on is named too
constexpr double kManyMessages =
    0.1;  // min share of the step at which a small S no longer means a healthy job
constexpr std::size_t kMostRanksNamed = 8;  // of a replica or host

std::string host_of(const WorkerGrid& grid, std::size_t worker) {
  for (const WorkerGrid::PlaceKind& kind : grid.places) {
    if (kind.name == "host") return kind.of_worker[worker];
  }
  return "";
}

Verdict::Worker worker_of(const WorkerGrid& grid, std::size_t worker) {
  const auto [dp, stage] = grid.worker(worker);
  return {dp, stage, grid.ranks[worker], host_of(grid, worker)};
}

// `rank 40 (dp 1, stage 2, host n5)`
std::string name_of(const Verdict::Worker& worker) {
  return fmt::format("rank {} (dp {}, stage {}{})", worker.rank, worker.dp, worker.stage,
                     worker.host.empty() ? "" : ", host " + worker.host);
}

// `a`, `a and b`, `a, b and c`, `a, b and 9 more`
template <typename Item>
std::string list_of(std::vector<Item> items, std::size_t most) {
  if (items.empty()) return "";
  if (items.size() > most) {
    const std::size_t more = items.size() - most;
    items.resize(most);
    return fmt::format("{} and {} more", fmt::join(items, ", "), more);
  }
  if (items.size() == 1) return fmt::format("{}", items.front());
  const Item last = items.back();
  items.pop_back();
  return fmt::format("{} and {}", fmt::join(items, ", "), last);
}

// `rank 3`, `ranks 3, 4 and 9 more`
std::string ranks_of(const std::vector<Verdict::Worker>& workers) {
  std::vector<std::int32_t> ranks;
  for (const Verdict::Worker& worker : workers) ranks.push_back(worker.rank);
  std::ranges::sort(ranks);
  return fmt::format("rank{} {}", workers.size() == 1 ? "" : "s", list_of(ranks, kMostRanksNamed));
}

// `host n5`, `hosts n5, n6 and 3 more`; `the host of rank 40`, `the hosts of ranks 40 and 48` if one is
// unknown.
std::string hosts_of(const std::vector<Verdict::Worker>& workers) {
  std::vector<std::string> hosts;
  for (const Verdict::Worker& worker : workers) {
    if (worker.host.empty())
      return fmt::format("the host{} of {}", workers.size() == 1 ? "" : "s", ranks_of(workers));
    if (std::ranges::find(hosts, worker.host) == hosts.end()) hosts.push_back(worker.host);
  }
  return fmt::format("host{} {}", hosts.size() == 1 ? "" : "s", list_of(hosts, kMostRanksNamed));
}

// slow-host, slow-switch, slow-rack: the kind of place; slow-replica: dp; else empty.
std::string group_kind(const std::string& cause) {
  if (cause == "slow-replica") return "dp";
  if (cause == "slow-link" || cause == "slow-rank") return "";
  return cause.starts_with("slow-") ? cause.substr(5) : "";
}

// The workers of a slow replica, host, switch or rack.
struct Group {
  std::string name;
  std::vector<Verdict::Worker> workers;
  double pace = 1;
};

double mean_pace(const std::vector<RootCause::SlowWorker>& workers) {
  double sum = 0;
  for (const RootCause::SlowWorker& slow : workers) sum += slow.pace;
  return workers.empty() ? 1 : sum / static_cast<double>(workers.size());
}

std::string group_name(const std::string& kind, const WorkerGrid& grid, std::size_t worker) {
  if (kind == "dp") return std::to_string(grid.worker(worker).dp_rank);
  for (const WorkerGrid::PlaceKind& places : grid.places) {
    if (places.name == kind) return places.of_worker[worker];
  }
  return "";
}

// In the order of their slowest worker.
std::vector<Group> groups_of(const RootCause& cause, const WorkerGrid& grid) {
  const std::string kind = group_kind(cause.name);
  std::vector<Group> groups;
  std::vector<std::vector<RootCause::SlowWorker>> slow_of;
  for (const RootCause::SlowWorker& slow : cause.workers) {
    const std::string name = group_name(kind, grid, slow.worker);
    const auto found = std::ranges::find(groups, name, &Group::name);
    const auto at = static_cast<std::size_t>(found - groups.begin());
    if (found == groups.end()) {
      groups.push_back({name, {}, 1});
      slow_of.emplace_back();
    }
    groups[at].workers.push_back(worker_of(grid, slow.worker));
    slow_of[at].push_back(slow);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    // A pattern is of the whole group.
    const TimePattern& time = slow_of[i].front().time;
    groups[i].pace = time.kind == TimePattern::Kind::kSteady ? mean_pace(slow_of[i]) : time.high;
  }
  return groups;
}

bool are_alike(const TimePattern& a, const TimePattern& b) {
  return a.kind == b.kind &&
         (a.kind == TimePattern::Kind::kSteady || (a.first == b.first && a.last == b.last));
}

// The pattern that all workers of the cause share, or that of the cause itself; none if they differ.
std::optional<TimePattern> common_time(const RootCause& cause) {
  if (cause.workers.empty() || cause.name == "communication-flap") return cause.time;
  const TimePattern& first = cause.workers.front().time;
  const bool is_common = std::ranges::all_of(
      cause.workers, [&](const RootCause::SlowWorker& slow) { return are_alike(slow.time, first); });
  return is_common ? std::optional(first) : std::nullopt;
}

std::optional<double> pace_of(const RootCause& cause, const WorkerGrid& grid) {
  if (cause.name == "stage-partition") return cause.value;
  if (cause.name == "slow-link" && cause.time)
    return cause.time->kind == TimePattern::Kind::kSteady ? *cause.value : cause.time->high;
  if (cause.workers.empty()) return std::nullopt;
  double most = 0;
  if (!group_kind(cause.name).empty()) {
    for (const Group& group : groups_of(cause, grid)) most = std::max(most, group.pace);
    return most;
  }
  for (const RootCause::SlowWorker& slow : cause.workers)
    most = std::max(most, slow.time.kind == TimePattern::Kind::kSteady ? slow.pace : slow.time.high);
  return most;
}

std::optional<Verdict::Link> link_of(const RootCause& cause, const WorkerGrid& grid) {
  if (!cause.peer_stage) return std::nullopt;
  const auto [low, high] = std::minmax(*cause.stage, *cause.peer_stage);
  const auto dp =
      cause.workers.empty() ? std::nullopt : std::optional(grid.worker(cause.workers.front().worker).dp_rank);
  return Verdict::Link{low, high, dp};
}

Verdict::Subject subject_of(const RootCause& cause, const Verdict& verdict, const WorkerGrid& grid) {
  if (verdict.link) {
    const std::string of_replica = verdict.link->dp ? std::to_string(*verdict.link->dp) : "all";
    return {"link", fmt::format("link:{}:{}-{}", of_replica, verdict.link->from, verdict.link->to)};
  }
  if (const std::string kind = group_kind(cause.name); !kind.empty() && !cause.workers.empty()) {
    const std::string type = kind == "dp" ? "replica" : kind;
    return {type, fmt::format("{}:{}", type, group_name(kind, grid, cause.workers.front().worker))};
  }
  if (cause.name == "slow-rank") return {"rank", fmt::format("rank:{}", verdict.workers.front().rank)};
  if (!verdict.workers.empty())
    return {"worker", fmt::format("worker:{}:{}", verdict.workers.front().dp, verdict.workers.front().stage)};
  if (cause.stage) return {"stage", fmt::format("stage:{}", *cause.stage)};
  return {"job", "job"};
}

// ` since step 12`, ` in steps 4 to 9`, ` until step 9`; empty: in all steps.
std::string when(const Verdict& verdict) {
  if (verdict.since_step && verdict.until_step) {
    if (*verdict.since_step == *verdict.until_step) return fmt::format(" in step {}", *verdict.since_step);
    return fmt::format(" in steps {} to {}", *verdict.since_step, *verdict.until_step);
  }
  if (verdict.since_step) return fmt::format(" since step {}", *verdict.since_step);
  if (verdict.until_step) return fmt::format(" until step {}", *verdict.until_step);
  return "";
}

// The cause as a noun, and where it is as a clause: "One slow worker", "rank 40 (dp 1, stage 2) takes ...".
struct Words {
  std::string cause;
  bool is_plural = false;
  std::string place;
};

// The words of one cause; `verdict` has all but its sentence.
class Describer {
 public:
  Describer(const RootCause& cause, const Verdict& verdict, const WorkerGrid& grid,
            const std::vector<std::int64_t>& steps)
      : cause_(cause), verdict_(verdict), grid_(grid), steps_(steps) {
    if (const auto time = common_time(cause)) is_growing_ = time->kind == TimePattern::Kind::kGrowth;
  }

  [[nodiscard]] Words words() const {
    if (cause_.name == "slow-link") return slow_link();
    if (cause_.name == "slow-rank") return slow_ranks();
    if (cause_.name == "communication-flap") return transfers();
    if (const std::string kind = group_kind(cause_.name); !kind.empty()) return groups(kind);
    if (cause_.name == "worker-fault")
      return grid_.dp_size == 1 && grid_.pp_size > 1 && has_one_pace() ? lone_replica() : workers();
    if (cause_.name == "stage-partition")
      return {
          "An uneven layer split", false,
          fmt::format("stage {} {} in every replica", *cause_.stage, pace(false, "", "the median stage"))};
    if (cause_.name == "sequence-length") return {"Uneven sequence lengths", true, cause_.evidence};
    if (cause_.name == "gc-pauses")
      return {"Pauses that look like garbage collection", true, cause_.evidence};
    return {"Late launches", true, "GPUs waited for operations that were launched late" + when(verdict_)};
  }

 private:
  // `takes 1.50x as long as its peers`, `have taken up to 1.50x as long as their peers since step 12`
  [[nodiscard]] std::string pace(bool are_many, const std::string& up_to, const std::string& peers) const {
    const bool has_ended = verdict_.until_step.has_value();
    const char* verb = are_many ? "take" : "takes";
    if (has_ended) verb = "took";
    if (!has_ended && verdict_.since_step) verb = are_many ? "have taken" : "has taken";
    return fmt::format("{} {}{} as long as {}{}", verb, is_growing_ ? "increasingly long, up to " : up_to,
                       times_text(verdict_.pace.value_or(1)), peers, when(verdict_));
  }

  [[nodiscard]] Words workers() const {
    std::vector<std::string> names;
    const bool differ = !common_time(cause_);
    for (std::size_t i = 0; i < verdict_.workers.size(); ++i)
      names.push_back(name_of(verdict_.workers[i]) + (differ ? own_time(cause_.workers[i].time) : ""));
    if (names.size() == 1)
      return {"One slow worker", false, fmt::format("{} {}", names.front(), pace(false, "", "its peers"))};
    return {fmt::format("{} slow workers", names.size()), true,
            fmt::format("{} {}", list_of(names, kWorkersInASentence), pace(true, "up to ", "their peers"))};
  }

  [[nodiscard]] Words slow_ranks() const {
    if (verdict_.workers.size() == 1) {
      const Verdict::Worker& slow = verdict_.workers.front();
      const std::string rank = fmt::format("rank {}", slow.rank);
      const std::string on_host = slow.host.empty() ? "" : fmt::format(" (host {})", slow.host);
      return {"One slow rank", false, rank + on_host + cause_.evidence.substr(rank.size())};
    }
    return {fmt::format("{} slow ranks", verdict_.workers.size()), true, cause_.evidence};
  }

  // When one of several workers is slow: ` in steps 5 to 8`, ` increasingly`.
  [[nodiscard]] std::string own_time(const TimePattern& time) const {
    if (time.kind == TimePattern::Kind::kGrowth) return " increasingly";
    if (time.kind == TimePattern::Kind::kSteady) return " in all steps";
    Verdict window;
    if (time.first > 0) window.since_step = steps_[time.first];
    if (time.last + 1 < steps_.size()) window.until_step = steps_[time.last];
    return when(window);
  }

  // Whether each of its workers keeps one pace throughout.
  [[nodiscard]] bool has_one_pace() const {
    return std::ranges::all_of(cause_.workers, [](const RootCause::SlowWorker& slow) {
      return slow.time.kind == TimePattern::Kind::kSteady;
    });
  }

  // Nothing tells a slow machine from a large stage then.
  [[nodiscard]] Words lone_replica() const {
    return {"A slow stage", false,
            fmt::format("stage {} ({}) {}, because of its host or because of its layers (with one replica, "
                        "the trace cannot show which)",
                        verdict_.workers.front().stage, ranks_of(verdict_.workers),
                        pace(false, "", "the median stage"))};
  }

  [[nodiscard]] Words groups(const std::string& kind) const {
    const std::vector<Group> groups = groups_of(cause_, grid_);
    const std::string noun = kind == "dp" ? "replica" : kind;
    std::vector<std::string> names;
    for (const Group& group : groups)
      names.push_back(fmt::format("{} {} ({})", kind, group.name, ranks_of(group.workers)));
    if (names.size() == 1)
      return {"One slow " + noun, false,
              fmt::format("{} {}", names.front(),
                          pace(false, "", kind == "dp" ? "the other replicas" : "its peers"))};
    return {fmt::format("{} slow {}{}", names.size(), noun, noun == "switch" ? "es" : "s"), true,
            fmt::format("{} {}", list_of(names, kWorkersInASentence), pace(true, "up to ", "their peers"))};
  }

  [[nodiscard]] Words slow_link() const {
    const std::string ends =
        verdict_.workers.empty()
            ? fmt::format("stages {} and {}", verdict_.link->from, verdict_.link->to)
            : fmt::format("{} and {}", name_of(verdict_.workers.front()), name_of(verdict_.workers.back()));
    const std::string place = fmt::format("messages between {} {}{}", ends, pace(true, "", "usual"),
                                          verdict_.link->dp ? "" : ", in all replicas");
    if (cause_.more_links == 0) return {"A slow link", false, place};
    return {fmt::format("{} slow links", cause_.more_links + 1), true,
            fmt::format("{}; {} also slow", place,
                        cause_.more_links == 1 ? "one more link is"
                                               : fmt::format("{} more links are", cause_.more_links))};
  }

  [[nodiscard]] Words transfers() const {
    if (verdict_.link) {
      const std::string of_replica = verdict_.link->dp ? fmt::format(" of dp {}", *verdict_.link->dp) : "";
      return {"A slow link", false,
              fmt::format("messages between stages {} and {}{} take up to {:.3g}x as long as the median",
                          verdict_.link->from, verdict_.link->to, of_replica, verdict_.pace.value_or(1))};
    }
    if (!verdict_.workers.empty())
      return {"Slow messages", true,
              fmt::format("messages of {} take up to {:.3g}x as long as the median",
                          name_of(verdict_.workers.front()), verdict_.pace.value_or(1))};
    return {"Slow collectives", true, cause_.evidence};
  }

  const RootCause& cause_;
  const Verdict& verdict_;
  const WorkerGrid& grid_;
  const std::vector<std::int64_t>& steps_;  // numbers, by index
  bool is_growing_ = false;
};

std::string seconds(double value) {
  if (value >= 100) return fmt::format("{:.0f} s", value);
  return value >= 0.1 ? fmt::format("{:#.3g} s", value) : fmt::format("{:.3g} ms", 1e3 * value);
}

Verdict verdict_of(const RootCause& cause, const WhatIf& whatif, const WorkerGrid& grid) {
  Verdict verdict;
  verdict.kind = cause.name;
  for (const RootCause::SlowWorker& slow : cause.workers)
    verdict.workers.push_back(worker_of(grid, slow.worker));
  verdict.link = link_of(cause, grid);
  verdict.subject = subject_of(cause, verdict, grid);
  verdict.pace = pace_of(cause, grid);
  if (const auto time = common_time(cause); time && time->kind != TimePattern::Kind::kSteady) {
    if (time->first > 0) verdict.since_step = whatif.steps[time->first];
    if (time->last + 1 < whatif.steps.size()) verdict.until_step = whatif.steps[time->last];
  }
  if (cause.gain)
    verdict.cost =
        cost_of_gain(mean(cause.name == "launch-delay" ? whatif.base_s : whatif.nodelay.span_s), *cause.gain);
  verdict.fix = cause.fix;
  verdict.next_check = next_check(cause, grid);
  return verdict;
}

std::string sentence_of(const Words& words, const Verdict& verdict) {
  if (!verdict.cost)
    return fmt::format("{} slow{} this job down: {}.", words.cause, words.is_plural ? "" : "s", words.place);
  return fmt::format("{} cost{} this job {:.1f} % of its time: {}. {}", words.cause,
                     words.is_plural ? "" : "s", 100 * verdict.cost->share, words.place,
                     step_without(*verdict.cost, words.is_plural ? "them" : "it"));
}

std::size_t worst_of(const Attribution& attribution) {
  return static_cast<std::size_t>(std::ranges::max_element(attribution.slowdown) -
                                  attribution.slowdown.begin());
}

Verdict unexplained(const WhatIf& whatif, const std::optional<Doubt>& doubt) {
  Verdict verdict;
  verdict.kind = kUnexplained;
  verdict.subject = {"job", "job"};
  verdict.cost = cost_of_gain(mean(whatif.nodelay.span_s), whatif.slowdown);
  if (doubt) {
    verdict.next_check = doubt->remedy;
    verdict.sentence = fmt::format(
        "This trace does not show what slows the job down: {}. According to the recorded times, stragglers "
        "cost {:.1f} % of the job's time (S = {:.3f}).",
        doubt->why, std::max(0.0, 100 * whatif.waste()), whatif.slowdown);
    return verdict;
  }
  verdict.next_check = "compare the slowest steps with their ideal timeline in Perfetto";
  const Attribution& by_type = whatif.blocking.by_optype;
  const Attribution& by_stage = whatif.blocking.by_stage;
  const std::string stage =
      by_stage.labels.size() < 2
          ? ""
          : fmt::format("; stage {} alone makes steps {:.2f}x as long", by_stage.labels[worst_of(by_stage)],
                        by_stage.slowdown[worst_of(by_stage)]);
  verdict.sentence = fmt::format(
      "Stragglers cost this job {:.1f} % of its time, and no single cause was found: slow {} operations "
      "alone make steps {:.2f}x as long{}.",
      100 * whatif.waste(), by_type.labels[worst_of(by_type)], by_type.slowdown[worst_of(by_type)], stage);
  return verdict;
}

// ---- Faults.

std::vector<std::string> fix_of(const RootCause& part, const Verdict::Subject& subject,
                                const WorkerGrid& grid) {
  if (subject.type == "replica")
    return {fmt::format("dp={}", grid.worker(part.workers.front().worker).dp_rank)};
  std::vector<std::string> fix;
  for (const RootCause::SlowWorker& slow : part.workers) {
    const auto [dp, stage] = grid.worker(slow.worker);
    fix.push_back(fmt::format("worker={}:{}", dp, stage));
  }
  return fix;
}

// Of a slow worker of a cause that is about workers one by one, replicas or places.
Verdict::Subject subject_of_part(const RootCause& cause, const WorkerGrid& grid, std::size_t worker) {
  const auto [dp, stage] = grid.worker(worker);
  if (cause.name == "worker-fault") {
    const std::string host = host_of(grid, worker);
    const auto is_there = [&](const RootCause::SlowWorker& slow) {
      return host_of(grid, slow.worker) == host;
    };
    if (!host.empty() && std::ranges::count_if(cause.workers, is_there) > 1) return {"host", "host:" + host};
    return {"worker", fmt::format("worker:{}:{}", dp, stage)};
  }
  const std::string kind = group_kind(cause.name);
  const std::string type = kind == "dp" ? "replica" : kind;
  return {type, fmt::format("{}:{}", type, group_name(kind, grid, worker))};
}

std::vector<Fault> faults_of(const RootCause& cause, const WorkerGrid& grid) {
  const bool has_parts = cause.name == "worker-fault" || !group_kind(cause.name).empty();
  if (!has_parts || cause.workers.empty()) {
    Verdict verdict;
    for (const RootCause::SlowWorker& slow : cause.workers)
      verdict.workers.push_back(worker_of(grid, slow.worker));
    verdict.link = link_of(cause, grid);
    return {{cause, subject_of(cause, verdict, grid)}};
  }
  std::vector<Fault> faults;
  for (const RootCause::SlowWorker& slow : cause.workers) {
    const Verdict::Subject subject = subject_of_part(cause, grid, slow.worker);
    auto found = std::ranges::find(faults, subject, &Fault::subject);
    if (found == faults.end()) {
      faults.push_back({cause, subject});
      found = faults.end() - 1;
      found->cause.workers.clear();
    }
    found->cause.workers.push_back(slow);
  }
  if (faults.size() == 1) {
    faults.front().cause = cause;
  } else if (faults.size() > kMaxFaultsPerCause) {
    return {{cause, {"job", "job"}}};
  } else {
    for (Fault& fault : faults) {
      fault.cause.gain.reset();
      fault.cause.fix = fix_of(fault.cause, fault.subject, grid);
    }
  }
  return faults;
}

std::string check_of_network(const RootCause& cause, const std::vector<Verdict::Worker>& workers,
                             const WorkerGrid& grid) {
  constexpr const char* kNetwork = "NICs, cables, switch ports";
  if (!workers.empty() && cause.peer_stage) {
    const std::size_t peer = cause.workers.front().worker - *cause.stage + *cause.peer_stage;
    const Verdict::Worker other = worker_of(grid, peer);
    if (!other.host.empty() && other.host == workers.front().host)
      return fmt::format("check the links between the GPUs of ranks {} and {} in host {}",
                         workers.front().rank, other.rank, other.host);
    return fmt::format("check the link between {} and {}: {}", hosts_of({workers.front()}), hosts_of({other}),
                       kNetwork);
  }
  if (!workers.empty())
    return fmt::format("check the network of {}: {}", hosts_of({workers.front()}), kNetwork);
  if (cause.peer_stage)
    return fmt::format(
        "check what the links between stages {} and {} have in common in all replicas: switches and routes "
        "between their hosts, network settings",
        *cause.stage, *cause.peer_stage);
  return fmt::format("check the network between the replicas of stage {}: {}", *cause.stage, kNetwork);
}

}  // namespace

std::optional<Verdict> find_verdict(const WhatIf& whatif, const WorkerGrid& grid,
                                    const std::vector<RootCause>& causes, const std::optional<Doubt>& doubt) {
  if (causes.empty() || !causes.front().likely) {
    if (whatif.slowdown < kWorthAVerdict && !doubt) return std::nullopt;
    return unexplained(whatif, doubt);
  }
  Verdict verdict = verdict_of(causes.front(), whatif, grid);
  verdict.sentence = sentence_of(Describer(causes.front(), verdict, grid, whatif.steps).words(), verdict);
  if (causes.size() > 1 && causes[1].likely) {
    const Verdict other = verdict_of(causes[1], whatif, grid);
    const Words words = Describer(causes[1], other, grid, whatif.steps).words();
    if (verdict.cost && other.cost && other.cost->gain - 1 >= kAsLarge * (verdict.cost->gain - 1))
      verdict.sentence += fmt::format(" {} cost{} {:.1f} %: {}.", words.cause, words.is_plural ? "" : "s",
                                      100 * other.cost->share, words.place);
  }
  return verdict;
}

std::string headline(const std::optional<Verdict>& verdict, const WhatIf& whatif, double message_share) {
  if (verdict) return verdict->sentence;
  const std::string cost =
      fmt::format("{:.1f} % of its time (S = {:.3f})", std::max(0.0, 100 * whatif.waste()), whatif.slowdown);
  if (message_share >= kManyMessages)
    return fmt::format(
        "Stragglers cost this job {}, but messages between stages take {:.1f} % of each step. S cannot show "
        "a link that is slow in all replicas.",
        cost, 100 * message_share);
  if (whatif.slowdown < kSlowdownWorthExplaining)
    return fmt::format("This job has no stragglers that matter: they cost {}.", cost);
  return fmt::format("Stragglers cost this job {}, and no single cause stands out.", cost);
}

std::vector<Fault> find_faults(const std::vector<RootCause>& causes, const WorkerGrid& grid) {
  std::vector<Fault> all;
  for (const RootCause& cause : causes) {
    if (!cause.likely) continue;
    for (Fault& fault : faults_of(cause, grid)) all.push_back(std::move(fault));
  }
  return all;
}

Verdict verdict_on(const Fault& fault, const WhatIf& whatif, const WorkerGrid& grid,
                   std::optional<std::int64_t> since_step) {
  Verdict verdict = verdict_of(fault.cause, whatif, grid);
  verdict.subject = fault.subject;
  if (!verdict.since_step && !verdict.until_step) verdict.since_step = since_step;
  verdict.sentence = sentence_of(Describer(fault.cause, verdict, grid, whatif.steps).words(), verdict);
  return verdict;
}

std::string step_without(const Verdict::Cost& cost, std::string_view it) {
  return fmt::format("Without {} a step would take {} instead of {}.", it,
                     seconds(cost.step_s - cost.s_per_step), seconds(cost.step_s));
}

Verdict::Cost cost_of_gain(double step_s, double gain) {
  const double share = 1 - 1 / gain;
  return {step_s, step_s * share, share, gain};
}

std::string next_check(const RootCause& cause, const WorkerGrid& grid) {
  std::vector<Verdict::Worker> workers;
  for (const RootCause::SlowWorker& slow : cause.workers) workers.push_back(worker_of(grid, slow.worker));
  if (cause.name == "worker-fault" && grid.dp_size == 1 && grid.pp_size > 1)
    return fmt::format("check {}: clocks, memory errors, links; if it is healthy, move layers off stage {}",
                       hosts_of(workers), workers.front().stage);
  if (cause.name == "worker-fault" || cause.name == "slow-replica" || cause.name == "slow-rank")
    return fmt::format("check {}: clocks, memory errors, links; drain hosts that stay slow",
                       hosts_of(workers));
  if (const std::string kind = group_kind(cause.name); !kind.empty()) {
    std::vector<std::string> names;
    for (const Group& group : groups_of(cause, grid)) names.push_back(kind + " " + group.name);
    return fmt::format(
        "check what the workers of {} share: power, cooling, clocks, links; drain hosts that stay slow",
        list_of(names, kMostRanksNamed));
  }
  if (cause.name == "stage-partition")
    return fmt::format("move layers off stage {}: this stage takes longer than the others in every step",
                       *cause.stage);
  if (cause.name == "sequence-length")
    return "distribute the sequences so that all micro-batches have about the same sum of squared sequence "
           "lengths";
  if (cause.name == "gc-pauses")
    return "run garbage collection on all workers in the same steps, so that they do not pause one after "
           "another";
  if (cause.name == "communication-flap" || cause.name == "slow-link")
    return check_of_network(cause, workers, grid);
  return "check data loading, host load and garbage collection: operations are launched late";
}

}  // namespace goodput
