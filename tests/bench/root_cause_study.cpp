// root_cause_study [FIRST_SEED [CASES [verbose]]]: what `whatif` names in synthetic jobs with 1 to 4 causes
// at once, against what is true of them. Prints the tables of docs/validation.md. Thresholds were chosen on
// seeds from 1; the published tables are of seeds from 200001.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/statistics.h"
#include "sim/causes/fix.h"
#include "sim/causes/root_cause.h"
#include "sim/recording/op_labels.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/straggled_recording.h"
#include "tests/support/synthetic_case.h"
#include "traces/op/op_trace_reader.h"

namespace goodput::testing {
namespace {

constexpr double kWorthNaming = 1.05;  // true gain: what gains less need not be found
constexpr double kAsGood = 0.02;       // of the gain: another cause that is as good
constexpr double kLeastRatio = 0.75;   // of gain - 1 over the true gain - 1: a gain that holds
constexpr double kMostRatio = 1 / kLeastRatio;

// All stragglers of one kind in a job are one cause.
struct Injected {
  std::string kind;      // as whatif calls it
  double true_gain = 1;  // the step over that of the same job simulated without them
  std::vector<Straggler> stragglers;
};

struct Score {
  int strong = 0;  // its true gain is worth naming
  int first = 0;   // of these the best, or as good, and named first
  int best = 0;
  int found = 0;  // likely, at the right place
  int weak = 0;
  int false_alarms = 0;  // likely, but not injected, or at a place where nothing was
  std::vector<double> ratios;
};

struct Tally {
  std::map<std::string, Score> by_kind;
  int jobs = 0;
  int worth_naming = 0;
  int well_named = 0;
  int links = 0;  // of factors from 2.5, worth naming
  int links_found = 0;
};

bool is_of_workers(std::string_view name) {
  return name == "worker-fault" || name == "slow-replica";
}

std::string kind_named(const RootCause& cause) {
  return is_of_workers(cause.name) ? "worker-fault" : cause.name;
}

// The same job with some stragglers taken back; all others draw the same numbers.
SyntheticCase without(SyntheticCase job, std::string_view kind) {
  for (std::size_t i = 0, count = job.stragglers.size(); i < count; ++i) {
    Straggler& straggler = job.stragglers[i];
    if (kind_of(straggler) != kind) continue;
    if (auto* slow = std::get_if<SlowWorker>(&straggler)) *slow = {slow->dp, slow->stage, 1};
    if (auto* lengths = std::get_if<SequenceLengths>(&straggler)) lengths->attention_share = 0;
    if (auto* pauses = std::get_if<GcPauses>(&straggler)) pauses->pause = SimDuration{};
    if (auto* link = std::get_if<SlowLink>(&straggler)) link->factor = 1;
    if (auto* flap = std::get_if<NicFlap>(&straggler)) flap->factor = 1;
    if (auto* delays = std::get_if<LaunchDelays>(&straggler)) delays->mean = SimDuration{};
    const auto* partition = std::get_if<StagePartition>(&straggler);
    if (partition == nullptr) continue;
    const double even = 1 + (partition->factor - 1) / job.shape.pp;
    const std::int32_t stage = partition->stage;
    straggler = StagePartition{stage, even};
    for (std::int32_t other = 0; other < job.shape.pp; ++other) {
      if (other != stage) job.stragglers.emplace_back(StagePartition{other, even});
    }
  }
  return job;
}

// A job and what is slow in it.
struct StudiedJob {
  AnalysedTrace trace;
  std::vector<Injected> injected;
  std::string title;
};

std::vector<Injected> by_kind(const std::vector<Straggler>& stragglers) {
  std::vector<Injected> all;
  for (const Straggler& straggler : stragglers) {
    const auto kind = std::string(kind_of(straggler));
    auto found = std::ranges::find(all, kind, &Injected::kind);
    if (found == all.end()) found = all.insert(all.end(), {kind, 1, {}});
    found->stragglers.push_back(straggler);
  }
  return all;
}

StudiedJob synthetic_job(const SyntheticCase& spec) {
  SyntheticTrace trace = spec.synthesize(Truth::kSlowdown);
  StudiedJob job{testing::analysed(std::move(trace.rows)), by_kind(spec.stragglers), spec.name()};
  for (Injected& one : job.injected) {
    const SyntheticTruth rest = without(spec, one.kind).synthesize(Truth::kSlowdown).truth;
    const double before_s = one.kind == "launch-delay" ? trace.truth.recorded_s : trace.truth.replayed_s;
    one.true_gain = before_s / rest.replayed_s;
  }
  return job;
}

// Workers: all that are named are slow, the slowest among them. Links: the slowest that is named is slow.
bool is_at(const RootCause& cause, const Injected& injected, std::int32_t pp) {
  if (cause.name == "stage-partition") {
    return std::ranges::any_of(injected.stragglers, [&](const Straggler& straggler) {
      return std::get<StagePartition>(straggler).stage == static_cast<std::int32_t>(*cause.stage);
    });
  }
  if (cause.name == "slow-link") {
    return std::ranges::any_of(injected.stragglers, [&](const Straggler& straggler) {
      const auto& link = std::get<SlowLink>(straggler);
      const std::int32_t next = (link.stage + 1) % pp;
      const auto [low, high] = std::minmax(link.stage, next);
      const bool is_replica =
          !cause.workers.empty() && link.dp >= 0 &&
          cause.workers.front().worker / static_cast<std::size_t>(pp) == static_cast<std::size_t>(link.dp);
      return static_cast<std::int32_t>(*cause.stage) == low &&
             static_cast<std::int32_t>(*cause.peer_stage) == high &&
             (is_replica || (cause.workers.empty() && link.dp < 0));
    });
  }
  if (!is_of_workers(cause.name)) return true;
  return std::ranges::all_of(cause.workers, [&](const RootCause::SlowWorker& named) {
    return std::ranges::any_of(injected.stragglers, [&](const Straggler& straggler) {
      const auto& slow = std::get<SlowWorker>(straggler);
      return named.worker == static_cast<std::size_t>(slow.dp * pp + slow.stage);
    });
  });
}

const Injected* injected_as(const RootCause& cause, const StudiedJob& job) {
  const auto found = std::ranges::find(job.injected, kind_named(cause), &Injected::kind);
  return found != job.injected.end() && is_at(cause, *found, job.trace.recording.pp_size) ? &*found : nullptr;
}

void score_causes(const StudiedJob& job, const std::vector<RootCause>& causes, bool verbose, Tally& tally) {
  std::set<std::string> found;
  for (const RootCause& cause : causes) {
    if (!cause.likely) continue;
    Score& score = tally.by_kind[kind_named(cause)];
    const Injected* injected = injected_as(cause, job);
    if (injected == nullptr) {
      ++score.false_alarms;
      if (verbose)
        fmt::print(stderr, "FALSE {} {:.3f} ({}): {}\n", cause.name, *cause.gain, cause.evidence, job.title);
      continue;
    }
    found.insert(injected->kind);
    if (injected->true_gain < kWorthNaming) continue;
    const double ratio = (*cause.gain - 1) / (injected->true_gain - 1);
    score.ratios.push_back(ratio);
    if (verbose && (ratio < kLeastRatio || ratio > kMostRatio))
      fmt::print(stderr, "RATIO {} {:.3f} for a true {:.3f} ({}): {}\n", cause.name, *cause.gain,
                 injected->true_gain, cause.evidence, job.title);
  }
  for (const Injected& one : job.injected) {
    Score& score = tally.by_kind[one.kind];
    if (one.true_gain < kWorthNaming) {
      ++score.weak;
      continue;
    }
    ++score.strong;
    score.found += found.contains(one.kind) ? 1 : 0;
    if (one.kind == "slow-link") {
      ++tally.links;
      tally.links_found += found.contains(one.kind) ? 1 : 0;
    }
    if (verbose && !found.contains(one.kind))
      fmt::print(stderr, "MISSED {} {:.3f}: {}\n", one.kind, one.true_gain, job.title);
  }
}

// Whether the cause named first is the best there is, or as good, and where it is.
void score_first(const StudiedJob& job, const RootCause& first, bool verbose, Tally& tally) {
  if (job.injected.empty()) return;
  const Injected& best = *std::ranges::max_element(job.injected, {}, &Injected::true_gain);
  if (best.true_gain < kWorthNaming) return;
  ++tally.worth_naming;
  const Injected* named = first.likely ? injected_as(first, job) : nullptr;
  const bool is_good = named != nullptr && named->true_gain >= best.true_gain - kAsGood;
  tally.well_named += is_good ? 1 : 0;
  ++tally.by_kind[best.kind].best;
  tally.by_kind[best.kind].first += is_good ? 1 : 0;
  if (verbose && !is_good)
    fmt::print(stderr, "FIRST {} {:.3f} ({}) for {} {:.3f}: {}\n", first.likely ? first.name : "nothing",
               first.gain.value_or(1), first.evidence, best.kind, best.true_gain, job.title);
}

void score_job(const StudiedJob& studied, bool verbose, Tally& tally) {
  const AnalysedTrace& trace = studied.trace;
  const WhatIf result = value_or_throw(WhatIfEngine(trace.graph, trace.recording, {}).analyse());
  const AnalysedJob job{trace.graph, trace.recording, result, 1};
  const Patterns patterns = find_patterns(job);
  const auto causes = find_root_causes(job, patterns, 1.03);
  ++tally.jobs;
  score_causes(studied, causes, verbose, tally);
  score_first(studied, causes.front(), verbose, tally);
}

std::string percent(int part, int all) {
  return all == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * part / all);
}

// `1.00 (0.87 to 1.12), 98.0 %`: the median, where 5 % and 95 % are, and how many hold.
std::string ratios_text(std::vector<double> ratios) {
  if (ratios.empty()) return "-";
  std::ranges::sort(ratios);
  const auto at = [&](double quantile) {
    return ratios[static_cast<std::size_t>(quantile * static_cast<double>(ratios.size() - 1))];
  };
  const auto hold =
      std::ranges::count_if(ratios, [](double ratio) { return ratio >= kLeastRatio && ratio <= kMostRatio; });
  return fmt::format("{:.2f} ({:.2f} to {:.2f}), {}", at(0.5), at(0.05), at(0.95),
                     percent(static_cast<int>(hold), static_cast<int>(ratios.size())));
}

void print_tally(const std::string& title, const Tally& tally) {
  fmt::print(
      "\n{}: {} jobs\n\n| cause | true gain >= 1.05 | found | false alarms | best | named first | gain - 1 "
      "over true "
      "gain - 1 |\n|---|---|---|---|---|---|---|\n",
      title, tally.jobs);
  std::vector<double> ratios;
  for (const auto& [kind, score] : tally.by_kind) {
    fmt::print("| {} | {} | {} ({}) | {} | {} | {} ({}) | {} |\n", kind, score.strong, score.found,
               percent(score.found, score.strong), score.false_alarms, score.best, score.first,
               percent(score.first, score.best), ratios_text(score.ratios));
    ratios.insert(ratios.end(), score.ratios.begin(), score.ratios.end());
  }
  fmt::print("\nworth naming: {}; the first named is the best, or as good: {} ({})\n", tally.worth_naming,
             tally.well_named, percent(tally.well_named, tally.worth_naming));
  fmt::print("links: {}, found {} ({})\ngain - 1 over true gain - 1: {}\n", tally.links, tally.links_found,
             percent(tally.links_found, tally.links), ratios_text(ratios));
}

double mean_forward(const Recording& recording) {
  double sum = 0;
  std::size_t count = 0;
  for (OpId op = 0; op < recording.ops.size(); ++op) {
    if (recording.ops[op].type != OpType::kForwardCompute) continue;
    for (const StepBlock& block : recording.blocks) {
      for (const double value : block.row(block.value_s, op).first(block.shape.lanes())) sum += value;
      count += block.shape.lanes();
    }
  }
  return sum / static_cast<double>(count);
}

// One to four causes; several slow workers are one.
std::vector<std::string_view> random_kinds(RandomStream& random) {
  std::vector<std::string_view> all(std::begin(kStragglerKinds), std::end(kStragglerKinds));
  all.emplace_back("slow-replica");
  std::vector<std::string_view> kinds;
  for (std::size_t left = 1 + random.below(4); left > 0; --left) {
    const std::size_t at = random.below(all.size());
    kinds.push_back(all[at]);
    // A worker fault is of one to four workers.
    if (all[at] == "worker-fault") kinds.insert(kinds.end(), random.below(4), all[at]);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return kinds;
}

// Takes back slow workers until every stage has one that is not: a stage whose workers are slow in all
// replicas is a large stage, as far as any recording can tell.
void leave_peers(SyntheticCase& job) {
  std::map<std::int32_t, std::set<std::int32_t>> slow_of_stage;
  std::erase_if(job.stragglers, [&](const Straggler& straggler) {
    const auto* slow = std::get_if<SlowWorker>(&straggler);
    if (slow == nullptr) return false;
    std::set<std::int32_t>& replicas = slow_of_stage[slow->stage];
    if (static_cast<std::int32_t>(replicas.size()) + 1 == job.shape.dp && !replicas.contains(slow->dp))
      return true;
    replicas.insert(slow->dp);
    return false;
  });
}

void study_synthetic(std::uint64_t first_seed, int cases, bool verbose) {
  Tally clean;
  Tally mixed;
  for (int i = 0; i < cases; ++i) {
    const std::uint64_t seed = first_seed + static_cast<std::uint64_t>(i);
    RandomStream random(seed, "mixture");
    SyntheticCase job = random_case(seed, random_kinds(random), 2);
    leave_peers(job);
    score_job(synthetic_job(job), verbose, mixed);
    if (i % 4 == 0) score_job(synthetic_job(random_case(seed, {}, 1)), verbose, clean);
  }
  print_tally("1 to 4 causes", mixed);
  print_tally("healthy", clean);
}

struct MeanStep {
  double recorded_s = 0;
  double replayed_s = 0;  // without launch delays
};

MeanStep mean_step(const AnalysedTrace& trace) {
  const WhatIf result = value_or_throw(WhatIfEngine(trace.graph, trace.recording, {}).analyse());
  return {mean(result.base_s), mean(result.nodelay.span_s)};
}

// A real job with more stragglers. The last one is its own: it is in the recording, and nobody knows what the
// job would be without it; what its fix gains stands for that.
StudiedJob recorded_job(const AnalysedTrace& recorded, SyntheticCase job, const std::string& name) {
  const Straggler own = job.stragglers.back();
  job.stragglers.pop_back();
  StudiedJob studied{with_injected(recorded, job.stragglers, job.seed), by_kind(job.stragglers),
                     name + " " + job.name()};
  const MeanStep before = mean_step(studied.trace);
  for (Injected& one : studied.injected) {
    const AnalysedTrace rest = with_injected(recorded, without(job, one.kind).stragglers, job.seed);
    one.true_gain =
        (one.kind == "launch-delay" ? before.recorded_s : before.replayed_s) / mean_step(rest).replayed_s;
  }
  const WhatIf result =
      value_or_throw(WhatIfEngine(studied.trace.graph, studied.trace.recording, {}).analyse());
  const AnalysedJob analysed{studied.trace.graph, studied.trace.recording, result, 1};
  const Patterns patterns = find_patterns(analysed);
  Injected with_own{std::string(kind_of(own)), 1, {own}};
  const auto same = std::ranges::find(studied.injected, with_own.kind, &Injected::kind);
  if (same != studied.injected.end()) {
    with_own.stragglers.insert(with_own.stragglers.end(), same->stragglers.begin(), same->stragglers.end());
    studied.injected.erase(same);
  }
  const auto fix = remedy_of(analysed, &patterns, {"cause=" + with_own.kind});
  if (fix) with_own.true_gain = gain_of(analysed, *fix).gain;
  studied.injected.push_back(with_own);
  return studied;
}

// Real jobs with stragglers of their own, and more injected.
void study_recorded(const std::string& folder, const std::string& name, const Straggler& own,
                    std::uint64_t first_seed, int cases, bool verbose) {
  const AnalysedTrace recorded =
      testing::analysed(value_or_throw(read_op_trace({folder + "/" + name + "/trace.csv.gz"}, {})).trace);
  Tally tally;
  for (int i = 0; i < cases; ++i) {
    const std::uint64_t seed = first_seed + static_cast<std::uint64_t>(i);
    RandomStream random(seed, "mixture");
    SyntheticCase job;
    job.seed = seed;
    job.shape.dp = recorded.recording.dp_size;
    job.shape.pp = recorded.recording.pp_size;
    job.shape.forward_s = mean_forward(recorded.recording);
    job.settings.steps = static_cast<std::int32_t>(recorded.recording.steps.size());
    for (const std::string_view kind : random_kinds(random)) add_stragglers(kind, job, random);
    leave_peers(job);
    job.stragglers.push_back(own);
    score_job(recorded_job(recorded, job, name), verbose, tally);
  }
  print_tally(name + " with 1 to 4 causes more", tally);
}

}  // namespace
}  // namespace goodput::testing

int main(int argc, char** argv) {
  using namespace goodput;
  const std::uint64_t first_seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const int cases = argc > 2 ? std::atoi(argv[2]) : 600;
  const std::string folder = argc > 3 ? argv[3] : "";
  const bool verbose = argc > 4;
  testing::study_synthetic(first_seed, cases, verbose);
  if (folder.empty()) return EXIT_SUCCESS;
  testing::study_recorded(folder, "AR", SlowWorker{0, 0, 2.3}, first_seed, cases / 6, verbose);
  testing::study_recorded(folder, "ST", StagePartition{3, 1.6}, first_seed, cases / 6, verbose);
  return EXIT_SUCCESS;
}
