#include "tests/support/synthetic_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "sim/base/random.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/random_integer.h"

namespace goodput::testing {
namespace {

// Even in the logarithm.
double spread(RandomStream& random, double low, double high) {
  return std::exp(random.uniform(std::log(low), std::log(high)));
}

// Two to all but two of the steps, of four or more.
std::pair<std::int64_t, std::int64_t> random_window(const SyntheticCase& job, RandomStream& random) {
  const std::int32_t length = between(random, 2, std::max(2, job.settings.steps - 2));
  const std::int32_t first = between(random, 1, job.settings.steps - length + 1);
  return {first, first + length - 1};
}

Straggler random_straggler(std::string_view kind, const SyntheticCase& job, RandomStream& random) {
  const std::int32_t dp = between(random, 0, job.shape.dp - 1);
  const std::int32_t stage = between(random, 0, job.shape.pp - 1);
  if (kind == "worker-fault") {
    SlowWorker slow{dp, stage, 1 + spread(random, 0.05, 1.5)};
    if (job.settings.steps < 4) return slow;
    switch (random.below(6)) {
      case 0:
        slow.from_step = 1 + job.settings.steps / 2;
        break;
      case 1:
        std::tie(slow.from_step, slow.to_step) = random_window(job, random);
        break;
      case 2:
        slow.from_factor = 1;
        break;
      default:
        break;
    }
    return slow;
  }
  if (kind == "slow-link") {
    SlowLink link;
    // What all replicas of the only link have in common, no recording shows.
    if (random.below(2) == 0 || job.shape.pp == 2) link.dp = dp;
    link.stage = between(random, 0, std::max(0, job.shape.pp - 2));
    link.factor = spread(random, 2.5, 60);
    if (job.settings.steps >= 4 && random.below(4) == 0)
      std::tie(link.from_step, link.to_step) = random_window(job, random);
    return link;
  }
  if (kind == "stage-partition") return StagePartition{stage, 1 + spread(random, 0.05, 1)};
  if (kind == "sequence-length") {
    return SequenceLengths{spread(random, 100, 4000), random.uniform(0.8, 2), random.uniform(0.1, 0.8)};
  }
  if (kind == "gc-pauses")
    return GcPauses{between(random, 2, 10), from_seconds(job.shape.forward_s * spread(random, 0.5, 30)),
                    random.below(2) == 0 ? GcPauses::Passes::kForward : GcPauses::Passes::kAll};
  if (kind == "launch-delay") {
    if (random.below(2) == 0)
      return LaunchDelays{LaunchDelays::Ops::kAll,
                          from_seconds(job.shape.forward_s * spread(random, 1e-3, 0.2))};
    return LaunchDelays{LaunchDelays::Ops::kFirst,
                        from_seconds(job.shape.forward_s * spread(random, 0.1, 10))};
  }
  return NicFlap{dp, stage, spread(random, 0.02, 0.12), spread(random, 8, 400)};
}

// All workers of a replica are slow alike.
void add_slow_replica(SyntheticCase& job, RandomStream& random) {
  SlowWorker slow{between(random, 0, job.shape.dp - 1), 0, 1 + spread(random, 0.05, 1.5)};
  for (; slow.stage < job.shape.pp; ++slow.stage) job.stragglers.emplace_back(slow);
}

}  // namespace

std::string SyntheticCase::name() const {
  std::string text = fmt::format("seed {}: {} dp {} pp {} vpp {} mb {} steps {} jitter {:g}{}", seed,
                                 shape.schedule, shape.dp, shape.pp, shape.vpp, shape.micro_batches,
                                 settings.steps, settings.jitter, shape.overlaps_reduction ? " overlap" : "");
  for (const Straggler& straggler : stragglers)
    text += fmt::format("; {}: {}", kind_of(straggler), describe(straggler));
  return text;
}

SyntheticTrace SyntheticCase::synthesize(Truth truth) const {
  return value_or_throw(goodput::synthesize(even_step(shape), stragglers, settings, seed, truth));
}

void add_stragglers(std::string_view kind, SyntheticCase& job, RandomStream& random) {
  if (kind == "slow-replica") {
    add_slow_replica(job, random);
  } else {
    job.stragglers.push_back(random_straggler(kind, job, random));
  }
}

SyntheticCase random_case(std::uint64_t seed, const std::vector<std::string_view>& kinds,
                          std::int32_t least_dp) {
  RandomStream random(seed, "synthetic case");
  SyntheticCase job;
  job.seed = seed;
  job.shape.dp = between(random, least_dp, 8);
  const bool needs_stages = std::ranges::any_of(
      kinds, [](std::string_view kind) { return kind == "stage-partition" || kind == "slow-link"; });
  job.shape.pp = between(random, needs_stages ? 2 : 1, 8);
  if (job.shape.dp == 1 && std::find(kinds.begin(), kinds.end(), "communication-flap") != kinds.end()) {
    job.shape.pp = std::max(2, job.shape.pp);
  }
  job.shape.vpp = job.shape.pp > 1 ? between(random, 1, 3) : 1;
  job.shape.micro_batches = job.shape.vpp > 1 ? job.shape.pp * between(random, 1, 3) : between(random, 2, 16);
  job.shape.overlaps_reduction = random.below(2) == 0;
  job.shape.forward_s = spread(random, 0.01, 0.2);
  job.shape.message_share = spread(random, 0.01, 0.1);
  if (job.shape.vpp == 1 && random.below(4) == 0) job.shape.schedule = "gpipe";
  job.settings.steps = between(random, 5, 12);
  job.settings.jitter = spread(random, 0.002, 0.03);
  for (const std::string_view kind : kinds) add_stragglers(kind, job, random);
  return job;
}

}  // namespace goodput::testing
