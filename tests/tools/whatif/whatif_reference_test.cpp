// release-too: vectorised loops, exact to the last bit.
// The production analysis against the slow reference, over random traces with every feature in combination.
#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>
#include <string_view>

#include "sim/base/json.h"
#include "sim/base/random.h"
#include "sim/base/statistics.h"
#include "sim/causes/remedy.h"
#include "sim/recording/op_labels.h"
#include "tests/reference/reference_whatif.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/production_answers.h"
#include "tests/support/random_cases.h"
#include "tests/support/trace_generator.h"
#include "tools/whatif/whatif_compat.h"

namespace goodput::testing {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr std::uint64_t kCases = 60;  // takes ten times as long, and looks for other errors
#else
constexpr std::uint64_t kCases = 400;
#endif
// Both work in float64 on the same numbers; sums and medians run in another order.
constexpr double kRelative = 1e-9;
constexpr double kRounding = 1e-13;  // of a step time

bool is_share(std::string_view key) {
  return key == "rem" || key == "add" || key == "Mw" || key == "Ms";
}

// Shares are (a - b) / (c - d): the rounding of a step time, over a loss that may be tiny.
double share_tolerance(const Json& shares) {
  const double recorded = shares.at("tori").get<double>();
  return kRounding * recorded / std::abs(recorded - shares.at("tideal").get<double>());
}

// First path at which two documents differ, or the empty string.
std::string first_difference(const Json& got, const Json& want, const std::string& path = "") {
  if (want.is_object()) {
    if (!got.is_object() || got.size() != want.size()) return path + " has other keys";
    for (const auto& [key, value] : want.items()) {
      if (!got.contains(key)) return path + "/" + key + " is missing";
      if (is_share(key) && value.is_number() && got[key].is_number()) {
        const double error = std::abs(got[key].get<double>() - value.get<double>());
        if (error <= share_tolerance(want) + kRelative * std::abs(value.get<double>())) continue;
      }
      // Where the loss itself is rounding, a share of it is any number or none.
      if (is_share(key) && share_tolerance(want) > 0.1) continue;
      if (auto difference = first_difference(got[key], value, path + "/" + key); !difference.empty())
        return difference;
    }
    return "";
  }
  if (want.is_number()) {
    const double tolerance = kRelative * std::abs(want.get<double>());
    if (got.is_number() && std::abs(got.get<double>() - want.get<double>()) <= tolerance) return "";
    return path + ": " + got.dump() + ", want " + want.dump();
  }
  return got == want ? "" : path + ": " + got.dump() + ", want " + want.dump();
}

reference::Options reference_options(const TraceSpec& spec) {
  reference::Options options;
  options.dsp_size = spec.dsp_size;
  return options;
}

}  // namespace

TEST_CASE("whatif: every field agrees with the reference on random traces" * doctest::test_suite("slow")) {
  for (std::uint64_t seed = 1; seed <= testing::cases(kCases); ++seed) {
    const TraceSpec spec = random_spec(seed);
    CAPTURE(to_string(spec));
    const OpTrace trace = generate_trace(spec);
    const AnalysedTrace analysed_trace = analysed(trace);
    const WhatIf result =
        value_or_throw(WhatIfEngine(analysed_trace.graph, analysed_trace.recording, {}).analyse());
    Json got = Json::parse(compat_json(result, {}, 1.03));
    got.erase("job_meta");
    REQUIRE(first_difference(got, reference::compat_result(trace, reference_options(spec))) == "");
  }
}

TEST_CASE(
    "whatif: a selection of steps agrees with the reference, dependencies still come from the first step" *
    doctest::test_suite("slow")) {
  for (std::uint64_t seed = 1; seed <= testing::cases(kCases); ++seed) {
    TraceSpec spec = random_spec(seed);
    spec.steps = 4;
    CAPTURE(to_string(spec));
    const OpTrace trace = generate_trace(spec);
    const AnalysedTrace analysed_trace = analysed(trace, {1, 3});
    const WhatIf result =
        value_or_throw(WhatIfEngine(analysed_trace.graph, analysed_trace.recording, {}).analyse());
    Json got = Json::parse(compat_json(result, {}, 1.03));
    got.erase("job_meta");
    reference::Options options = reference_options(spec);
    options.steps = result.steps;
    REQUIRE(first_difference(got, reference::compat_result(trace, options)) == "");
  }
}

