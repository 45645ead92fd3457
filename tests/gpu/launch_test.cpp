#include <doctest/doctest.h>

#include "gpu/kernel.cuh"

namespace goodput::gpu {
namespace {

void take_items(int /*items*/) {}

}  // namespace

TEST_CASE("gpu launch: a grid is what fits on the device, and no more than there is work for") {
  // The emulated device holds two blocks of any kernel on a multiprocessor.
  CHECK(resident_blocks(take_items, 1'000'000, 256, 0, 132) == 264);
  CHECK(resident_blocks(take_items, 264, 256, 0, 132) == 264);
  CHECK(resident_blocks(take_items, 5, 256, 0, 132) == 5);
  CHECK(resident_blocks(take_items, 0, 256, 0, 132) == 0);
}

}  // namespace goodput::gpu
