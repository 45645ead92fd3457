// release-too: it is about what the optimizer of the compiler that users have makes of it.
#include "sim/base/float32.h"

#include <doctest/doctest.h>

namespace goodput {
namespace {

struct Pair {
  double start;
  double end;
};
// Neighbours, rounded and stored together: what gcc 12's SLP vectorizer gets wrong.
[[gnu::noinline]] Pair rounded(Pair pair) {
  return {round_to_float32(pair.start), round_to_float32(pair.end)};
}

}  // namespace

TEST_CASE("float32: the rounding of neighbouring values survives the optimizer") {
  const Pair pair = rounded({0.1, 0.3});
  CHECK(pair.start == 0x1.99999ap-4);  // 0.1 lies below it
  CHECK(pair.end == 0x1.333334p-2);
}

}  // namespace goodput
