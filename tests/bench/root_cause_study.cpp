// root_cause_study [FIRST_SEED [CASES [verbose]]]: what `whatif` names in synthetic jobs with 1 to 4 causes
// at once, against what is true of them. Prints the tables of docs/validation.md. Thresholds were chosen on
// seeds from 1; the published tables are of seeds from 100001.
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

#include "sim/causes/fix.h"
#include "sim/causes/root_cause.h"
#include "sim/recording/op_labels.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/straggled_recording.h"
#include "tests/support/synthetic_case.h"
#include "traces/op/op_trace_reader.h"

namespace goodput::testing {
namespace {

constexpr double kWorthFixing = 1.03;  // what gains less need not be found
constexpr double kMostOfIt = 0.8;      // of the best gain
constexpr double kNecessary = 0.01;

// A cause that was injected: the stragglers that make it up, and what the step gains without them.
struct Injected {
  std::string name;      // as whatif calls it
  double true_gain = 1;  // had it never been there
  double gain = 1;       // of its fix, as --fix replays it
};

struct Score {
  int strong = 0;  // injected, and its fix gains enough
  int found = 0;
  int weak = 0;  // injected, and gains less
  int weak_found = 0;
  int false_alarms = 0;  // named, not injected
};

struct Tally {
  std::map<std::string, Score> by_kind;
  int jobs = 0;
  int worth_fixing = 0;
  int well_named = 0;
  int truly_well_named = 0;
  int with_sets = 0;
  int exact_sets = 0;
};

bool is_of_workers(std::string_view name) {
  return name == "worker-fault" || name == "slow-replica";
}

// The same job with some stragglers taken back; all others draw the same numbers.
SyntheticCase without(SyntheticCase job, const std::vector<std::size_t>& stragglers) {
  for (const std::size_t i : stragglers) {
    Straggler& straggler = job.stragglers[i];
    if (auto* slow = std::get_if<SlowWorker>(&straggler)) slow->factor = 1;
    if (auto* lengths = std::get_if<SequenceLengths>(&straggler)) lengths->attention_share = 0;
    if (auto* pauses = std::get_if<GcPauses>(&straggler)) pauses->pause = SimDuration{};
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
  std::vector<Straggler> stragglers;
  std::string title;
  std::map<std::string, double> true_gains;  // by kind; where they are known
};

// The selectors that undo all stragglers of one kind.
std::vector<std::string> fix_of(const StudiedJob& job, const std::vector<std::size_t>& stragglers) {
  const std::int32_t pp = job.trace.recording.pp_size;
  std::vector<std::string> fix;
  for (const std::size_t i : stragglers) {
    const Straggler& straggler = job.stragglers[i];
    if (const auto* slow = std::get_if<SlowWorker>(&straggler)) {
      fix.push_back(fmt::format("worker={}:{}", slow->dp, slow->stage));
    } else if (const auto* flap = std::get_if<NicFlap>(&straggler)) {
      for (const std::int32_t stage : {flap->stage - 1, flap->stage, flap->stage + 1}) {
        if (pp == 1) break;
        fix.push_back(
            fmt::format("worker={}:{}&optype=forward-pp-comm,backward-pp-comm", flap->dp, (stage + pp) % pp));
      }
      fix.push_back(fmt::format(
          "stage={}&optype=params-all-gather,grads-reduce-scatter,separate-grads-all-reduce", flap->stage));
    } else {
      fix.push_back(fmt::format("cause={}", kind_of(straggler)));
    }
  }
  return fix;
}

// By kind; all slow workers are one cause.
std::map<std::string, std::vector<std::size_t>> by_kind(const std::vector<Straggler>& stragglers) {
  std::map<std::string, std::vector<std::size_t>> kinds;
  for (std::size_t i = 0; i < stragglers.size(); ++i) kinds[std::string(kind_of(stragglers[i]))].push_back(i);
  return kinds;
}

std::vector<Injected> injected_into(const StudiedJob& studied, const AnalysedJob& job,
                                    const Patterns& patterns) {
  std::vector<Injected> injected;
  for (const auto& [name, stragglers] : by_kind(studied.stragglers)) {
    const Gain gain = gain_of(job, value_or_throw(remedy_of(job, patterns, fix_of(studied, stragglers))));
    const auto known = studied.true_gains.find(name);
    injected.push_back({name, known == studied.true_gains.end() ? 1 : known->second, gain.gain});
  }
  return injected;
}

StudiedJob synthetic_job(const SyntheticCase& spec) {
  SyntheticTrace trace = spec.synthesize(Truth::kSlowdown);
  StudiedJob job{testing::analysed(std::move(trace.rows)), spec.stragglers, spec.name(), {}};
  for (const auto& [name, stragglers] : by_kind(spec.stragglers)) {
    const SyntheticTruth rest = without(spec, stragglers).synthesize(Truth::kSlowdown).truth;
    const double before_s = name == "launch-delay" ? trace.truth.recorded_s : trace.truth.replayed_s;
    job.true_gains[name] = before_s / rest.replayed_s;
  }
  return job;
}

std::string kind_named(const RootCause& cause) {
  return is_of_workers(cause.name) ? "worker-fault" : cause.name;
}

std::set<std::size_t> slow_workers_of(const StudiedJob& job) {
  std::set<std::size_t> workers;
  for (const Straggler& straggler : job.stragglers) {
    if (const auto* slow = std::get_if<SlowWorker>(&straggler))
      workers.insert(static_cast<std::size_t>(slow->dp * job.trace.recording.pp_size + slow->stage));
  }
  return workers;
}

double step_with_fixed(const AnalysedJob& job, const std::set<std::size_t>& workers) {
  Remedy remedy;
  for (const std::size_t worker : workers) {
    const auto [dp_rank, stage] = job.recording.worker(worker);
    remedy.ideal.boxes.push_back(box_of_worker(job.recording, dp_rank, stage));
  }
  return gain_of(job, remedy).step_s;
}

// Of the slow workers, those without whose repair the step is longer.
std::set<std::size_t> necessary(const AnalysedJob& job, const std::set<std::size_t>& slow) {
  const double fixed_s = step_with_fixed(job, slow);
  std::set<std::size_t> result;
  for (const std::size_t worker : slow) {
    std::set<std::size_t> others = slow;
    others.erase(worker);
    if (step_with_fixed(job, others) - fixed_s >= kNecessary * fixed_s) result.insert(worker);
  }
  return result;
}

void score_names(const std::vector<Injected>& injected, const std::vector<RootCause>& causes, bool verbose,
                 const std::string& title, Tally& tally) {
  std::set<std::string> named;
  for (const RootCause& cause : causes) {
    if (cause.likely) named.insert(kind_named(cause));
  }
  for (const Injected& one : injected) {
    Score& score = tally.by_kind[one.name];
    const bool is_found = named.erase(one.name) > 0;
    const bool is_strong = one.gain >= kWorthFixing;
    ++(is_strong ? score.strong : score.weak);
    (is_strong ? score.found : score.weak_found) += is_found ? 1 : 0;
    if (verbose && is_strong && !is_found)
      fmt::print(stderr, "MISSED {} (gains {:.3f}): {}\n", one.name, one.gain, title);
  }
  for (const std::string& name : named) {
    ++tally.by_kind[name].false_alarms;
    if (verbose) fmt::print(stderr, "FALSE {}: {}\n", name, title);
  }
}

// Whether the cause named first is as good as the best there is.
void score_best(const std::vector<Injected>& injected, const RootCause& first, bool verbose,
                const std::string& title, Tally& tally) {
  Injected best;
  double true_best = 1;
  for (const Injected& one : injected) {
    if (one.gain > best.gain) best = one;
    true_best = std::max(true_best, one.true_gain);
  }
  if (best.gain < kWorthFixing) return;
  ++tally.worth_fixing;
  const double gain = first.likely ? first.gain.value_or(1) - 1 : 0;
  const bool is_good = gain >= kMostOfIt * (best.gain - 1);
  tally.well_named += is_good ? 1 : 0;
  tally.truly_well_named += gain >= kMostOfIt * (true_best - 1) ? 1 : 0;
  if (verbose && !is_good)
    fmt::print(stderr, "POOR {} {:.3f} for {} {:.3f}: {}\n", first.name, gain + 1, best.name, best.gain,
               title);
}

void score_sets(const StudiedJob& studied, const AnalysedJob& job, const std::vector<RootCause>& causes,
                bool verbose, Tally& tally) {
  const std::set<std::size_t> slow = slow_workers_of(studied);
  const std::set<std::size_t> expected = necessary(job, slow);
  if (expected.empty()) return;
  std::set<std::size_t> named;
  for (const RootCause& cause : causes) {
    if (!cause.likely || !is_of_workers(cause.name)) continue;
    for (const auto& worker : cause.workers) named.insert(worker.worker);
  }
  // Who costs less may be named or not, but has to be slow.
  const bool is_exact = std::ranges::includes(named, expected) && std::ranges::includes(slow, named);
  ++tally.with_sets;
  tally.exact_sets += is_exact ? 1 : 0;
  if (verbose && !is_exact) fmt::print(stderr, "SET {} for {}: {}\n", named, expected, studied.title);
}

void score_job(const StudiedJob& studied, bool verbose, Tally& tally) {
  const AnalysedTrace& trace = studied.trace;
  const WhatIf result = value_or_throw(WhatIfEngine(trace.graph, trace.recording, {}).analyse());
  const AnalysedJob job{trace.graph, trace.recording, result, 1};
  const Patterns patterns = find_patterns(job);
  const auto causes = find_root_causes(job, patterns, 1.03);
  const auto injected = injected_into(studied, job, patterns);
  ++tally.jobs;
  score_names(injected, causes, verbose, studied.title, tally);
  score_best(injected, causes.front(), verbose, studied.title, tally);
  score_sets(studied, job, causes, verbose, tally);
}

std::string percent(int part, int all) {
  return all == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * part / all);
}

void print_tally(const std::string& title, const Tally& tally) {
  fmt::print(
      "\n{}: {} jobs\n\n| cause | gains 1.03x | found | recall | false alarms | precision | gains less | of "
      "these found |\n"
      "|---|---|---|---|---|---|---|---|\n",
      title, tally.jobs);
  for (const auto& [kind, score] : tally.by_kind) {
    const int named = score.found + score.weak_found + score.false_alarms;
    fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} |\n", kind, score.strong, score.found,
               percent(score.found, score.strong), score.false_alarms,
               percent(named - score.false_alarms, named), score.weak, score.weak_found);
  }
  fmt::print(
      "\nbest fix gains 1.03x: {}; the first named has 80 % of it: {} ({}); of the true gain, too: {} ({})\n"
      "slow workers whose omission costs 1 %: {} sets, {} exact ({})\n",
      tally.worth_fixing, tally.well_named, percent(tally.well_named, tally.worth_fixing),
      tally.truly_well_named, percent(tally.truly_well_named, tally.worth_fixing), tally.with_sets,
      tally.exact_sets, percent(tally.exact_sets, tally.with_sets));
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
    if (i % 6 == 0) score_job(synthetic_job(random_case(seed, {}, 1)), verbose, clean);
  }
  print_tally("1 to 4 causes", mixed);
  print_tally("healthy", clean);
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
    StudiedJob studied{
        with_injected(recorded, job.stragglers, seed), job.stragglers, name + " " + job.name(), {}};
    studied.stragglers.push_back(own);
    score_job(studied, verbose, tally);
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
