#include "gpu/calibrate/check_sweep.h"

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "gpu/calibrate/block_timer.h"
#include "gpu/calibrate/dense_block.h"
#include "gpu/calibrate/gemm_case.h"
#include "gpu/calibrate/gemm_families.h"
#include "gpu/calibrate/moe_block.h"

namespace goodput::gpu::calibrate {
namespace {

std::vector<int> smartmoe_loads() {
  return {std::begin(kSmartmoeLoads8), std::end(kSmartmoeLoads8)};
}

// One rank of Mixtral 8x7B that hosts all experts, and one of 8 that host one each; one of 64 of DeepSeek-V3.
std::vector<MoeShape> moe_shapes(Sizes sizes) {
  if (sizes == Sizes::kQuick) {
    return {{"", 16, 64, 32, true, 2, 1, 8, "smartmoe-like", smartmoe_loads()},
            {"", 8, 64, 32, true, 2, 8, 1, "linear", linear_loads(8)}};
  }
  return {{"mixtral-8x7b", 4096, 4096, 14336, true, 2, 1, 8, "smartmoe-like", smartmoe_loads()},
          {"mixtral-8x7b", 4096, 4096, 14336, true, 2, 8, 1, "smartmoe-like", smartmoe_loads()},
          {"deepseek-v3", 4096, 7168, 2048, true, 8, 64, 4, "linear", linear_loads(256)}};
}

// Lazarus, Fig. 10a: a layer of 8 experts, hidden 1024. The paper leaves the rest open: 8 ranks of 8192
// tokens, ffn 4096, one expert a token, and for replicas 8 slots a rank.
std::vector<MoeShape> ratio_shapes(Sizes sizes) {
  const bool quick = sizes == Sizes::kQuick;
  std::vector<MoeShape> shapes;
  for (const int ratio : quick ? std::vector<int>{8} : std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}) {
    MoeShape shape{"", 8192, 1024, 4096, false, 1, 8, 8, "ratio", ratio_loads(ratio), ratio};
    if (quick) shape.tokens = 8, shape.hidden = 64, shape.ffn = 32;
    shapes.push_back(shape);
    shape.dispatch = MoeDispatch::kPadded;
    shape.slots = 1;
    shapes.push_back(shape);
  }
  return shapes;
}

std::vector<DenseShape> dense_shapes(Sizes sizes) {
  if (sizes == Sizes::kQuick) return {{"", 8, 64, 32, 4, 2, 8, 2}};
  std::vector<DenseShape> shapes;
  for (const std::int64_t tokens : {4096, 8192}) {
    shapes.push_back({"llama3-8b", tokens, 4096, 14336, 32, 8, 128, 1});
    shapes.push_back({"llama3-70b", tokens, 8192, 28672, 64, 8, 128, 4});
  }
  return shapes;
}

void add_text(const char* name, const std::string& text, std::vector<Param>& params) {
  if (!text.empty()) params.push_back({name, text});
}

PointKey key_of(const DenseShape& shape, bool is_sustained) {
  std::vector<Param> params;
  add_text("model", shape.model, params);
  params.insert(params.end(), {{"hidden", shape.hidden},
                               {"ffn", shape.ffn},
                               {"heads", shape.heads},
                               {"kv_heads", shape.kv_heads},
                               {"head_dim", shape.head_dim},
                               {"tp", shape.tp},
                               {"dtype", std::string("bf16")}});
  if (is_sustained) params.push_back({"sustained", true});
  return {{"dense_layer", std::move(params)}, "tokens", shape.tokens};
}

PointKey key_of(const MoeShape& shape, bool is_sustained) {
  std::vector<Param> params;
  add_text("model", shape.model, params);
  params.insert(params.end(), {{"hidden", shape.hidden},
                               {"ffn", shape.ffn},
                               {"experts", shape.experts()},
                               {"top_k", shape.top_k},
                               {"ranks", shape.ranks},
                               {"slots", shape.slots},
                               {"loads", shape.loads_name},
                               {"dispatch", std::string(name_of(shape.dispatch))},
                               {"dtype", std::string("bf16")}});
  if (shape.is_gated) params.push_back({"gated", true});
  if (shape.load_ratio > 0) params.push_back({"load_ratio", shape.load_ratio});
  if (is_sustained) params.push_back({"sustained", true});
  return {{"moe_layer", std::move(params)}, "tokens", shape.tokens};
}

Block make_block(const DenseShape& shape, const Stream&) {
  return make_dense_block(shape);
}
Block make_block(const MoeShape& shape, const Stream& stream) {
  return make_moe_block(shape, stream);
}

// Estimated microseconds on an H200: the products, and a tenth more for everything else.
double block_us(const DenseShape& shape) {
  return 1.1 * product_estimate_us(shape.flops(), 0, MatrixType::kBf16);
}
double block_us(const MoeShape& shape) {
  return 1.3 * product_estimate_us(moe_flops(shape), 0, MatrixType::kBf16);
}

// Memory is had, filled and given back; a check, over two rounds, looks at some 50 million elements a stage.
constexpr double kSetUpS = 0.15;
double check_s(const DenseShape&) {
  return 0.1;
}
double check_s(const MoeShape& shape) {
  return 0.1 + 6 * 5e-9 *
                   static_cast<double>(
                       std::min<std::int64_t>(50'000'000, shape.tokens * shape.top_k * shape.hidden));
}

template <class Shape>
SweepPoint cold_point(const Shape& shape) {
  // Parts are timed for half as long as a visit, three runs each.
  const double parts_s = std::max(0.13, 15 * block_us(shape) / 1e6);
  return {key_of(shape, false),
          visit_estimate_s(block_us(shape), 0) + parts_s + kSetUpS + check_s(shape) / 2,
          [shape](PointMeasurer& measurer, Checking checking) {
            return visit_block(make_block(shape, measurer.stream()), measurer, checking);
          },
          {}};
}

template <class Shape>
SweepPoint sustained_point(const Shape& shape, const SustainedRule& rule, const PowerReader& power_w) {
  return {key_of(shape, true),
          rule.seconds + rule.counted_seconds + kSetUpS + check_s(shape),
          [shape, rule, power_w](PointMeasurer& measurer, Checking checking) {
            return visit_block_sustained(make_block(shape, measurer.stream()), rule, power_w, measurer,
                                         checking);
          },
          {}};
}

}  // namespace

Sweep check_sweep(Sizes sizes) {
  Sweep sweep{"checks", {}, {}};
  for (const MoeShape& shape : moe_shapes(sizes)) sweep.points.push_back(cold_point(shape));
  for (const MoeShape& shape : ratio_shapes(sizes)) sweep.points.push_back(cold_point(shape));
  for (const DenseShape& shape : dense_shapes(sizes)) sweep.points.push_back(cold_point(shape));
  return sweep;
}

Sweep sustained_check_sweep(Sizes sizes, const PowerReader& power_w) {
  SustainedRule rule{10, 1, 20};
  if (sizes == Sizes::kQuick) rule = {0.03, 0.01, 2};
  Sweep sweep{"checks_sustained", {}, {}, 1};
  for (const MoeShape& shape : moe_shapes(sizes))
    sweep.points.push_back(sustained_point(shape, rule, power_w));
  for (const DenseShape& shape : dense_shapes(sizes))
    sweep.points.push_back(sustained_point(shape, rule, power_w));
  return sweep;
}

}  // namespace goodput::gpu::calibrate
