#include "gpu/calibrate/dense_block.h"

#include <algorithm>
#include <memory>

#include "gpu/calibrate/block_norm.h"
#include "gpu/calibrate/block_products.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr std::int64_t kBf16Bytes = 2;

// T x h, T x q and so on, and the weights.
struct DenseMemory {
  explicit DenseMemory(const DenseShape& s)
      : x0(rows(s, s.hidden)),
        normed_1(rows(s, s.hidden)),
        qkv(rows(s, s.qkv())),
        attended(rows(s, s.attended())),
        attention_output(rows(s, s.hidden)),
        x1(rows(s, s.hidden)),
        normed_2(rows(s, s.hidden)),
        gate_up(rows(s, 2 * s.ffn_of_rank())),
        activated(rows(s, 2 * s.ffn_of_rank())),
        down(rows(s, s.hidden)),
        x2(rows(s, s.hidden)),
        dy(rows(s, s.hidden)),
        d_activated(rows(s, s.ffn_of_rank())),
        d_gate_up(rows(s, 2 * s.ffn_of_rank())),
        d_normed(rows(s, s.hidden)),
        dx(rows(s, s.hidden)),
        dx1(rows(s, s.hidden)),
        d_attended(rows(s, s.attended())),
        d_qkv(rows(s, s.qkv())),
        w_qkv(size(s.qkv() * s.hidden)),
        w_attention_output(size(s.hidden * s.attended())),
        w_gate_up(size(2 * s.ffn_of_rank() * s.hidden)),
        w_down(size(s.hidden * s.ffn_of_rank())),
        d_weights(std::max({w_qkv.size(), w_attention_output.size(), w_gate_up.size(), w_down.size()})) {}

  static std::size_t size(std::int64_t elements) { return static_cast<std::size_t>(elements); }
  static std::size_t rows(const DenseShape& s, std::int64_t width) { return size(s.tokens * width); }

  DeviceBuffer<Bf16> x0, normed_1, qkv, attended, attention_output, x1, normed_2, gate_up, activated, down,
      x2;
  DeviceBuffer<Bf16> dy, d_activated, d_gate_up, d_normed, dx, dx1, d_attended, d_qkv;
  DeviceBuffer<Bf16> w_qkv, w_attention_output, w_gate_up, w_down;
  DeviceBuffer<Bf16> d_weights;  // of one product at a time
};

// A linear layer y = x W^T with its gradients.
struct DenseLinear {
  DenseLinear(std::int64_t t, std::int64_t n, std::int64_t k, DenseMemory& m, Bf16* x, Bf16* w, Bf16* y,
              Bf16* d_y, Bf16* d_x)
      : forward({t, n, k}, {x, w, y}),
        dgrad({t, k, n, MatrixType::kBf16, OperandLayout::kDgrad}, {d_y, w, d_x}),
        wgrad({n, k, t, MatrixType::kBf16, OperandLayout::kWgrad}, {d_y, x, m.d_weights.data()}) {}

  [[nodiscard]] std::uint64_t count_wrong_results(const Stream& stream) const {
    return forward.count_wrong_results(stream) + dgrad.count_wrong_results(stream) +
           wgrad.count_wrong_results(stream);
  }

  BlockProduct forward;
  BlockProduct dgrad;
  BlockProduct wgrad;
};

class DenseLayer {
 public:
  explicit DenseLayer(const DenseShape& s)
      : shape_(s),
        m_(s),
        norm_1_(s.tokens, s.hidden, {m_.x0.data(), m_.normed_1.data(), m_.d_normed.data(), m_.dx.data()}),
        norm_2_(s.tokens, s.hidden, {m_.x1.data(), m_.normed_2.data(), m_.d_normed.data(), m_.dx.data()}),
        qkv_(s.tokens, s.qkv(), s.hidden, m_, m_.normed_1.data(), m_.w_qkv.data(), m_.qkv.data(),
             m_.d_qkv.data(), m_.d_normed.data()),
        attention_output_(s.tokens, s.hidden, s.attended(), m_, m_.attended.data(),
                          m_.w_attention_output.data(), m_.attention_output.data(), m_.dx1.data(),
                          m_.d_attended.data()),
        gate_up_(s.tokens, 2 * s.ffn_of_rank(), s.hidden, m_, m_.normed_2.data(), m_.w_gate_up.data(),
                 m_.gate_up.data(), m_.d_gate_up.data(), m_.d_normed.data()),
        down_(s.tokens, s.hidden, s.ffn_of_rank(), m_, m_.activated.data(), m_.w_down.data(), m_.down.data(),
              m_.dy.data(), m_.d_activated.data()) {}

  void fill(cudaStream_t stream) {
    std::uint64_t seed = 1;
    for (DeviceBuffer<Bf16>* const buffer : {&m_.x0, &m_.attended, &m_.dy, &m_.d_qkv, &m_.w_qkv,
                                             &m_.w_attention_output, &m_.w_gate_up, &m_.w_down}) {
      fill_matrix(buffer->data(), MatrixType::kBf16, static_cast<std::int64_t>(buffer->size()),
                  MatrixFill::kDense, seed++, stream);
    }
    norm_1_.fill(stream);
    norm_2_.fill(stream);
  }

  [[nodiscard]] std::uint64_t count_wrong(const Stream& stream) {
    return qkv_.count_wrong_results(stream) + attention_output_.count_wrong_results(stream) +
           gate_up_.count_wrong_results(stream) + down_.count_wrong_results(stream) +
           norm_1_.count_wrong(stream) + norm_2_.count_wrong(stream);
  }
  [[nodiscard]] std::string source() const { return qkv_.forward.source(); }

