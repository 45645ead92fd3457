#include "models/fleet/fleet_member.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/synth/even_step.h"
#include "models/synth/synthetic_step.h"
#include "sim/base/hash.h"
#include "sim/base/index.h"
#include "sim/base/random.h"
#include "sim/base/units.h"

namespace goodput {
namespace {

constexpr std::int32_t kGpusPerHost = 8;
constexpr std::int32_t kStepsOfShort = 2;
constexpr std::int64_t kMostUsualRestarts = 15;  // the paper leaves out what restarted more often
constexpr double kPrecision = 5e-4;              // of slowdowns, relative, and of discrepancies
constexpr int kMostTries = 40;
constexpr double kMostSeverity = 200;
constexpr double kMostDelayS = 60;
constexpr double kLeastGuess = 1e-6;             // of both: what is doubled has to be above 0
constexpr std::int32_t kStepsBetweenPauses = 3;  // of a worker

enum Kind : std::size_t { kWorkerFault, kStagePartition, kSequenceLength, kGcPauses };

double lognormal(RandomStream& random, double median, double sigma) {
  return median * std::exp(random.normal(0, sigma));
}

// The element in whose share of 0 to 1 `at` falls; behind the last: none.
template <typename T>
const T* dealt(const std::vector<T>& list, double at) {
  for (const T& element : list) {
    if (at < element.share) return &element;
    at -= element.share;
  }
  return nullptr;
}

std::size_t workers_of(const FleetShape& shape) {
  return index(shape.dp) * index(shape.pp);
}

// Consecutive machines; worker faults are on the bad ones.
void place(const FleetMixture& mixture, RandomStream& random, FleetMember& member) {
  const std::size_t workers = workers_of(member.shape);
  const auto each = static_cast<std::size_t>(std::max(1, member.shape.gpus_per_worker / kGpusPerHost));
  const std::size_t hosts = index(mixture.hosts);
  std::size_t first = random.below(hosts);
  member.slow_worker = random.below(workers);
  const std::uint64_t bad = random.below(std::max<std::uint64_t>(1, index(mixture.bad_hosts)));
  if (member.kind == kWorkerFault && mixture.bad_hosts > 0) {
    const std::size_t host = hosts * (2 * bad + 1) / (2 * index(mixture.bad_hosts));
    first = (host + hosts - member.slow_worker * each % hosts) % hosts;
  }
  for (std::size_t worker = 0; worker < workers; ++worker)
    member.hosts.push_back(fmt::format("host-{:04}", (first + worker * each) % hosts));
}

Straggler straggler_of(const FleetMixture& mixture, const FleetMember& member, double severity) {
  switch (*member.kind) {
    case kWorkerFault: {
      const std::size_t stages = index(member.shape.pp);
      return SlowWorker{static_cast<std::int32_t>(member.slow_worker / stages),
                        static_cast<std::int32_t>(member.slow_worker % stages), 1 + severity};
    }
    case kStagePartition:
      return StagePartition{member.shape.pp - 1, 1 + severity};
    case kSequenceLength:
      return SequenceLengths{mixture.median_tokens, mixture.tokens_sigma, severity};
    default:
      return GcPauses{kStepsBetweenPauses, from_seconds(severity * mixture.forward_s)};
  }
}

// Where a function that rises from `error_at_zero` below 0 is 0, to kPrecision, or `most`, where it stays
// below 0. By the Illinois variant of regula falsi (Dowell and Jarratt, BIT 11, 1971).
template <typename Function>
Result<double> root_of(Function error_at, double error_at_zero, double first, double most) {
  double low = 0;
  double low_error = error_at_zero;
  double high = std::clamp(first, kLeastGuess, most);
  GOODPUT_TRY(double high_error, error_at(high));
  while (high_error < -kPrecision && high < most) {
    low = std::exchange(high, std::min(most, 2 * high));
    low_error = high_error;
    GOODPUT_TRY(high_error, error_at(high));
  }
  if (high_error <= kPrecision) return high;
  int kept = 0;
  for (int tries = 0; tries < kMostTries; ++tries) {
    const double middle = (low * high_error - high * low_error) / (high_error - low_error);
    GOODPUT_TRY(const double error, error_at(middle));
    if (std::abs(error) <= kPrecision) return middle;
    const bool is_above = error > 0;
    (is_above ? high : low) = middle;
    (is_above ? high_error : low_error) = error;
    // The end that stays twice weighs half.
    if (std::exchange(kept, is_above ? 1 : -1) == (is_above ? 1 : -1))
      (is_above ? low_error : high_error) /= 2;
  }
  return high;
}

// Finds what gives a job the slowdown that it was dealt.
class SeveritySearch {
 public:
  SeveritySearch(const FleetMixture& mixture, const FleetMember& member, const SyntheticStep& step)
      : mixture_(mixture), member_(member), step_(step) {
    settings_ = mixture.trace;
    settings_.steps = member.steps;
  }

