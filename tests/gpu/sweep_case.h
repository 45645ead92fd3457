// What the tests of sweeps share: their points visited on the emulator, their times summed.
#pragma once

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "gpu/calibrate/stopping_rule.h"
#include "gpu/calibrate/sweep.h"

namespace goodput::gpu::calibrate {

// Over two rounds.
inline double two_rounds_s(const Sweep& sweep) {
  double sum = 0;
  for (const SweepPoint& point : sweep.points) sum += 2 * point.estimate_s;
  return sum;
}

inline void check_names_differ(const Sweep& sweep) {
  std::set<std::string> names;
  for (const SweepPoint& point : sweep.points) {
    INFO(text_of(point.key));
    CHECK(names.insert(text_of(point.key)).second);
    CHECK(point.estimate_s > 0);
  }
}

// With a check, then without one: right results, samples, and nothing left allocated.
inline void visit_all(const Sweep& sweep) {
  PointMeasurer measurer(rule_for(Sizes::kQuick), {bench::steady_clock(), 1e18});
  const std::size_t allocations = simt::live_allocations();
  for (const SweepPoint& point : sweep.points) {
    INFO(text_of(point.key));
    const Visit checked = point.visit(measurer, Checking::kYes);
    CHECK(checked.nwrong == 0U);
    CHECK(checked.us.count >= 1);
    CHECK_FALSE(checked.source.empty());
    const Visit again = point.visit(measurer, Checking::kNo);
    CHECK_FALSE(again.nwrong);
    CHECK(simt::live_allocations() == allocations);
  }
}

}  // namespace goodput::gpu::calibrate
