// The fields of a table of a calibration file.
#include "models/cost/calibration.h"
#include "models/cost/measured_times.h"
#include "models/cost/stated_values.h"

namespace goodput {
namespace {

using config::Fields;
using config::Need;
using measured::check_times;
using measured::joined;
using measured::state_fields;
using measured::time_fields;

constexpr std::int64_t kMostRanks = 1'000'000;

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

}  // namespace

Fields config_fields(MeasuredParams& params) {
  return joined(shape_fields(params), manner_fields(params));
}

Fields config_fields(MeasuredPoint& point) {
  return joined(joined(size_fields(point), time_fields(point)),
                state_fields(point.sm_mhz, point.power_w, point.is_unsteady));
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

Status config_finish(MeasuredPoint& point) {
  return check_times(point);
}
}  // namespace goodput
