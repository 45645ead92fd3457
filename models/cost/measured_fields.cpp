// The fields of a table of a calibration file, and of a step that ran.
#include <fmt/format.h>

#include <algorithm>

#include "models/cost/calibration.h"
#include "models/cost/stated_values.h"
#include "sim/base/json.h"

namespace goodput {
namespace {

using config::Fields;
using config::Need;
using config::Place;
using config::Value;

constexpr std::int64_t kMostRanks = 1'000'000;

Value no_wrong_results() {
  const auto read = [](const Json& from, const Place& place) -> Status {
    if (from == 0) return Ok{};
    return place.error(
        fmt::format("must be 0, not {}: the times of a point with wrong results are not valid", from.dump()));
  };
  return {"0", read, {}, {}};
}

Fields joined(Fields first, const Fields& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Fields shape_fields(MeasuredParams& params) {
  using stated::count;
  return {
      {"ranks", Need::kOptional, count(params.ranks, kMostRanks),
       "number of GPUs that take part in the operation"},
      {"per_node", Need::kOptional, count(params.per_node, kMostRanks),
       "number of these GPUs per node (default: all in one node)"},
      {"n", Need::kOptional, count(params.n), "number of columns of a GEMM's output"},
      {"k", Need::kOptional, count(params.k), "inner dimension of a GEMM"},
      {"experts", Need::kOptional, count(params.experts), "number of experts"},
      {"top_k", Need::kOptional, count(params.top_k), "number of experts per token"},
      {"hidden", Need::kOptional, count(params.hidden), "number of values per token (hidden size)"},
      {"heads", Need::kOptional, count(params.heads), "number of query heads"},
      {"kv_heads", Need::kOptional, count(params.kv_heads),
       "number of key and value heads (default: same as \"heads\")"},
      {"head_dim", Need::kOptional, count(params.head_dim), "number of values per attention head"},
      {"dtype", Need::kOptional, stated::choice(params.dtype, kMeasuredTypeNames), "data type"},
  };
}

// What tells one way to do an op from another.
Fields manner_fields(MeasuredParams& params) {
  using stated::choice;
  using stated::flag;
  return {
      {"kind", Need::kOptional, choice(params.norm, kMeasuredNormNames), "type of normalization"},
      {"causal", Need::kOptional, flag(params.is_causal),
       "whether each token attends to earlier tokens only"},
      {"backward", Need::kOptional, flag(params.is_backward),
       "whether this is the backward pass (default: forward pass)"},
      {"layout", Need::kOptional, choice(params.layout, kMeasuredLayoutNames),
       "layout of the GEMM: that of the input gradient or of the weight gradient (default: that of the "
       "forward pass)"},
      {"loads", Need::kOptional, stated::text(params.loads),
       "routing model that sets the expert loads (default: equal loads)"},
      {"policy", Need::kOptional, choice(params.policy, kMeasuredPolicyNames),
       "how the dispatcher divides tokens among replicas"},
      {"sustained", Need::kOptional, flag(params.is_sustained),
       "whether calls ran back to back until the GPU clock settled"},
      {"pinned", Need::kOptional, flag(params.is_pinned), "whether the host memory is pinned"},
      {"beside_gemm", Need::kOptional, flag(params.is_beside_gemm), "whether a GEMM ran at the same time"},
      {"beside_copy", Need::kOptional, choice(params.beside_copy, kMeasuredCopyNames),
       "type of copy that ran at the same time"},
  };
}

Fields size_fields(MeasuredPoint& point) {
  using stated::count;
  return {
      {"bytes", Need::kOptional, count(point.bytes), "number of bytes in a collective or copy"},
      {"tokens", Need::kOptional, count(point.tokens),
       "number of tokens in norms, attention and the dispatcher's stages"},
      {"m", Need::kOptional, count(point.m), "number of rows of a GEMM's output"},
  };
}

// Of a point and of a check alike.
template <typename Timed>
Fields time_fields(Timed& timed) {
  using stated::positive;
  return {
      {"median_us", Need::kRequired, config::number(timed.median_us, config::above(0)),
       "median time of one op or step"},
      {"p05_us", Need::kOptional, positive(timed.p05_us), "5th percentile of the times"},
      {"p95_us", Need::kOptional, positive(timed.p95_us), "95th percentile of the times"},
      {"min_us", Need::kOptional, positive(timed.min_us), "shortest time"},
      {"n", Need::kOptional, stated::count(timed.samples), "number of times that were measured"},
      {"cv", Need::kOptional, stated::not_negative(timed.cv),
       "standard deviation of the times divided by their mean"},
  };
}

template <typename Timed>
Status check_times(const Timed& timed) {
  const double least = std::max(timed.min_us, timed.p05_us);
  if (least > timed.median_us)
    return Error{fmt::format("must be at least p05_us and min_us ({1}), not {0}", timed.median_us, least),
                 {.pointer = "/median_us"}};
  if (timed.p95_us > 0 && timed.p95_us < timed.median_us)
    return Error{fmt::format("must be at least median_us ({1}), not {0}", timed.p95_us, timed.median_us),
                 {.pointer = "/p95_us"}};
  return Ok{};
}

}  // namespace

Fields config_fields(MeasuredParams& params) {
  return joined(shape_fields(params), manner_fields(params));
}

Fields config_fields(MeasuredPoint& point) {
  return joined(
      joined(size_fields(point), time_fields(point)),
      {
          {"nwrong", Need::kOptional, no_wrong_results(), "number of wrong values in the result"},
          {"sm_mhz", Need::kOptional, stated::positive(point.sm_mhz), "SM clock during the measurement"},
          {"power_w", Need::kOptional, stated::positive(point.power_w), "GPU power during the measurement"},
          {"unsteady", Need::kOptional, stated::flag(point.is_unsteady),
           "whether repeated rounds of measurements gave different times"},
      });
}

Fields config_fields(MeasuredFit& fit) {
  return {
      {"lo", Need::kRequired, config::number(fit.lo, config::at_least(0)),
       "smallest size that the line is fitted to"},
      {"hi", Need::kRequired, config::number(fit.hi, config::above(0)),
       "largest size that the line is fitted to"},
      {"alpha_us", Need::kRequired, config::number(fit.alpha_us, config::at_least(0)),
       "time at size 0 according to the fitted line"},
      {"GBps_bus", Need::kRequired, config::number(fit.bus_gb_per_s, config::above(0)),
       "bus bandwidth of the fitted line, as defined by nccl-tests"},
      {"max_rel", Need::kOptional, stated::not_negative(fit.max_rel),
       "largest relative error of the fitted line"},
  };
}

Fields config_fields(MeasuredCheck& check) {
  return joined(
      joined({{"name", Need::kRequired, config::text(check.name), "name of the training step"},
              {"source", Need::kOptional, stated::text(check.source), "program that ran the training step"}},
             time_fields(check)),
      {config::tier(check.tier)});
}

Status config_finish(MeasuredPoint& point) {
  return check_times(point);
}
Status config_finish(MeasuredCheck& check) {
  return check_times(check);
}

}  // namespace goodput