  Result<FleetTrace> find() {
    FleetTrace found{{}, {}, step_.vpp};
    GOODPUT_TRY(found.trace, synthesized({}));
    if (member_.kind && found.trace.truth.slowdown < member_.slowdown) {
      GOODPUT_TRY(const double severity, severity_for(found.trace.truth.slowdown));
      found.stragglers.push_back(straggler_of(mixture_, member_, severity));
    }
    if (member_.discrepancy > 0) {
      GOODPUT_TRY(const double mean_s, delay_for(found.stragglers));
      found.stragglers.push_back(LaunchDelays{LaunchDelays::Ops::kFirst, from_seconds(mean_s)});
    }
    GOODPUT_TRY(found.trace, synthesized(found.stragglers));
    return found;
  }

 private:
  [[nodiscard]] Result<SyntheticTrace> synthesized(const std::vector<Straggler>& stragglers) const {
    return synthesize(step_, stragglers, settings_, member_.seed, Truth::kSlowdown);
  }
  [[nodiscard]] Result<double> severity_for(double clean) const {
    const auto error = [&](double severity) -> Result<double> {
      GOODPUT_TRY(const SyntheticTrace trace, synthesized({straggler_of(mixture_, member_, severity)}));
      return trace.truth.slowdown / member_.slowdown - 1;
    };
    const double most = *member_.kind == kSequenceLength ? 1 : kMostSeverity;
    return root_of(error, clean / member_.slowdown - 1, std::min(most, member_.slowdown - 1), most);
  }

  // Delays hide behind slow workers until they are long enough.
  [[nodiscard]] Result<double> delay_for(const std::vector<Straggler>& stragglers) const {
    const auto error = [&](double mean_s) -> Result<double> {
      std::vector<Straggler> delayed = stragglers;
      delayed.push_back(LaunchDelays{LaunchDelays::Ops::kFirst, from_seconds(mean_s)});
      GOODPUT_TRY(const SyntheticTrace trace, synthesized(delayed));
      return 1 - trace.truth.replayed_s / trace.truth.recorded_s - member_.discrepancy;
    };
    return root_of(error, -member_.discrepancy, member_.discrepancy * mixture_.forward_s, kMostDelayS);
  }

  const FleetMixture& mixture_;
  const FleetMember& member_;
  const SyntheticStep& step_;
  TraceSettings settings_;
};

}  // namespace

FleetMember deal_member(const FleetMixture& mixture, std::uint64_t seed, std::size_t number) {
  RandomStream random(seed, "fleet", number);
  FleetMember member;
  member.name = fmt::format("job-{:05}", number + 1);
  Hash hash;
  for (const std::uint64_t part : {seed, std::uint64_t{number}}) hash.add(part);
  member.seed = hash.value();
  const FleetShape* shape = dealt(mixture.shapes, random.uniform());
  member.shape = shape != nullptr ? *shape : mixture.shapes.back();
  const FleetCause* cause = dealt(mixture.causes, random.uniform());
  const double quantile = random.uniform();
  if (cause != nullptr) {
    member.kind = cause->kind;
    member.slowdown = cause->slowdown.at(quantile);
    if (cause->kind == kStagePartition && member.shape.pp == 1) member.kind = kGcPauses;
  }
  member.steps = random.uniform() < mixture.short_share ? std::min(kStepsOfShort, mixture.trace.steps)
                                                        : mixture.trace.steps;
  const bool is_restarted = random.uniform() < mixture.restarted_share;
  member.restarts = static_cast<std::int64_t>(random.below(kMostUsualRestarts + 1));
  if (is_restarted) member.restarts += kMostUsualRestarts + 1;
  member.discrepancy =
      std::min(0.5, lognormal(random, mixture.median_discrepancy, mixture.discrepancy_sigma));
  member.hours = lognormal(random, mixture.median_hours, mixture.hours_sigma);
  place(mixture, random, member);
  return member;
}

Result<FleetTrace> trace_of_member(const FleetMixture& mixture, const FleetMember& member) {
  const SyntheticStep step = even_step({.schedule = "1f1b",
                                        .dp = member.shape.dp,
                                        .pp = member.shape.pp,
                                        .vpp = 1,
                                        .micro_batches = member.shape.micro_batches,
                                        .forward_s = mixture.forward_s,
                                        .gpus_per_worker = member.shape.gpus_per_worker,
                                        .sequence_length = mixture.sequence_length});
  Result<FleetTrace> trace = SeveritySearch(mixture, member, step).find();
  if (!trace) return std::move(trace).error().in_file(mixture.file);
  return trace;
}

}  // namespace goodput
