#include "sim/analysis/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "sim/base/statistics.h"

namespace goodput {
namespace {

constexpr double kAsLarge = 0.2;            // of a gain: another cause within this is named too
constexpr std::size_t kMostNamed = 3;       // workers of a cause
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

// `host n5`; the ranks where the host is unknown.
std::string place_of(const Verdict::Worker& worker) {
  return worker.host.empty() ? fmt::format("the host of rank {}", worker.rank) : "host " + worker.host;
}

// `host n5`, `hosts n5, n6 and 3 more`, `the host of rank 40`, `the hosts of ranks 40, 48`
std::string hosts_of(const std::vector<Verdict::Worker>& workers) {
  std::vector<std::string> hosts;
  for (const Verdict::Worker& worker : workers) {
    if (worker.host.empty())
      return fmt::format("the host{} of {}", workers.size() == 1 ? "" : "s", ranks_of(workers));
    if (std::ranges::find(hosts, worker.host) == hosts.end()) hosts.push_back(worker.host);
  }
  return fmt::format("host{} {}", hosts.size() == 1 ? "" : "s", list_of(hosts, kMostRanksNamed));
}

// The name of the place of a slow-host, slow-switch or slow-rack.
std::string place_name(const WorkerGrid& grid, const std::string& kind, std::size_t worker) {
  for (const WorkerGrid::PlaceKind& places : grid.places) {
    if (places.name == kind) return places.of_worker[worker];
  }
  return "";
}

// What the key of a subject names: `3` of `stage:3`.
std::string name_in(const Verdict::Subject& subject) {
  return subject.key.substr(std::min(subject.key.size(), subject.key.find(':') + 1));
}

// slow-host, slow-switch, slow-rack: the kind of place; else empty.
std::string place_kind(const std::string& cause) {
  if (!cause.starts_with("slow-") || cause == "slow-replica") return "";
  return cause.substr(5);
}

Verdict::Subject subject_of(const RootCause& cause, const Verdict& verdict, const WorkerGrid& grid) {
  if (verdict.link) {
    const std::string of_replica = verdict.link->dp ? std::to_string(*verdict.link->dp) : "all";
    return {"link", fmt::format("link:{}:{}-{}", of_replica, verdict.link->from, verdict.link->to)};
  }
  if (cause.name == "slow-replica" && !verdict.workers.empty())
    return {"replica", fmt::format("replica:{}", verdict.workers.front().dp)};
  if (const std::string kind = place_kind(cause.name); !kind.empty() && !cause.workers.empty())
    return {kind, fmt::format("{}:{}", kind, place_name(grid, kind, cause.workers.front().worker))};
  if (!verdict.workers.empty())
    return {"worker", fmt::format("worker:{}:{}", verdict.workers.front().dp, verdict.workers.front().stage)};
  if (cause.stage) return {"stage", fmt::format("stage:{}", *cause.stage)};
  return {"job", "job"};
}

// When the cause shows, and how strongly then.
void set_time(const RootCause& cause, const std::vector<std::int64_t>& steps, Verdict& verdict) {
  if (cause.name == "stage-partition") verdict.pace = cause.value;
  const TimePattern* time = cause.time ? &*cause.time : nullptr;
  if (!cause.workers.empty()) {
    verdict.pace = cause.workers.front().pace;
    if (cause.name != "communication-flap") time = &cause.workers.front().time;
  }
  if (time == nullptr || time->kind == TimePattern::Kind::kSteady) return;
  if (!cause.workers.empty()) verdict.pace = time->high;
  verdict.is_growing = time->kind == TimePattern::Kind::kGrowth;
  if (time->first > 0) verdict.since_step = steps[time->first];
  if (time->last + 1 < steps.size()) verdict.until_step = steps[time->last];
}

Verdict verdict_of(const RootCause& cause, const WhatIf& whatif, const WorkerGrid& grid) {
  Verdict verdict;
  verdict.kind = cause.name;
  for (const RootCause::SlowWorker& slow : cause.workers)
    verdict.workers.push_back(worker_of(grid, slow.worker));
  if (cause.peer_stage) {
    const auto [low, high] = std::minmax(*cause.stage, *cause.peer_stage);
    verdict.link = {low, high,
                    cause.workers.empty() ? std::nullopt
                                          : std::optional(grid.worker(cause.workers.front().worker).dp_rank)};
  }
  verdict.subject = subject_of(cause, verdict, grid);
  set_time(cause, whatif.steps, verdict);
  const bool is_launch = cause.name == "launch-delay";
  verdict.step_s = mean(is_launch ? whatif.base_s : whatif.nodelay.span_s);
  verdict.gain = cause.gain.value_or(1);
  verdict.share = 1 - 1 / verdict.gain;
  verdict.cost_s_per_step = verdict.step_s * verdict.share;
  verdict.fix = cause.fix;
  verdict.evidence = cause.evidence;
  verdict.next_check = next_check(cause, grid);
  return verdict;
}

std::string label_of_worst(const Attribution& attribution) {
  const auto worst = std::ranges::max_element(attribution.slowdown) - attribution.slowdown.begin();
  return attribution.labels[static_cast<std::size_t>(worst)];
}

Verdict unexplained(const WhatIf& whatif) {
  Verdict verdict;
  verdict.kind = kUnexplained;
  verdict.subject = {"job", "job"};
  verdict.step_s = mean(whatif.nodelay.span_s);
  verdict.gain = whatif.slowdown;
  verdict.share = whatif.waste();
  verdict.cost_s_per_step = verdict.step_s * verdict.share;
  verdict.evidence = fmt::format(
      "most of it is in {} operations ({:.2f}x alone) and on stage {} ({:.2f}x alone)",
      label_of_worst(whatif.blocking.by_optype), std::ranges::max(whatif.blocking.by_optype.slowdown),
      label_of_worst(whatif.blocking.by_stage), std::ranges::max(whatif.blocking.by_stage.slowdown));
  verdict.next_check = "compare the slowest steps with their ideal timeline in Perfetto";
  return verdict;
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

// `takes 1.50x as long as its peers`, `has taken 1.50x as long as its peers since step 12`
std::string pace_clause(const Verdict& verdict, bool are_many, const std::string& peers) {
  const bool has_ended = verdict.until_step.has_value();
  const char* verb = are_many ? "take" : "takes";
  if (has_ended) verb = "took";
  if (!has_ended && verdict.since_step) verb = are_many ? "have taken" : "has taken";
  const std::string growing = verdict.is_growing ? "an increasing time, up to " : "";
  return fmt::format("{} {}{:.2f}x as long as {}{}", verb, growing, verdict.pace.value_or(1), peers,
                     when(verdict));
}

std::string workers_clause(const Verdict& verdict) {
  const std::vector<Verdict::Worker>& workers = verdict.workers;
  std::vector<std::string> names;
  for (const Verdict::Worker& worker : workers) names.push_back(name_of(worker));
  const std::string most = workers.size() == 1 ? "" : "up to ";
  std::string pace =
      pace_clause(verdict, workers.size() > 1, workers.size() > 1 ? "their peers" : "its peers");
  if (!most.empty() && !verdict.is_growing) pace.insert(pace.find(' ') + 1, most);
  return fmt::format("{} {}", list_of(names, kMostNamed), pace);
}

// The cause as a noun, and where it is as a clause: "One slow worker", "rank 40 (dp 1, stage 2) takes ...".
struct Words {
  std::string cause;
  bool is_plural = false;
  std::string place;
};

Words words_of(const Verdict& verdict) {
  const std::string& kind = verdict.kind;
  if (verdict.kind == "communication-flap") {
    const std::string times = verdict.pace ? fmt::format(" take up to {:.3g}x the median", *verdict.pace)
                                           : " often take several times the median";
    if (verdict.link) {
      const std::string of_replica = verdict.link->dp ? fmt::format(" of dp {}", *verdict.link->dp) : "";
      return {"A slow link", false,
              fmt::format("messages between stages {} and {}{}{}", verdict.link->from, verdict.link->to,
                          of_replica, times)};
    }
    if (!verdict.workers.empty())
      return {"Slow messages", true, fmt::format("those of {}{}", name_of(verdict.workers.front()), times)};
    return {"Slow collectives", true, fmt::format("those of stage {}{}", name_in(verdict.subject), times)};
  }
  if (kind == "slow-replica")
    return {"One slow replica", false,
            fmt::format("dp {} ({}) {}", name_in(verdict.subject), ranks_of(verdict.workers),
                        pace_clause(verdict, false, "the other replicas"))};
  if (const std::string place = place_kind(kind); !place.empty())
    return {fmt::format("One slow {}", place), false,
            fmt::format("{} {} ({}) {}", place, name_in(verdict.subject), ranks_of(verdict.workers),
                        pace_clause(verdict, false, "its peers"))};
  if (kind == "worker-fault") {
    const std::size_t count = verdict.workers.size();
    return {count == 1 ? "One slow worker" : fmt::format("{} slow workers", count), count > 1,
            workers_clause(verdict)};
  }
  if (kind == "stage-partition")
    return {"An uneven split of the layers", false,
            fmt::format("stage {} {} in every replica", name_in(verdict.subject),
                        pace_clause(verdict, false, "the median stage"))};
  if (kind == "sequence-length")
    return {"Uneven sequence lengths", true,
            fmt::format("micro-batches differ in work ({})", verdict.evidence)};
  if (kind == "gc-pauses")
    return {"Pauses in forward passes, which look like garbage collection,", true, verdict.evidence};
  return {"Late launches", true, "operations start later than they could" + when(verdict)};
}

std::string seconds(double value) {
  return fmt::format("{:#.3g} s", value);
}

}  // namespace

std::optional<Verdict> find_verdict(const WhatIf& whatif, const WorkerGrid& grid,
                                    const std::vector<RootCause>& causes) {
  if (causes.empty() || !causes.front().likely) {
    if (whatif.slowdown < kWorthAVerdict) return std::nullopt;
    return unexplained(whatif);
  }
  Verdict verdict = verdict_of(causes.front(), whatif, grid);
  if (causes.size() > 1 && causes[1].likely) {
    const Verdict other = verdict_of(causes[1], whatif, grid);
    if (other.gain - 1 >= (1 - kAsLarge) * (verdict.gain - 1)) {
      const Words words = words_of(other);
      verdict.second = fmt::format("{} cost{} {:.1f} %: {}", words.cause, words.is_plural ? "" : "s",
                                   100 * other.share, words.place);
    }
  }
  return verdict;
}

std::string sentence(const Verdict& verdict) {
  if (verdict.kind == kUnexplained)
    return fmt::format("Stragglers cost this job {:.1f} % of its time, and no single cause was found: {}.",
                       100 * verdict.share, verdict.evidence);
  const Words words = words_of(verdict);
  std::string text = fmt::format(
      "{} cost{} this job {:.1f} % of its time: {}. Without {} a step would take {} instead of {}.",
      words.cause, words.is_plural ? "" : "s", 100 * verdict.share, words.place,
      words.is_plural ? "them" : "it", seconds(verdict.step_s - verdict.cost_s_per_step),
      seconds(verdict.step_s));
  return verdict.second.empty() ? text : fmt::format("{} {}.", text, verdict.second);
}

std::string headline(const std::optional<Verdict>& verdict, const WhatIf& whatif) {
  if (verdict) return sentence(*verdict);
  if (whatif.slowdown < kSlowdownWorthExplaining)
    return fmt::format("This job has no stragglers that matter: they cost {:.1f} % of its time (S = {:.3f}).",
                       std::max(0.0, 100 * whatif.waste()), whatif.slowdown);
  return fmt::format(
      "Stragglers cost this job {:.1f} % of its time (S = {:.3f}), and no single cause stands out.",
      100 * whatif.waste(), whatif.slowdown);
}

std::string next_check(const RootCause& cause, const WorkerGrid& grid) {
  std::vector<Verdict::Worker> workers;
  for (const RootCause::SlowWorker& slow : cause.workers) workers.push_back(worker_of(grid, slow.worker));
  if (cause.name == "worker-fault" || cause.name == "slow-replica")
    return fmt::format("check {}: clocks, memory errors, links; drain what stays slow", hosts_of(workers));
  if (const std::string kind = place_kind(cause.name); !kind.empty()) {
    return fmt::format(
        "check what the workers of {} {} share: power, cooling, clocks, links; drain it if it stays slow",
        kind, place_name(grid, kind, cause.workers.front().worker));
  }
  if (cause.name == "stage-partition")
    return fmt::format("move layers off stage {}: it takes longer than the others in every step",
                       *cause.stage);
  if (cause.name == "sequence-length")
    return "balance micro-batches by the sum of squared sequence lengths; they differ in work";
  if (cause.name == "gc-pauses")
    return "collect garbage on all workers at the same steps; now they stop for it one after the other";
  if (cause.name == "communication-flap") {
    if (!workers.empty() && cause.peer_stage) {
      const std::size_t peer = cause.workers.front().worker - *cause.stage + *cause.peer_stage;
      return fmt::format("check the link between {} and {}: network cards, cables, switch ports",
                         place_of(workers.front()), place_of(worker_of(grid, peer)));
    }
    if (!workers.empty())
      return fmt::format("check the network of {}: network cards, cables, switch ports",
                         place_of(workers.front()));
    return fmt::format(
        "check the network between the replicas of stage {}: network cards, cables, switch ports",
        *cause.stage);
  }
  return "check data loading, host load and garbage collection: operations are launched late";
}

}  // namespace goodput
