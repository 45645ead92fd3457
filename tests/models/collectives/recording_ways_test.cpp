// One simulated job, recorded in other ways: whoever records it, the answers are the same.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tests/support/kineto_job.h"
#include "tests/support/kineto_writer.h"
#include "tests/traces/io/temporary_file.h"
#include "traces/io/byte_source.h"
#include "traces/kineto/kineto_activity.h"
#include "traces/kineto/kineto_events.h"

namespace goodput {
namespace {

using testing::AnalysedRanks;
using testing::CudaFaultKind;
using testing::CudaJob;
using testing::CudaJobSpec;

// FSDP on four ranks, the third of which is slow.
CudaJobSpec recorded_spec(CudaFaultKind fault) {
  CudaJobSpec spec;
  spec.kind = testing::CudaJobKind::kFsdp;
  spec.ranks = 4;
  spec.layers = 3;
  spec.kernels = 2;
  spec.steps = 6;
  spec.ahead = 0;
  spec.fault = {fault, 2, 0.25};
  return spec;
}

KinetoEvents events_of_text(const std::string& text) {
  const TemporaryFile file("trace.json", text);
  auto source = ByteSource::open(file.path());
  REQUIRE(source);
  auto events = read_kineto_events(*source);
  REQUIRE(events);
  return *std::move(events);
}

// By rank.
std::vector<KinetoEvents> events_of_job(const CudaJob& job) {
  std::vector<KinetoEvents> events;
  for (int rank = 0; rank < job.spec.ranks; ++rank)
    events.push_back(events_of_text(testing::kineto_text(job, rank)));
  return events;
}

RankActivity activity_of_events(KinetoEvents events) {
  auto activity = rank_activity(std::move(events), {});
  REQUIRE_MESSAGE(activity, (activity ? "" : activity.error().message()));
  return *std::move(activity);
}

std::vector<RankActivity> activities_of_events(std::vector<KinetoEvents> events) {
  std::vector<RankActivity> activities;
  for (KinetoEvents& own : events) activities.push_back(activity_of_events(std::move(own)));
  return activities;
}

AnalysedRanks analysed_or_fail(std::vector<RankActivity> activities) {
  auto analysed = testing::analyse_ranks(std::move(activities));
  REQUIRE_MESSAGE(analysed, (analysed ? "" : analysed.error().message()));
  return *std::move(analysed);
}

// What everybody has to find, whatever the steps.
void check_slow_rank(const AnalysedRanks& analysed, const CudaJob& job) {
  CHECK(analysed.slowest_rank() == job.truth.slow_rank);
  CHECK(analysed.subject() == fmt::format("rank:{}", job.truth.slow_rank));
  CHECK(std::abs(analysed.replay_error()) <= 0.03);
  const auto& extra = analysed.analysis.rank_work->extra_s[analysed.worker_of(job.truth.slow_rank)];
  REQUIRE(extra);
  CHECK(std::abs(*extra - job.truth.extra_s) <= std::max(0.3 * job.truth.extra_s, 0.025));
}

void check_same(const AnalysedRanks& a, const AnalysedRanks& b, double tolerance) {
  CHECK(a.analysis.whatif.slowdown == doctest::Approx(b.analysis.whatif.slowdown).epsilon(tolerance));
  CHECK(a.analysis.whatif.base_s.size() == b.analysis.whatif.base_s.size());
  for (const int rank : a.analysis.grid.ranks)
    CHECK(a.slowdown_of(rank) == doctest::Approx(b.slowdown_of(rank)).epsilon(tolerance));
}

TEST_CASE("recording ways: indented, line-by-line and compact files give the same answer") {
  const CudaJob job = testing::simulate_cuda_job(recorded_spec(CudaFaultKind::kCompute));
  std::vector<AnalysedRanks> all;
  for (const testing::KinetoForm form :
       {testing::KinetoForm::kCompact, testing::KinetoForm::kLines, testing::KinetoForm::kIndented}) {
    std::vector<RankActivity> activities;
    for (int rank = 0; rank < job.spec.ranks; ++rank)
      activities.push_back(activity_of_events(events_of_text(testing::kineto_text(job, rank, form))));
    all.push_back(analysed_or_fail(std::move(activities)));
  }
  check_slow_rank(all[0], job);
  check_same(all[1], all[0], 1e-12);
  check_same(all[2], all[0], 1e-12);
}

TEST_CASE("recording ways: the order of the files does not matter") {
  const CudaJob job = testing::simulate_cuda_job(recorded_spec(CudaFaultKind::kBackward));
  std::vector<RankActivity> activities = activities_of_events(events_of_job(job));
  const AnalysedRanks in_order = analysed_or_fail(activities);
  std::ranges::reverse(activities);
  std::swap(activities[0], activities[2]);
  check_same(analysed_or_fail(std::move(activities)), in_order, 1e-12);
}

TEST_CASE("recording ways: a base time that is 20 ms off on one rank changes no answer") {
  const CudaJob job = testing::simulate_cuda_job(recorded_spec(CudaFaultKind::kCompute));
  std::vector<std::string> texts;
  for (int rank = 0; rank < job.spec.ranks; ++rank) texts.push_back(testing::kineto_text(job, rank));
  const auto analysed_texts = [&] {
    std::vector<RankActivity> activities;
    for (const std::string& text : texts) activities.push_back(activity_of_events(events_of_text(text)));
    return analysed_or_fail(std::move(activities));
  };
  const AnalysedRanks right = analysed_texts();
  // `"baseTimeNanoseconds":123,`
  const std::string key = "\"baseTimeNanoseconds\":";
  std::string& text = texts[1];
  const std::size_t at = text.find_first_of("0123456789", text.find(key) + key.size());
  const std::size_t end = text.find_first_not_of("0123456789", at);
  text.replace(at, end - at, std::to_string(std::stoll(text.substr(at, end - at)) + 20'000'000));
  const AnalysedRanks shifted = analysed_texts();
  check_slow_rank(shifted, job);
  check_same(shifted, right, 1e-3);
}

// What a profiler that is active for one step keeps of a trace.
KinetoEvents of_one_step(const KinetoEvents& all, std::size_t step) {
  KinetoEvents one = all;
  const KinetoEvents::Step own = all.steps[step];
  one.steps = {own};
  const auto is_outside = [&](std::int64_t begin_ns) {
    return begin_ns < own.begin_ns || begin_ns >= own.end_ns;
  };
  std::erase_if(one.launches, [&](const auto& launch) { return is_outside(launch.begin_ns); });
  std::erase_if(one.spans, [&](const auto& span) { return is_outside(span.begin_ns); });
  std::unordered_set<std::uint32_t> launched;
  for (const auto& launch : one.launches) launched.insert(launch.correlation);
  std::erase_if(one.kernels, [&](const auto& kernel) { return !launched.contains(kernel.correlation); });
  return one;
}

TEST_CASE("recording ways: one file per step and rank gives the same answer as one file per rank") {
  const CudaJob job = testing::simulate_cuda_job(recorded_spec(CudaFaultKind::kCompute));
  std::vector<RankActivity> activities;
  for (const KinetoEvents& all : events_of_job(job)) {
    for (std::size_t step = 0; step < all.steps.size(); ++step)
      activities.push_back(activity_of_events(of_one_step(all, step)));
  }
  CHECK(activities.size() == 4 * 6);
  const AnalysedRanks analysed = analysed_or_fail(std::move(activities));
  CHECK(analysed.analysis.whatif.steps.size() == 6);
  check_slow_rank(analysed, job);
}

TEST_CASE("recording ways: a step that one file lacks is left out, and the others are analyzed") {
  const CudaJob job = testing::simulate_cuda_job(recorded_spec(CudaFaultKind::kCompute));
  std::vector<KinetoEvents> events = events_of_job(job);
  const std::int64_t lost = events[1].steps[3].number;
  events[1].steps.erase(events[1].steps.begin() + 3);
  const AnalysedRanks analysed = analysed_or_fail(activities_of_events(std::move(events)));
  const std::vector<std::int64_t>& steps = analysed.analysis.whatif.steps;
  CHECK(std::ranges::find(steps, lost) == steps.end());
  CHECK(analysed.slowest_rank() == job.truth.slow_rank);
}

TEST_CASE("recording ways: a truncated file loses only its last steps") {
  const CudaJob job = testing::simulate_cuda_job(recorded_spec(CudaFaultKind::kCompute));
  std::vector<RankActivity> activities;
  for (int rank = 0; rank < job.spec.ranks; ++rank) {
    std::string text = testing::kineto_text(job, rank);
    if (rank == 3) text.resize(text.size() * 95 / 100);
    activities.push_back(activity_of_events(events_of_text(text)));
  }
  const AnalysedRanks analysed = analysed_or_fail(std::move(activities));
  CHECK(analysed.analysis.whatif.steps.size() < 6);
  CHECK(analysed.analysis.whatif.steps.size() >= 3);
  CHECK(analysed.slowest_rank() == job.truth.slow_rank);
}

TEST_CASE("recording ways: a missing rank is named") {
  const CudaJob job = testing::simulate_cuda_job(recorded_spec(CudaFaultKind::kCompute));
  std::vector<RankActivity> activities = activities_of_events(events_of_job(job));
  activities.erase(activities.begin() + 1);
  const auto analysed = testing::analyse_ranks(std::move(activities));
  REQUIRE_FALSE(analysed);
  CHECK(analysed.error().message().starts_with("only 3 of 4 ranks have traces (missing: 1); all are needed"));
}

TEST_CASE("recording ways: Seq that is shifted by one on a rank is refused with two ranks and the step") {
  CudaJobSpec spec = recorded_spec(CudaFaultKind::kNone);
  spec.trace.has_seq = true;
  const CudaJob job = testing::simulate_cuda_job(spec);
  std::vector<KinetoEvents> events = events_of_job(job);
  for (KinetoCommArgs& args : events[2].comm_args) args.sequence += args.sequence >= 0 ? 1 : 0;
  const auto analysed = testing::analyse_ranks(activities_of_events(std::move(events)));
  REQUIRE_FALSE(analysed);
  const std::string error = analysed.error().message();
  CHECK(error.starts_with("step "));
  CHECK(error.find("rank 2 launches") != std::string::npos);
  CHECK(error.find("Seq ") != std::string::npos);
  CHECK(error.ends_with("the ranks do not run the same program"));
}

TEST_CASE("recording ways: groups of 31 ranks are matched though their lists are cut after 30") {
  CudaJobSpec spec;
  spec.ranks = 31;
  spec.layers = 2;
  spec.kernels = 2;
  spec.steps = 4;
  spec.fault = {CudaFaultKind::kCompute, 30, 0.3};
  const CudaJob job = testing::simulate_cuda_job(spec);
  check_slow_rank(analysed_or_fail(testing::activities_of(job)), job);
}

TEST_CASE("recording ways: a slow data loader is found with a file per step, too") {
  // The host comes late, and its device with it: only the other ranks' waiting tells, for the files begin
  // with the step.
  const CudaJob job = testing::simulate_cuda_job(recorded_spec(CudaFaultKind::kLoader));
  check_slow_rank(analysed_or_fail(activities_of_events(events_of_job(job))), job);
  std::vector<RankActivity> activities;
  for (const KinetoEvents& all : events_of_job(job)) {
    for (std::size_t step = 0; step < all.steps.size(); ++step)
      activities.push_back(activity_of_events(of_one_step(all, step)));
  }
  const AnalysedRanks a = analysed_or_fail(std::move(activities));
  for (std::size_t i = 0; i < a.analysis.whatif.base_s.size(); ++i)
    MESSAGE(fmt::format("step {}: recorded {:.1f} ms, replayed {:.1f} ms", i,
                        1e3 * a.analysis.whatif.base_s[i], 1e3 * a.analysis.whatif.nodelay.span_s[i]));
  MESSAGE(fmt::format("truth: {:.1f} ms healthy {:.1f} ms", 1e3 * job.truth.step_s[2],
                      1e3 * job.truth.healthy_step_s));
  check_slow_rank(a, job);
}

}  // namespace
}  // namespace goodput
