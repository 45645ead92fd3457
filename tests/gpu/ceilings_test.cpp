#include "gpu/bench/ceilings.h"

#include <doctest/doctest.h>

#include "gpu/bench/copy_kernels.h"
#include "gpu/bench/payload.h"

namespace goodput::gpu::bench {
namespace {

constexpr std::int64_t kPlaceBytes = 24'576;

StoppingRule few_samples() {
  StoppingRule rule;
  rule.warm_up_ms = rule.batch_ms = 0;
  rule.least = rule.most = 1;
  return rule;
}

Measurer short_measurer() {
  return {few_samples(), {steady_clock(), 1e18}};
}

TEST_CASE("bench ceilings: every kernel of every flow moves all places, from all places") {
  const Measurer measurer = short_measurer();
  for (const CopyFlow& flow : {CopyFlow{1, 1}, CopyFlow{1, 8}, CopyFlow{8, 1}}) {
    INFO(name_of(flow));
    const CopyCeiling ceiling = measure_copy_ceiling(flow, kPlaceBytes, {4, true}, measurer);
    CHECK(ceiling.tried.size() >= 4);
    CHECK(ceiling.nwrong() == 0);
    CHECK(ceiling.best() != nullptr);
    CHECK(ceiling.moved_bytes() == kPlaceBytes * (flow.reads + flow.writes));
  }
}

TEST_CASE("bench ceilings: a device without bulk copies gets kernels without them") {
  const auto count = [](bool has_bulk_copy) {
    return copy_kernels({nullptr, nullptr, 512, 512, {1, 8}}, {4, has_bulk_copy}).size();
  };
  CHECK(count(true) == count(false) + 1);
}

TEST_CASE("bench ceilings: the best is measured again, by its name") {
  const Measurer measurer = short_measurer();
  CopyCeiling ceiling = measure_copy_ceiling({1, 8}, kPlaceBytes, {4, true}, measurer);
  CHECK_FALSE(ceiling.drift());
  ceiling.again = measure_again(ceiling, {4, true}, measurer);
  REQUIRE(ceiling.again);
  CHECK(ceiling.again->kernel == ceiling.best()->kernel);
  CHECK(ceiling.again->nwrong == 0);

  CopyCeiling nothing_right = ceiling;
  for (CopyRate& rate : nothing_right.tried) rate.nwrong = 1;
  CHECK_FALSE(measure_again(nothing_right, {4, true}, measurer));
  CHECK_FALSE(nothing_right.drift());
}

TEST_CASE("bench ceilings: the drift is the rate at the end against that of the best at first") {
  const Measurement none{};
  CopyCeiling ceiling{{1, 1}, kPlaceBytes, {}, {}};
  ceiling.tried = {{"slow", none, 3000, 0}, {"best", none, 4000, 0}, {"wrong", none, 9000, 5}};
  ceiling.again = CopyRate{"best", none, 3900, 0};
  CHECK(*ceiling.drift() == doctest::Approx(-0.025));
  CHECK(ceiling.nwrong() == 5);
  ceiling.again->nwrong = 2;
  CHECK(ceiling.nwrong() == 7);
}

TEST_CASE("bench payload: the exclusive or of payloads is what was written, element by element") {
  const Stream stream;
  std::vector<Bf16> data(100);
  for (std::int64_t i = 0; i < 100; ++i) {
    unsigned bits = 0;
    for (std::uint64_t seed = 7; seed < 10; ++seed) bits ^= payload(seed, i).bits;
    data[static_cast<std::size_t>(i)].bits = static_cast<std::uint16_t>(bits);
  }
  data[42].bits ^= 1;
  const DeviceBuffer<Bf16> device = upload(data);
  CHECK(count_wrong_payload(device.data(), 100, {7, 3}, stream) == 1);
  CHECK(count_wrong_payload(device.data(), 100, {7, 2}, stream) > 50);
}

}  // namespace
}  // namespace goodput::gpu::bench
