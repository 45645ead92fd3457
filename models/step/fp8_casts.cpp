#include "models/step/fp8_casts.h"

namespace goodput {
namespace {

constexpr double kRead = 2;                              // 16 bits
constexpr double kBothLayouts = 2;                       // a byte each
constexpr double kMxScales = kBothLayouts / 32;          // a byte for 32 values
constexpr double kBlockScales = kBothLayouts * 4 / 128;  // four for 128

}  // namespace

Fp8Casts::Fp8Casts(const ParallelPlan& plan) {
  if (!plan.has_fp8()) return;
  switch (plan.fp8_recipe) {
    case Fp8Recipe::kFree:
      return;
    case Fp8Recipe::kDelayed:  // the cast records the largest value
      bytes = kRead + kBothLayouts;
      kernels = 1;
      break;
    case Fp8Recipe::kCurrent:  // three kernels: find the largest value, compute the scale, cast
      bytes = kRead + kRead + kBothLayouts;
      kernels = 3;
      break;
    case Fp8Recipe::kBlock:
      bytes = kRead + kBothLayouts + kBlockScales;
      kernels = 1;
      break;
    case Fp8Recipe::kMx:
      bytes = kRead + kBothLayouts + kMxScales;
      kernels = 1;
      break;
  }
  in_front_of_gathers = plan.sequence_parallel && plan.tp > 1;
  weights_each_pass = plan.zero == 3 && !plan.stays_gathered();
}

double Fp8Casts::gathered_bytes(double tp) const {
  if (!in_front_of_gathers || bytes == 0) return bytes;
  constexpr double kTranspose = 2;  // reads a byte, writes one
  return (bytes - 1) / tp + kTranspose;
}

}  // namespace goodput
