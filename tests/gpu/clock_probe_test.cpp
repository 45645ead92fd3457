#include "gpu/bench/clock_probe.h"

#include <doctest/doctest.h>

namespace goodput::gpu::bench {
namespace {

TEST_CASE("bench clock: cycles over nanoseconds are GHz") {
  CHECK(mhz_of({400'000, 200'000}) == doctest::Approx(2000));
  CHECK(mhz_of({400'000, 1'212'121}) == doctest::Approx(330).epsilon(1e-4));
}

TEST_CASE("bench clock: where no time passed there is no clock") {
  CHECK_FALSE(mhz_of({400'000, 0}));
  CHECK_FALSE(mhz_of({400'000, -32}));
}

TEST_CASE("bench clock: the emulated one is 1 GHz, whatever the order of threads and however often asked") {
  const Stream stream;
  const ClockProbe probe;
  for (const simt::Order order : {simt::Order::kAscending, simt::Order::kDescending, simt::Order::kRandom}) {
    simt::set_schedule({order, 1});
    CHECK(probe.sm_mhz(stream) == 1000.0);
    CHECK(probe.sm_mhz(stream) == 1000.0);
  }
  simt::set_schedule({});
}

}  // namespace
}  // namespace goodput::gpu::bench