TEST_CASE("megatron: dependencies and groups agree with the reference on random traces") {
  for (std::uint64_t seed = 1; seed <= testing::cases(kCases); ++seed) {
    const TraceSpec spec = random_spec(seed);
    CAPTURE(to_string(spec));
    const OpTrace trace = generate_trace(spec);
    const AnalysedTrace analysed_trace = analysed(trace);
    const reference::Dependencies want = reference::dependencies(trace, reference_options(spec));
    const reference::Dependencies got = dependencies_of(analysed_trace.graph, analysed_trace.recording);
    REQUIRE(got.deps == want.deps);
    REQUIRE(got.dp_synchronised == want.dp_synchronised);
    REQUIRE(std::set(got.groups.begin(), got.groups.end()) ==
            std::set(want.groups.begin(), want.groups.end()));
  }
}

TEST_CASE("whatif: transfers, launch delays and replayed times agree with the reference on random traces") {
  for (std::uint64_t seed = 1; seed <= testing::cases(kCases); ++seed) {
    const TraceSpec spec = random_spec(seed);
    CAPTURE(to_string(spec));
    const OpTrace trace = generate_trace(spec);
    const AnalysedTrace analysed_trace = analysed(trace);
    const OpTimesByInstance got = op_times_of(analysed_trace.graph, analysed_trace.recording);
    const OpTimesByInstance want = reference::op_times(trace, reference_options(spec));
    REQUIRE(got.size() == want.size());
    for (const auto& wanted : want) {
      const auto& instance = wanted.first;
      const reference::OpTimes& times = wanted.second;
      CAPTURE(std::get<std::string>(instance));
      const reference::OpTimes& ours = got.at(instance);
      REQUIRE(std::isnan(ours.transfer) == std::isnan(times.transfer));
      if (!std::isnan(times.transfer)) REQUIRE(ours.transfer == times.transfer);
      REQUIRE(ours.launch_delay == times.launch_delay);
      REQUIRE(std::abs(ours.nodelay_start - times.nodelay_start) < 1e-9);
      REQUIRE(std::abs(ours.nodelay_end - times.nodelay_end) < 1e-9);
      REQUIRE(std::abs(ours.ideal_start - times.ideal_start) < 1e-9);
      REQUIRE(std::abs(ours.ideal_end - times.ideal_end) < 1e-9);
    }
  }
}

TEST_CASE("whatif: the exact slowdown of every worker is that of replaying all replicas" *
          doctest::test_suite("slow")) {
  for (std::uint64_t seed = 1; seed <= testing::cases(kCases); ++seed) {
    const TraceSpec spec = random_spec(seed);
    CAPTURE(to_string(spec));
    const OpTrace trace = generate_trace(spec);
    const AnalysedTrace got = analysed(trace);
    const WhatIf result = value_or_throw(WhatIfEngine(got.graph, got.recording, {}).analyse());
    for (const auto& [worker, slowdown] : reference::exact_worker_slowdowns(trace, reference_options(spec))) {
      const auto at = static_cast<std::size_t>(worker.first * got.recording.pp_size + worker.second);
      REQUIRE(std::abs(result.worker_slowdown.at(at) - slowdown) <= kRelative * slowdown);
    }
  }
}

TEST_CASE("whatif: every worker's slowdown in every step is that of replaying all replicas of the step") {
  std::size_t compared = 0;
  for (std::uint64_t seed = 1; seed <= testing::cases(kCases / 4); ++seed) {
    TraceSpec spec = random_spec(seed);
    spec.steps = 3;
    CAPTURE(to_string(spec));
    const OpTrace trace = generate_trace(spec);
    const AnalysedTrace got = analysed(trace);
    WhatIfOptions by_step;
    by_step.by_step = true;
    const WhatIf result = value_or_throw(WhatIfEngine(got.graph, got.recording, by_step).analyse());
    REQUIRE(result.worker_step_slowdown.size() == 3);
    const auto workers = got.recording.ranks.size();
    for (std::size_t worker = 0; worker < workers; ++worker) {
      double sum = 0;
      const auto [dp, stage] = got.recording.worker(worker);
      const InstanceSet alone{{box_of_worker(got.recording, dp, stage)}};
      const StepTimes replayed = WhatIfEngine(got.graph, got.recording, {}).simulate(alone);
      for (std::size_t step = 0; step < 3; ++step) {
        const double want = replayed.finish_s[step] / result.ideal_finish_s;
        REQUIRE(std::abs(result.worker_step_slowdown[step].at(worker) - want) <= kRelative * want);
        sum += result.worker_step_slowdown[step][worker];
        ++compared;
      }
      REQUIRE(std::abs(sum / 3 - result.worker_slowdown[worker]) <=
              kRelative * result.worker_slowdown[worker]);
    }
  }
  MESSAGE(compared << " slowdowns of a worker in a step");
}

