#include "gpu/calibrate/block_timer.h"

#include <doctest/doctest.h>

#include "gpu/calibrate/stopping_rule.h"

namespace goodput::gpu::calibrate {
namespace {

// Two parts that set bytes; `runs` counts the calls of the first.
Block two_parts(const std::shared_ptr<DeviceBuffer<unsigned char>>& bytes, int* runs, bool can_be_captured) {
  const auto set = [bytes](cudaStream_t stream, int value) {
    GOODPUT_CUDA(cudaMemsetAsync(bytes->data(), value, bytes->size(), stream));
  };
  Block block;
  block.parts = {{"first", false,
                  [=](cudaStream_t stream) {
                    ++*runs;
                    // Nobody may wait for a stream that captures.
                    if (!can_be_captured) GOODPUT_CUDA(cudaStreamSynchronize(stream));
                    set(stream, 1);
                  }},
                 {"second", true, [=](cudaStream_t stream) { set(stream, 2); }}};
  block.fill = [set](cudaStream_t stream) { set(stream, 0); };
  block.count_wrong = [](const Stream&) { return std::uint64_t{3}; };
  block.source = "two memsets";
  return block;
}

PointMeasurer block_measurer() {
  return {rule_for(Sizes::kQuick), {bench::steady_clock(), 1e18}};
}

TEST_CASE("block timer: a visit has the time of the block and of its parts, and what the check found") {
  int runs = 0;
  const auto bytes = std::make_shared<DeviceBuffer<unsigned char>>(64);
  PointMeasurer measurer = block_measurer();
  const Block block = two_parts(bytes, &runs, true);
  const Visit visit = visit_block(block, measurer, Checking::kYes);
  CHECK(visit.nwrong == 3U);
  CHECK(visit.source == "two memsets");
  REQUIRE(visit.parts.size() == 2);
  CHECK(visit.parts[0].part == "first");
  CHECK_FALSE(visit.parts[0].is_backward);
  CHECK(visit.parts[1].is_backward);
  CHECK(visit.parts[0].median_us >= 0);
  CHECK(download(bytes->data(), 1)[0] == 2);
  CHECK_FALSE(visit_block(block, measurer, Checking::kNo).nwrong);
}

TEST_CASE("block timer: a block that cannot be captured is launched one part after another") {
  int runs = 0;
  const auto bytes = std::make_shared<DeviceBuffer<unsigned char>>(64);
  PointMeasurer measurer = block_measurer();
  const Visit visit = visit_block(two_parts(bytes, &runs, false), measurer, Checking::kNo);
  CHECK(visit.source == "two memsets, launched one by one");
  CHECK(visit.us.count == 3);
  CHECK(visit.parts.size() == 2);
}

TEST_CASE("block timer: a deadline ends it between two runs") {
  int runs = 0;
  int looks = 0;
  const auto bytes = std::make_shared<DeviceBuffer<unsigned char>>(64);
  const bench::Deadline soon{[&] { return static_cast<double>(looks++); }, 3};
  PointMeasurer measurer(rule_for(Sizes::kQuick), soon);
  CHECK_THROWS_AS(static_cast<void>(visit_block(two_parts(bytes, &runs, true), measurer, Checking::kNo)),
                  bench::DeadlinePassed);
  CHECK(cudaStreamQuery(measurer.stream().get()) == cudaSuccess);
}

TEST_CASE(
    "block timer: without a pause, times are of one run of the block, and parts are those of the hot one") {
  int runs = 0;
  const auto bytes = std::make_shared<DeviceBuffer<unsigned char>>(64);
  PointMeasurer measurer = block_measurer();
  const Visit visit = visit_block_sustained(
      two_parts(bytes, &runs, true), {0.03, 0.01, 2}, [] { return std::optional<double>(600); }, measurer,
      Checking::kYes);
  CHECK(visit.nwrong == 3U);
  CHECK(visit.power_w == 600.0);
  CHECK(visit.source == "two memsets, back to back");
  CHECK(visit.parts.size() == 2);
  CHECK(visit.us.median * runs < 1e6);
}

}  // namespace
}  // namespace goodput::gpu::calibrate
