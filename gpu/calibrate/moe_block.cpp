#include "gpu/calibrate/moe_block.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "gpu/calibrate/block_products.h"
#include "gpu/calibrate/token_path.h"

namespace goodput::gpu::calibrate {
namespace {

std::int64_t sum_of(const std::vector<std::int64_t>& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

struct MoeMemory {
  MoeMemory(const MoeShape& s, std::int64_t rows, std::int64_t hosted)
      : x(of(s.tokens, s.hidden)),
        y(of(s.tokens, s.hidden)),
        dy(of(s.tokens, s.hidden)),
        dx(of(s.tokens, s.hidden)),
        logits(of(s.tokens, s.experts())),
        d_logits(of(s.tokens, s.experts())),
        to_experts(of(rows, s.hidden)),
        up(of(rows, s.up())),
        activated(of(rows, s.up())),
        from_experts(of(rows, s.hidden)),
        d_from_experts(of(rows, s.hidden)),
        d_activated(of(rows, s.ffn)),
        d_up(of(rows, s.up())),
        d_to_experts(of(rows, s.hidden)),
        w_router(of(s.experts(), s.hidden)),
        w_up(of(hosted * s.up(), s.hidden)),
        w_down(of(hosted * s.hidden, s.ffn)),
        d_weights(std::max(w_up.size(), w_router.size())) {}

  static std::size_t of(std::int64_t rows, std::int64_t width) {
    return static_cast<std::size_t>(rows * width);
  }

  DeviceBuffer<Bf16> x, y, dy, dx, logits, d_logits;
  DeviceBuffer<Bf16> to_experts, up, activated, from_experts;
  DeviceBuffer<Bf16> d_from_experts, d_activated, d_up, d_to_experts;
  DeviceBuffer<Bf16> w_router, w_up, w_down;
  DeviceBuffer<Bf16> d_weights;  // of one product at a time; those of experts' down are no larger than up's
};

GemmShape router_shape(const MoeShape& s, OperandLayout layout) {
  const std::int64_t experts = s.experts();
  switch (layout) {
    case OperandLayout::kForward:
      return {s.tokens, experts, s.hidden};
    case OperandLayout::kDgrad:
      return {s.tokens, s.hidden, experts, MatrixType::kBf16, layout};
    case OperandLayout::kWgrad:
      break;
  }
  return {experts, s.hidden, s.tokens, MatrixType::kBf16, layout};
}

// The experts' two linear layers with their gradients, and the router's.
class MoeProducts {
 public:
  MoeProducts(const MoeShape& s, const std::vector<std::int64_t>& rows, MoeMemory& m)
      : router(router_shape(s, OperandLayout::kForward), {m.x.data(), m.w_router.data(), m.logits.data()}),
        router_dgrad(router_shape(s, OperandLayout::kDgrad),
                     {m.d_logits.data(), m.w_router.data(), m.y.data()}),
        router_wgrad(router_shape(s, OperandLayout::kWgrad),
                     {m.d_logits.data(), m.x.data(), m.d_weights.data()}),
        up({s.up(), s.hidden, rows}, {m.to_experts.data(), m.w_up.data(), m.up.data()}),
        up_dgrad({s.up(), s.hidden, rows, OperandLayout::kDgrad},
                 {m.d_up.data(), m.w_up.data(), m.d_to_experts.data()}),
        up_wgrad({s.up(), s.hidden, rows, OperandLayout::kWgrad},
                 {m.d_up.data(), m.to_experts.data(), m.d_weights.data()}),
        down({s.hidden, s.ffn, rows}, {m.activated.data(), m.w_down.data(), m.from_experts.data()}),
        down_dgrad({s.hidden, s.ffn, rows, OperandLayout::kDgrad},
                   {m.d_from_experts.data(), m.w_down.data(), m.d_activated.data()}),
        down_wgrad({s.hidden, s.ffn, rows, OperandLayout::kWgrad},
                   {m.d_from_experts.data(), m.activated.data(), m.d_weights.data()}) {}

  [[nodiscard]] std::uint64_t count_wrong_results(const Stream& stream) const {
    std::uint64_t wrong = 0;
    for (const BlockProduct* const product : {&router, &router_dgrad, &router_wgrad})
      wrong += product->count_wrong_results(stream);
    for (const BlockGroups* const groups : {&up, &up_dgrad, &up_wgrad, &down, &down_dgrad, &down_wgrad})
      wrong += groups->count_wrong_results(stream);
    return wrong;
  }

  BlockProduct router, router_dgrad, router_wgrad;
  BlockGroups up, up_dgrad, up_wgrad, down, down_dgrad, down_wgrad;
};

class MoeLayer {
 public:
  MoeLayer(const MoeShape& s, std::vector<std::int64_t> rows, const Stream& stream)
      : shape_(s),
        expert_rows_(std::move(rows)),
        rows_(sum_of(expert_rows_)),
        memory_(s, rows_, static_cast<std::int64_t>(expert_rows_.size())),
        path_(make_path(stream)),
        products_(s, expert_rows_, memory_) {}

  [[nodiscard]] const std::vector<std::int64_t>& expert_rows() const { return expert_rows_; }
  [[nodiscard]] TokenPath& path() { return *path_; }
  [[nodiscard]] const MoeProducts& products() const { return products_; }

  void fill(cudaStream_t stream) {
    std::uint64_t seed = 1;
    for (DeviceBuffer<Bf16>* const buffer :
         {&memory_.x, &memory_.dy, &memory_.d_logits, &memory_.w_router, &memory_.w_up, &memory_.w_down}) {
      fill_matrix(buffer->data(), MatrixType::kBf16, static_cast<std::int64_t>(buffer->size()),
                  MatrixFill::kDense, seed++, stream);
    }
    path_->fill(stream);
  }
  [[nodiscard]] std::uint64_t count_wrong(const Stream& stream) {
    return path_->count_wrong(stream) + products_.count_wrong_results(stream);
  }

  // SwiGLU reads two values and writes one, others read one and write one.
  void activate(cudaStream_t stream) {
    move_bytes(memory_.up.data(), memory_.activated.data(), (shape_.is_gated ? 3 : 2) * ffn_bytes(), stream);
  }
  // Reads what the forward pass read and a gradient, writes a gradient of each.
  void activate_backward(cudaStream_t stream) {
    move_bytes(memory_.up.data(), memory_.d_up.data(), (shape_.is_gated ? 4 : 2) * ffn_bytes(), stream);
    move_bytes(memory_.d_activated.data(), memory_.up.data(), ffn_bytes(), stream);
  }

 private:
  [[nodiscard]] std::int64_t ffn_bytes() const {
    return rows_ * shape_.ffn * static_cast<std::int64_t>(sizeof(Bf16));
  }
  [[nodiscard]] std::unique_ptr<TokenPath> make_path(const Stream& stream) {
    MoeMemory& m = memory_;
    const PathRows rows{m.x.data(),
                        m.y.data(),
                        m.dy.data(),
                        m.dx.data(),
                        m.to_experts.data(),
                        m.from_experts.data(),
                        m.d_from_experts.data(),
                        m.d_to_experts.data()};
    return shape_.dispatch == MoeDispatch::kPadded ? make_padded_path(shape_, rows, stream)
                                                   : make_flexible_path(shape_, rows, stream);
  }

  MoeShape shape_;
  std::vector<std::int64_t> expert_rows_;
  std::int64_t rows_;
  MoeMemory memory_;
  std::unique_ptr<TokenPath> path_;
  MoeProducts products_;
};

void append(std::vector<BlockPart> more, const std::shared_ptr<MoeLayer>& layer,
            std::vector<BlockPart>& parts) {
  for (BlockPart& part : more) {
    parts.push_back({std::move(part.name), part.is_backward,
                     [layer, run = std::move(part.run)](cudaStream_t stream) { run(stream); }});
  }
}

std::vector<BlockPart> moe_parts(const std::shared_ptr<MoeLayer>& layer) {
  std::vector<BlockPart> parts;
  const auto product = [&](const char* name, bool is_backward, const auto& of) {
    parts.push_back({name, is_backward, [layer, of = &of](cudaStream_t stream) { of->run(stream); }});
  };
  const MoeProducts& products = layer->products();
  product("router", false, products.router);
  append(layer->path().parts_to_experts(), layer, parts);
  product("experts_up", false, products.up);
  parts.push_back({"activation", false, [layer](cudaStream_t stream) { layer->activate(stream); }});
  product("experts_down", false, products.down);
  append(layer->path().parts_back(), layer, parts);

  append(layer->path().backward_parts_to_experts(), layer, parts);
  product("experts_down_dgrad", true, products.down_dgrad);
  product("experts_down_wgrad", true, products.down_wgrad);
  parts.push_back({"activation", true, [layer](cudaStream_t stream) { layer->activate_backward(stream); }});
  product("experts_up_dgrad", true, products.up_dgrad);
  product("experts_up_wgrad", true, products.up_wgrad);
  append(layer->path().backward_parts_back(), layer, parts);
  product("router_dgrad", true, products.router_dgrad);
  product("router_wgrad", true, products.router_wgrad);
  return parts;
}

}  // namespace

double moe_flops(const MoeShape& shape) {
  const double of_rows = static_cast<double>(sum_of(shape.busiest_rows())) *
                         static_cast<double>((shape.up() + shape.ffn) * shape.hidden);
  const double of_router =
      static_cast<double>(shape.tokens * shape.experts()) * static_cast<double>(shape.hidden);
  return 6 * (of_rows + of_router);
}

Block make_moe_block(const MoeShape& shape, const Stream& stream) {
  const auto layer = std::make_shared<MoeLayer>(shape, shape.busiest_rows(), stream);
  const std::string path =
      shape.dispatch == MoeDispatch::kPadded ? "padded dispatch" : "goodput's dispatcher";
  return {moe_parts(layer), [layer](cudaStream_t queue) { layer->fill(queue); },
          [layer](const Stream& queue) { return layer->count_wrong(queue); }, layer->expert_rows(),
          path + "; " + layer->products().up.source() +
              "; cudaMemcpyAsync for the all-to-all and elementwise traffic"};
}

}  // namespace goodput::gpu::calibrate
