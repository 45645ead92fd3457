// A rise is told from noise, with how much it is and since when.
#include "sim/live/slowdown_trend.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sim/base/random.h"
#include "sim/live/incident_book.h"
#include "tests/support/stepped_job.h"

namespace goodput {
namespace {

// Noise of 0.02 on `course(i)`.
template <typename Course>
std::vector<double> noisy(std::size_t count, std::uint64_t seed, Course course) {
  RandomStream random(seed, "trend");
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(course(i) + random.normal(0, 0.02));
  return values;
}

TEST_CASE("trend: a line that rises by 0.1 over noise of 0.02 is told, with its rise") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const auto trend = find_rise(
        noisy(100, seed, [](std::size_t i) { return 1.05 + 0.1 * static_cast<double>(i) / 99; }), 0.05);
    REQUIRE(trend.has_value());
    CHECK(trend->rise == doctest::Approx(0.1).epsilon(0.25));
    CHECK(trend->last == doctest::Approx(1.15).epsilon(0.01));
    CHECK(trend->onset <= 25);
  }
}

TEST_CASE("trend: a step up is told with its height and the step it began with") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const auto trend = find_rise(noisy(100, seed, [](std::size_t i) { return i < 60 ? 1.05 : 1.15; }), 0.05);
    REQUIRE(trend.has_value());
    CHECK(trend->rise == doctest::Approx(0.1).epsilon(0.25));
    CHECK(trend->onset >= 58);
    CHECK(trend->onset <= 62);
  }
}

TEST_CASE("trend: a rise that begins inside the window has its onset there") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const auto trend = find_rise(
        noisy(100, seed,
              [](std::size_t i) { return 1.05 + 0.005 * std::max(0.0, static_cast<double>(i) - 50); }),
        0.05);
    REQUIRE(trend.has_value());
    CHECK(trend->onset >= 38);
    CHECK(trend->onset <= 66);
  }
}

TEST_CASE("trend: what falls, what stays, a few high steps and a small rise are none") {
  const auto find = [](auto course) { return find_rise(noisy(100, 3, course), 0.05); };
  CHECK_FALSE(find([](std::size_t i) { return 1.2 - 0.001 * static_cast<double>(i); }));
  CHECK_FALSE(find([](std::size_t) { return 1.05; }));
  CHECK_FALSE(find([](std::size_t i) { return i % 10 == 9 ? 2.0 : 1.05; }));
  CHECK_FALSE(find([](std::size_t i) { return i >= 95 ? 1.6 : 1.05; }));  // not yet
  CHECK_FALSE(find([](std::size_t i) { return 1.05 + 0.0004 * static_cast<double>(i); }));
  CHECK_FALSE(find_rise({}, 0));
  CHECK_FALSE(find_rise({1, 2, 3}, 0));
  CHECK_FALSE(find_rise(std::vector<double>(100, 1.0), 0));
}

// The worst of 10,000 windows, for noise of several kinds whose deviation is as large as the rise that
// counts.
TEST_CASE("trend: no window of 10,000 steps of noise rises" * doctest::test_suite("slow")) {
  const std::uint64_t seed = 11;
  RandomStream random(seed, "noise");
  MESSAGE("seed " << seed);
  const auto course_of = [&random](const std::string& kind, double& before) {
    if (kind == "normal") return 1.05 + random.normal(0, 0.05);
    if (kind == "heavy") return 1.05 + 0.02 / std::max(0.01, random.uniform());
    before = 0.3 * before + random.normal(0, 0.05);  // each step resembles the one before
    return 1.05 + before;
  };
  for (const std::string kind : {"normal", "heavy", "autocorrelated"}) {
    std::vector<double> window;
    double before = 0;
    int rises = 0;
    for (int step = 0; step < 10'000; ++step) {
      window.push_back(course_of(kind, before));
      if (window.size() > 100) window.erase(window.begin());
      if (window.size() == 100 && find_rise(window, 0.05)) ++rises;
    }
    CHECK_MESSAGE(rises == 0, kind);
  }
}

TEST_CASE(
    "incidents: a job that gets slower opens one incident with the step it began at, which closes when it "
    "no longer does") {
  SteppedJob job(0.01, 5);
  IncidentBook book({{"trend", WorseningRule{.by = 0.05, .steps = 60, .close_steps = 10}}}, {.job = "llama"});
  std::vector<Incident> opened;
  std::vector<Incident> closed;
  const auto take = [&](double slowdown, int steps) {
    for (int i = 0; i < steps; ++i) {
      for (const IncidentChange& change : book.take(job.slow(slowdown + job.normal(0.01))))
        (change.event == IncidentEvent::kOpens ? opened : closed).push_back(change.incident);
    }
  };
  take(1.04, 100);
  CHECK(opened.empty());
  take(1.14, 100);
  REQUIRE(opened.size() == 1);
  CHECK(opened[0].opened_at.step <= 100 + 40);
  const Verdict& verdict = opened[0].verdict;
  CHECK(verdict.sentence.find("This job is getting slower: its slowdown S rose by 0.") == 0);
  CHECK(std::abs(verdict.since_step.value() - 100) <= 1);
  CHECK(verdict.sentence.find(fmt::format(", starting at about step {}.", *verdict.since_step)) !=
        std::string::npos);
  REQUIRE(closed.size() == 1);
  CHECK(book.open().empty());
}

}  // namespace
}  // namespace goodput
