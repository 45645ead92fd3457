// `whatif` on synthetic traces gives back what was injected: S to 0.1 %, the worst worker and stage in 99 %
// of cases.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "models/cost/cost_models.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/random_plan.h"
#include "tests/support/synthetic_case.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/trace/write_trace.h"
#include "traces/op/op_trace_reader.h"

namespace goodput {
namespace {

using testing::AnalysedTrace;
using testing::SyntheticCase;
using testing::value_or_throw;

WhatIf analyse(const AnalysedTrace& trace) {
  return value_or_throw(WhatIfEngine(trace.graph, trace.recording, {}).analyse());
}

std::size_t largest(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

// How far the answers are from the truth, over all cases.
class Recovery {
 public:
  void add(const SyntheticTruth& truth, const WhatIf& found) {
    errors_.push_back(std::abs(found.slowdown / truth.slowdown - 1));
    launch_error_ = std::max(launch_error_, std::abs(found.launch_slowdown / truth.launch_slowdown - 1));
    for (std::size_t i = 0; i < truth.worker_slowdown.size(); ++i) {
      worker_error_ =
          std::max(worker_error_, std::abs(found.worker_slowdown[i] / truth.worker_slowdown[i] - 1));
    }
    for (std::size_t i = 0; i < truth.stage_slowdown.size(); ++i) {
      stage_error_ =
          std::max(stage_error_, std::abs(found.blocking.by_stage.slowdown[i] / truth.stage_slowdown[i] - 1));
    }
  }
  void count_top(bool right) {
    ++tops_;
    right_ += right ? 1 : 0;
  }

  [[nodiscard]] std::size_t cases() const { return errors_.size(); }
  [[nodiscard]] double worst() const { return *std::max_element(errors_.begin(), errors_.end()); }
  [[nodiscard]] double worst_launch() const { return launch_error_; }
  [[nodiscard]] double worst_worker() const { return worker_error_; }
  [[nodiscard]] double worst_stage() const { return stage_error_; }
  [[nodiscard]] double share_right() const { return static_cast<double>(right_) / tops_; }
  [[nodiscard]] std::string report() const {
    std::vector<double> sorted = errors_;
    std::sort(sorted.begin(), sorted.end());
    return fmt::format(
        "{} cases: error of S median {:.1e}, 99 % {:.1e}, worst {:.1e}; worst error of a launch slowdown "
        "{:.1e}, a worker's {:.1e}, a stage's {:.1e}; top right in {} of {}",
        sorted.size(), sorted[sorted.size() / 2], sorted[sorted.size() * 99 / 100], sorted.back(),
        launch_error_, worker_error_, stage_error_, right_, tops_);
  }

 private:
  std::vector<double> errors_;
  double launch_error_ = 0;
  double worker_error_ = 0;
  double stage_error_ = 0;
  int tops_ = 0;
  int right_ = 0;
};

// Through a file of this extension and back.
OpTrace through_file(const OpTrace& rows, const std::string& extension, std::int32_t vpp) {
  const TemporaryFile file("trace" + extension);
  REQUIRE(write_trace(rows, value_or_throw(output_format(file.path(), "")), file.path()));
  OpTraceReadOptions options;
  options.vpp_size = vpp;
  return value_or_throw(read_op_trace({file.path()}, options)).trace;
}

constexpr double kTolerance = 1e-3;  // of S; float32 times cost about 1e-6

void check_formats(std::uint64_t first_seed, std::uint64_t last_seed) {
  for (std::uint64_t seed = first_seed; seed <= last_seed; ++seed) {
    const SyntheticCase job = testing::random_case(seed, {"worker-fault", "launch-delay"}, 2);
    CAPTURE(job.name());
    const SyntheticTrace trace = job.synthesize(Truth::kSlowdown);
    const double expected = analyse(testing::analysed(trace.rows)).slowdown;
    CHECK(expected == doctest::Approx(trace.truth.slowdown).epsilon(kTolerance));
    for (const OpTraceFormat& format : op_trace_formats()) {
      CAPTURE(format.name);
      if (format.write == nullptr) continue;
#ifndef GOODPUT_HAVE_PARQUET
      if (format.name == "parquet") continue;
#endif
      for (const std::string_view extension : format.extensions) {
        const OpTrace read = through_file(trace.rows, std::string(extension), job.shape.vpp);
        const double slowdown = analyse(testing::analysed(read)).slowdown;
        // Raw logs have no origin: the first start of a step is subtracted, which rounds anew.
        CHECK((format.name == "raw_log" ? slowdown == doctest::Approx(expected).epsilon(1e-6)
                                        : slowdown == expected));
      }
    }
  }
}

}  // namespace

TEST_CASE("synth recovery: whatif gives back the injected slowdown, worker and stage" *
          doctest::test_suite("release-only")) {
  Recovery recovery;
  for (std::uint64_t seed = 1; seed <= 240; ++seed) {
    // Each kind alone, two of them, or none.
    constexpr std::size_t kKinds = std::size(kStragglerKinds);
    const std::size_t first = seed % (kKinds + 1);
    std::vector<std::string_view> kinds;
    if (first < kKinds) kinds.push_back(kStragglerKinds[first]);
    if (first < kKinds && seed % 3 == 0) kinds.push_back(kStragglerKinds[(first + 1 + seed % 5) % kKinds]);
    const SyntheticCase job = testing::random_case(seed, kinds, 1);
    CAPTURE(job.name());
    SyntheticTrace trace = job.synthesize();
    const AnalysedTrace analysed = testing::analysed(std::move(trace.rows));
    const WhatIf found = analyse(analysed);
    recovery.add(trace.truth, found);
    CHECK(std::abs(found.slowdown / trace.truth.slowdown - 1) <= kTolerance);
    // The one that truly is the worst: of several stragglers the costliest.
    const std::size_t worker = largest(found.worker_slowdown);
    recovery.count_top(trace.truth.worker_slowdown[worker] >=
                       (1 - 1e-6) * trace.truth.worker_slowdown[largest(trace.truth.worker_slowdown)]);
    const std::size_t stage = found.slowest_stage;
    recovery.count_top(trace.truth.stage_slowdown[stage] >=
                       (1 - 1e-6) * trace.truth.stage_slowdown[largest(trace.truth.stage_slowdown)]);
  }
  CHECK(recovery.cases() >= 200);
  CHECK(recovery.share_right() >= 0.99);
  CHECK(recovery.worst_launch() <= kTolerance);
  CHECK(recovery.worst_worker() <= kTolerance);
  CHECK(recovery.worst_stage() <= kTolerance);
  MESSAGE(recovery.report());
}

TEST_CASE("synth recovery: the worker or stage that was injected is the worst" *
          doctest::test_suite("release-only")) {
  // Faults and partitions of 10 % and more, alone: less than that noise of 3 % may hide in a short trace.
  Recovery recovery;
  for (std::uint64_t seed = 1001; seed <= 1240; ++seed) {
    const bool is_fault = seed % 2 == 0;
    SyntheticCase job = testing::random_case(seed, {kStragglerKinds[is_fault ? 0 : 1]}, is_fault ? 2 : 1);
    if (is_fault) std::get<SlowWorker>(job.stragglers[0]).factor += 0.1;
    if (!is_fault) std::get<StagePartition>(job.stragglers[0]).factor += 0.1;
    SyntheticTrace trace = job.synthesize();
    const AnalysedTrace analysed = testing::analysed(std::move(trace.rows));
    const WhatIf found = analyse(analysed);
    recovery.add(trace.truth, found);
    if (is_fault) {
      const auto& slow = std::get<SlowWorker>(job.stragglers[0]);
      recovery.count_top(largest(found.worker_slowdown) ==
                         static_cast<std::size_t>(slow.dp * job.shape.pp + slow.stage));
    } else {
      recovery.count_top(found.slowest_stage ==
                         static_cast<std::size_t>(std::get<StagePartition>(job.stragglers[0]).stage));
    }
  }
  CHECK(recovery.worst() <= kTolerance);
  CHECK(recovery.share_right() >= 0.99);
  MESSAGE(recovery.report());
}

TEST_CASE("synth recovery: plans of all shapes, priced by a cost model, give their slowdown back") {
  Recovery recovery;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {  // three of eight schedules are recordable
    TrainingPlan plan = testing::random_plan(seed);
    plan.parallel.overlap_p2p = false;
    const auto cost = make_cost_model(cost_inputs(plan));
    REQUIRE(cost);
    const Result<SyntheticStep> step = synthetic_step(plan, **cost, seed);
    if (!step) continue;
    SyntheticTrace trace = value_or_throw(
        synthesize(*step, {SequenceLengths{}, GcPauses{3, from_seconds(0.01)}}, {4, 0.01}, seed));
    const AnalysedTrace analysed = testing::analysed(std::move(trace.rows));
    recovery.add(trace.truth, analyse(analysed));
  }
  CHECK(recovery.cases() >= 30);
  CHECK(recovery.worst() <= kTolerance);
  CHECK(recovery.worst_worker() <= kTolerance);
  MESSAGE(recovery.report());
}

TEST_CASE("synth recovery: every format gives the slowdown back") {
  check_formats(2001, 2002);
}

TEST_CASE("synth recovery: so it does for more jobs" * doctest::test_suite("release-only")) {
  check_formats(2003, 2012);
}

}  // namespace goodput