  void norm_1(cudaStream_t s) { norm_1_.forward(s); }
  void norm_2(cudaStream_t s) { norm_2_.forward(s); }
  void norm_1_backward(cudaStream_t s) { norm_1_.backward(s); }
  void norm_2_backward(cudaStream_t s) { norm_2_.backward(s); }
  void residual_1(cudaStream_t s) { add(m_.x0, m_.attention_output, m_.x1, s); }
  void residual_2(cudaStream_t s) { add(m_.x1, m_.down, m_.x2, s); }
  void residual_1_backward(cudaStream_t s) { add(m_.dx, m_.dx1, m_.x2, s); }
  void residual_2_backward(cudaStream_t s) { add(m_.dx, m_.dy, m_.dx1, s); }
  void activate(cudaStream_t s) { move_bytes(m_.gate_up.data(), m_.activated.data(), 3 * ffn_bytes(), s); }
  // Reads gate and up and the gradient, writes the gradients of gate and up.
  void activate_backward(cudaStream_t s) {
    move_bytes(m_.gate_up.data(), m_.d_gate_up.data(), 4 * ffn_bytes(), s);
    move_bytes(m_.d_activated.data(), m_.activated.data() + shape_.tokens * shape_.ffn_of_rank(), ffn_bytes(),
               s);
  }
  [[nodiscard]] const DenseLinear& qkv() const { return qkv_; }
  [[nodiscard]] const DenseLinear& attention_output() const { return attention_output_; }
  [[nodiscard]] const DenseLinear& gate_up() const { return gate_up_; }
  [[nodiscard]] const DenseLinear& down() const { return down_; }

 private:
  [[nodiscard]] std::int64_t ffn_bytes() const { return shape_.tokens * shape_.ffn_of_rank() * kBf16Bytes; }
  // As many bytes as to = a + b.
  void add(const DeviceBuffer<Bf16>& a, const DeviceBuffer<Bf16>& b, DeviceBuffer<Bf16>& to, cudaStream_t s) {
    const std::int64_t bytes = shape_.tokens * shape_.hidden * kBf16Bytes;
    move_bytes(a.data(), to.data(), 2 * bytes, s);
    move_bytes(b.data(), m_.d_normed.data(), bytes, s);  // nobody reads that any more
  }

  DenseShape shape_;
  DenseMemory m_;
  BlockNorm norm_1_;
  BlockNorm norm_2_;
  DenseLinear qkv_;
  DenseLinear attention_output_;
  DenseLinear gate_up_;
  DenseLinear down_;
};

std::vector<BlockPart> dense_parts(const std::shared_ptr<DenseLayer>& layer) {
  std::vector<BlockPart> parts;
  const auto step = [&](const char* name, bool is_backward, void (DenseLayer::*run)(cudaStream_t)) {
    parts.push_back({name, is_backward, [layer, run](cudaStream_t stream) { (layer.get()->*run)(stream); }});
  };
  using Linear = const DenseLinear& (DenseLayer::*)() const;
  const auto product = [&](const char* name, Linear of) {
    parts.push_back({name, false, [layer, of](cudaStream_t s) { (layer.get()->*of)().forward.run(s); }});
  };
  const auto gradients = [&](const std::string& name, Linear of) {
    parts.push_back(
        {name + "_dgrad", true, [layer, of](cudaStream_t s) { (layer.get()->*of)().dgrad.run(s); }});
    parts.push_back(
        {name + "_wgrad", true, [layer, of](cudaStream_t s) { (layer.get()->*of)().wgrad.run(s); }});
  };
  step("norm_1", false, &DenseLayer::norm_1);
  product("qkv", &DenseLayer::qkv);
  product("attention_output", &DenseLayer::attention_output);
  step("residual_1", false, &DenseLayer::residual_1);
  step("norm_2", false, &DenseLayer::norm_2);
  product("gate_up", &DenseLayer::gate_up);
  step("activation", false, &DenseLayer::activate);
  product("down", &DenseLayer::down);
  step("residual_2", false, &DenseLayer::residual_2);

  gradients("down", &DenseLayer::down);
  step("activation", true, &DenseLayer::activate_backward);
  gradients("gate_up", &DenseLayer::gate_up);
  step("norm_2", true, &DenseLayer::norm_2_backward);
  step("residual_2", true, &DenseLayer::residual_2_backward);
  gradients("attention_output", &DenseLayer::attention_output);
  gradients("qkv", &DenseLayer::qkv);
  step("norm_1", true, &DenseLayer::norm_1_backward);
  step("residual_1", true, &DenseLayer::residual_1_backward);
  return parts;
}

}  // namespace

double DenseShape::flops() const {
  const std::int64_t weights = qkv() * hidden + hidden * attended() + 3 * ffn_of_rank() * hidden;
  return 6.0 * static_cast<double>(tokens) * static_cast<double>(weights);
}

Block make_dense_block(const DenseShape& shape) {
  const auto layer = std::make_shared<DenseLayer>(shape);
  return {dense_parts(layer),
          [layer](cudaStream_t stream) { layer->fill(stream); },
          [layer](const Stream& stream) { return layer->count_wrong(stream); },
          {},
          layer->source() + "; norm_kernels.h; cudaMemcpyAsync for elementwise traffic"};
}

}  // namespace goodput::gpu::calibrate
