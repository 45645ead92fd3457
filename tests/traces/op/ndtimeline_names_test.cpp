#include "traces/op/ndtimeline_names.h"

#include <doctest/doctest.h>

#include "sim/ops/op_type.h"

namespace goodput {
namespace {

TEST_CASE("metric names: the name of every op type means that op type") {
  for (std::size_t i = 0; i < kNdtimelineTypeCount; ++i)
    CHECK(find_metric(kNdtimelineTypes[i].name) == static_cast<OpType>(i));
}

TEST_CASE("metric names: the spellings of other releases mean the same op types") {
  CHECK(find_metric("unshard-all-gather") == OpType::kParamsAllGather);  // veScale
  CHECK(find_metric("params-all-gather-nonoverlapping") ==
        OpType::kParamsAllGather);                                           // the local timeline handler
  CHECK(find_metric("grad-reduce-scatter") == OpType::kGradsReduceScatter);  // veScale
  CHECK(find_metric("grads-reduce-scatter-nonoverlapping") == OpType::kGradsReduceScatter);
  CHECK(find_metric("grad-all-reduce") == OpType::kGradsReduceScatter);  // veScale, no distributed optimizer
  CHECK(find_metric("grads-all-reduce") ==
        OpType::kGradsReduceScatter);  // Megatron-LM, no distributed optimizer
  CHECK(find_metric("non-tensor-parallel-grads-all-reduce") == OpType::kLayernormGradsAllReduce);
}

TEST_CASE("metric names: case and underscores make no difference") {
  CHECK(find_metric("forward_compute") == OpType::kForwardCompute);
  CHECK(find_metric("Grads_Reduce_Scatter") == OpType::kGradsReduceScatter);
  CHECK(is_ignored_metric("optimizer_inner_step"));
}

TEST_CASE("metric names: parts of an op and spans around ops are known and ignored") {
  for (const auto* name : {"optimizer-inner-step", "tp-allreduce", "forward-backward", "special"}) {
    CHECK(is_ignored_metric(name));
    CHECK(find_metric(name) == std::nullopt);
  }
  CHECK_FALSE(is_ignored_metric("optimizer"));
}

TEST_CASE("metric names: a misspelt name gets the nearest one suggested") {
  CHECK(find_metric("forwrad-compute") == std::nullopt);
  CHECK(unknown_metric("forwrad-compute") ==
        R"(metric "forwrad-compute" is unknown; did you mean "forward-compute"?)");
  CHECK(unknown_metric("Optimiser") == R"(metric "Optimiser" is unknown; did you mean "optimizer"?)");
}

TEST_CASE("metric names: a name like no other is called unknown") {
  CHECK(unknown_metric("MatMul") ==
        R"(metric "MatMul" is unknown; it is not an NDTimeline metric of a training step)");
  CHECK(unknown_metric(std::string(5000, 'x')).size() < 200);
}

TEST_CASE("metric names: a name that may be a backward pass is refused, not left out") {
  for (const auto* name : {"my-backward", "Weight_Grad", "wgrad"}) {
    CHECK(find_metric(name) == std::nullopt);
    CHECK(is_unsupported_metric(name));
    CHECK(unknown_metric(name).find(
              "may be a backward pass; rename it to backward-compute or backward-weight") !=
          std::string::npos);
  }
  CHECK_FALSE(is_unsupported_metric("optimizer-copy"));
  CHECK(find_metric("backward-wgrad-compute") == OpType::kBackwardWeight);
}

TEST_CASE("metric names: ops that the dependency model cannot place are refused with the reason") {
  CHECK(find_metric("forward-send-backward-recv") == std::nullopt);
  CHECK(unknown_metric("forward-send-backward-recv") ==
        "metric \"forward-send-backward-recv\" moves several tensors in one op, which the dependency model "
        "does not support; record every send and receive as a separate metric");
  CHECK(unknown_metric("cross-mesh-recv") ==
        R"(metric "cross-mesh-recv" has no direction; record forward-recv or backward-recv)");
}

}  // namespace
}  // namespace goodput
