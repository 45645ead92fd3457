// Which measured steps the range of a step time rests on.
#include "models/stack/step_range.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace goodput {
namespace {

constexpr StepFamily kFsdpH100 = {Parallelism::kFsdp, GpuGeneration::kH100, StepPrecision::k16Bit};

std::vector<double> ratios(int count) {  // 1.01, 1.02, ...
  std::vector<double> result;
  for (int i = 1; i <= count; ++i) result.push_back(1 + 0.01 * i);
  return result;
}

}  // namespace

TEST_CASE("step range: it leaves out a tenth of the rows at either end") {
  SoftwareStack stack;
  stack.left_out = {{kFsdpH100, ratios(19)}};
  // k = (19 + 1) / 10 = 2: from the second to the second to last, and the prediction itself.
  const StepRange range = range_for(stack, kFsdpH100);
  CHECK(range.low == 1);
  CHECK(range.high == doctest::Approx(1.18));
  CHECK(range.rows == 19);
  CHECK(range.basis == "19 measured steps of FSDP on H100 in 16 bit");
  stack.left_out = {{kFsdpH100, {0.9, 0.7, 0.8, 0.6, 0.95, 0.85}}};
  CHECK(range_for(stack, kFsdpH100).low == doctest::Approx(0.6));
  CHECK(range_for(stack, kFsdpH100).high == 1);
}

TEST_CASE("step range: fewer than five rows of the family take in rows that are less alike") {
  SoftwareStack stack;
  stack.left_out = {{kFsdpH100, {1.5}},
                    {{Parallelism::kFsdp, GpuGeneration::kH100, StepPrecision::kFp8}, ratios(9)}};
  const StepRange range = range_for(stack, kFsdpH100);
  CHECK(range.basis == "10 measured steps of FSDP on H100, but none in this precision");
  CHECK(range.high == 1.5);  // the row of the family is always within
  CHECK(range_for(stack, {Parallelism::kFsdp, GpuGeneration::kA100, StepPrecision::k16Bit}).basis ==
        "10 measured steps of FSDP, but none on such GPUs");
  CHECK(range_for(stack, {Parallelism::kMoe, GpuGeneration::kOther, StepPrecision::k16Bit}).basis ==
        "10 measured steps, but none of this kind");
}

TEST_CASE("step range: without five rows at all it is assumed, and holds those there are") {
  SoftwareStack stack;
  StepRange range = range_for(stack, kFsdpH100);
  CHECK(range.high == doctest::Approx(1.3));
  CHECK(range.low == doctest::Approx(1 / 1.3));
  CHECK(range.rows == 0);
  CHECK(range.basis == "assumed, because there are too few measured steps");
  stack.left_out = {{kFsdpH100, {0.5, 0.6}}};
  range = range_for(stack, kFsdpH100);
  CHECK(range.low == 0.5);
  CHECK(range.high == doctest::Approx(1.3));
}

TEST_CASE("step range: of normal errors about 80 % fall into the range of 25 others") {
  std::mt19937 random(7);
  std::normal_distribution<double> error(0, 0.1);
  int inside = 0;
  constexpr int kDraws = 4000;
  for (int draw = 0; draw < kDraws; ++draw) {
    SoftwareStack stack;
    stack.left_out = {{kFsdpH100, {}}};
    for (int row = 0; row < 25; ++row) stack.left_out[0].ratios.push_back(std::exp(error(random)));
    const StepRange range = range_for(stack, kFsdpH100);
    const double next = std::exp(error(random));
    inside += next >= range.low && next <= range.high ? 1 : 0;
  }
  // k = floor(26 / 10) = 2 leaves out 2 of 26 places at either end: 1 - 4 / 26 = 0.846; 4000 draws are within
  // 0.02.
  CHECK(inside / double{kDraws} == doctest::Approx(22.0 / 26).epsilon(0.025));
}

TEST_CASE("step family: GPUs belong to a generation by their names") {
  CHECK(generation_of("A100 SXM 40GB") == GpuGeneration::kA100);
  CHECK(generation_of("NVIDIA H200") == GpuGeneration::kH100);
  CHECK(generation_of("GB300 279GB") == GpuGeneration::kBlackwell);
  CHECK(generation_of("MI300X 192GB") == GpuGeneration::kOther);
  CHECK(to_string({Parallelism::kMoe, GpuGeneration::kOther, StepPrecision::kFp8}) ==
        "MoE on other GPUs in fp8");
}

}  // namespace goodput
