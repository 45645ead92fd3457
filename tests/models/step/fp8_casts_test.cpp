// The cost of casting to fp8, by recipe.
#include "models/step/fp8_casts.h"

#include <doctest/doctest.h>

#include <vector>

#include "models/step/block_work.h"
#include "models/step/kernel_sequence.h"
#include "models/step/layer_work.h"
#include "tests/support/random_plan.h"

namespace goodput {
namespace {

using doctest::Approx;
using testing::small_plan;

TrainingPlan fp8_plan(Fp8Recipe recipe) {
  TrainingPlan plan = small_plan();
  plan.parallel.dtype = Dtype::kFp8;
  plan.parallel.fp8_recipe = recipe;
  return plan;
}

double memory_bytes(const std::vector<Kernel>& kernels) {
  double bytes = 0;
  for (const Kernel& kernel : kernels) bytes += kernel.kind == Kernel::Kind::kMemory ? kernel.bytes : 0;
  return bytes;
}

// Of attention and FFN, forwards.
double forward_bytes(const TrainingPlan& plan) {
  const BlockScope scope{plan.model, plan.parallel};
  return memory_bytes(attention_forward(scope)) + memory_bytes(ffn_forward(scope, plan.model.ffn));
}

}  // namespace

TEST_CASE("fp8 casts: a cast reads 16 bits, writes one byte in each of two layouts, and the scales") {
  CHECK(Fp8Casts(fp8_plan(Fp8Recipe::kFree).parallel).bytes == 0);
  CHECK(Fp8Casts(fp8_plan(Fp8Recipe::kDelayed).parallel).bytes == 4);
  CHECK(Fp8Casts(fp8_plan(Fp8Recipe::kCurrent).parallel).bytes == 6);  // finds the largest value first
  CHECK(Fp8Casts(fp8_plan(Fp8Recipe::kBlock).parallel).bytes == 4 + 2 * 4.0 / 128);
  CHECK(Fp8Casts(fp8_plan(Fp8Recipe::kMx).parallel).bytes == 4 + 2 * 1.0 / 32);
  TrainingPlan plan = fp8_plan(Fp8Recipe::kCurrent);
  plan.parallel.dtype = Dtype::kBf16;
  CHECK(Fp8Casts(plan.parallel).bytes == 0);
}

TEST_CASE(
    "fp8 casts: a layer casts the inputs of its four matmuls, and their gradients in the backward pass") {
  // Widths: into queries, keys and values, output, up and down: h + h + h + 4 h; out of them: 3 h + h + 4 h +
  // h.
  const double tokens = 1024, h = 512;
  const double cast =
      forward_bytes(fp8_plan(Fp8Recipe::kDelayed)) - forward_bytes(fp8_plan(Fp8Recipe::kFree));
  CHECK(cast == Approx(4 * tokens * 7 * h));
  const auto backward_bytes = [](const TrainingPlan& plan) {
    const BlockScope scope{plan.model, plan.parallel};
    return memory_bytes(attention_backward(scope, Gradients::kAll)) +
           memory_bytes(ffn_backward(scope, plan.model.ffn, Gradients::kAll));
  };
  CHECK(backward_bytes(fp8_plan(Fp8Recipe::kDelayed)) - backward_bytes(fp8_plan(Fp8Recipe::kFree)) ==
        Approx(4 * tokens * 9 * h));
}

TEST_CASE("fp8 casts: weights are cast in each pass only if ZeRO-3 gathers them in each pass") {
  TrainingPlan plan = fp8_plan(Fp8Recipe::kDelayed);
  const double resident = forward_bytes(plan);
  plan.parallel.zero = 3;
  const double h = 512;
  CHECK(forward_bytes(plan) - resident == Approx(4 * (3 + 1 + 4 + 4) * h * h));
  plan.parallel.reshard_after_forward = Reshard::kNever;
  CHECK(forward_bytes(plan) == resident);
}

TEST_CASE("fp8 casts: rows are cast before tensor-parallel peers gather them, and travel in 8 bits") {
  TrainingPlan plan = fp8_plan(Fp8Recipe::kDelayed);
  plan.parallel.tp = 4;
  plan.parallel.sequence_parallel = true;
  // A quarter is cast into one layout (3 bytes), all of it is transposed (2 bytes).
  CHECK(Fp8Casts(plan.parallel).gathered_bytes(4) == 3.0 / 4 + 2);
  const auto gathered = [&plan] {
    double bytes = 0;
    for (const PartWork& part : LayerWork(plan.model, plan.parallel, 8).forward(0, {})) {
      for (const CollectiveCall& call : part.collectives)
        bytes += call.kind == Collective::kAllGather ? call.bytes : 0;
    }
    return bytes;
  };
  const double in_8_bits = gathered();
  plan.parallel.fp8_recipe = Fp8Recipe::kFree;
  CHECK(gathered() == 2 * in_8_bits);
}

}  // namespace goodput
