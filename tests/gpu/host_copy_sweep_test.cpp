#include <doctest/doctest.h>

#include <algorithm>

#include "gpu/calibrate/copy_sweep.h"
#include "gpu/calibrate/stopping_rule.h"
#include "tests/simt/runtime_api.h"

namespace goodput::gpu::calibrate {
namespace {

const SweepPoint& point_named(const Sweep& sweep, const std::string& name) {
  const auto point = std::find_if(sweep.points.begin(), sweep.points.end(),
                                  [&](const SweepPoint& one) { return text_of(one.key) == name; });
  REQUIRE(point != sweep.points.end());
  return *point;
}

// The sweep keeps the host's end of its copies; only page-locked memory is CUDA's.
TEST_CASE("host copies: memory is page-locked where the table says so, and nowhere else") {
  PointMeasurer measurer(rule_for(Sizes::kQuick), {bench::steady_clock(), 1e18});
  const std::size_t own = simt::live_allocations();
  for (const std::string way : {"d2h", "h2d"}) {
    const Sweep sweep = host_copy_sweep(Sizes::kQuick);
    CHECK(point_named(sweep, way + " bytes=65536").visit(measurer, Checking::kYes).nwrong == 0U);
    CHECK(simt::live_allocations() == own);
    CHECK(point_named(sweep, way + " pinned bytes=65536").visit(measurer, Checking::kYes).nwrong == 0U);
    CHECK(simt::live_allocations() == own + 1);
  }
}

}  // namespace
}  // namespace goodput::gpu::calibrate