TEST_CASE("whatif: a worker's slowdown in a step agrees with the reference on traces of one step") {
  for (std::uint64_t seed = 1; seed <= testing::cases(kCases / 4); ++seed) {
    TraceSpec spec = random_spec(seed);
    spec.steps = 1;
    CAPTURE(to_string(spec));
    const OpTrace trace = generate_trace(spec);
    const AnalysedTrace got = analysed(trace);
    WhatIfOptions by_step;
    by_step.by_step = true;
    const WhatIf result = value_or_throw(WhatIfEngine(got.graph, got.recording, by_step).analyse());
    for (const auto& [worker, slowdown] : reference::exact_worker_slowdowns(trace, reference_options(spec))) {
      const auto at = static_cast<std::size_t>(worker.first * got.recording.pp_size + worker.second);
      REQUIRE(std::abs(result.worker_step_slowdown.front().at(at) - slowdown) <= kRelative * slowdown);
    }
  }
}

TEST_CASE("whatif: an intervention agrees with the reference, whatever its selectors" *
          doctest::test_suite("slow")) {
  for (std::uint64_t seed = 1; seed <= testing::cases(kCases); ++seed) {
    const TraceSpec spec = random_spec(seed);
    CAPTURE(to_string(spec));
    const OpTrace trace = generate_trace(spec);
    const AnalysedTrace got = analysed(trace);
    const WhatIfEngine engine(got.graph, got.recording, {});
    // A worker, and one op type in the first step: boxes that overlap and cover lanes in part.
    RandomStream random(seed, "selectors");
    const auto dp = static_cast<int>(random.below(static_cast<std::uint64_t>(spec.dp)));
    const auto stage = static_cast<int>(random.below(static_cast<std::uint64_t>(spec.pp)));
    const std::int64_t step = got.recording.steps.front();
    const InstanceSet chosen{
        {value_or_throw(select(got.recording, "worker=" + std::to_string(dp) + ":" + std::to_string(stage))),
         value_or_throw(select(got.recording, "optype=forward-compute&step=" + std::to_string(step)))}};
    const auto is_chosen = [&](const reference::OpView& op) {
      return (op.dp_rank == dp && op.stage == stage) ||
             (op.type == OpType::kForwardCompute && op.step == step);
    };
    const auto options = reference_options(spec);
    const double keep = reference::step_time_with(trace, options, is_chosen);
    const double fix =
        reference::step_time_with(trace, options, [&](const auto& op) { return !is_chosen(op); });
    REQUIRE(std::abs(mean(engine.simulate(chosen).span_s) - keep) <= kRelative * keep);
    const WhatIf result = value_or_throw(engine.analyse());
    Remedy remedy;
    remedy.ideal = chosen;
    REQUIRE(std::abs(gain_of({got.graph, got.recording, result}, remedy).step_s - fix) <= kRelative * fix);
  }
}

TEST_CASE("whatif: shuffled rows and any number of threads give the same bytes") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const TraceSpec spec = random_spec(seed);
    CAPTURE(to_string(spec));
    const OpTrace trace = generate_trace(spec);
    const auto bytes = [&](OpTrace rows, unsigned jobs) {
      const AnalysedTrace got = analysed(std::move(rows));
      WhatIfOptions options;
      options.jobs = jobs;
      return compat_json(value_or_throw(WhatIfEngine(got.graph, got.recording, options).analyse()), {}, 1.0);
    };
    const std::string expected = bytes(trace, 1);
    REQUIRE(bytes(trace, 4) == expected);
    REQUIRE(bytes(shuffled(trace, seed), 3) == expected);
  }
}

}  // namespace goodput::testing
