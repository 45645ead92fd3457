// A whole cluster of virtual ranks through one layer, forwards and backwards, over the virtual transport.
#include <algorithm>
#include <cstdint>

#include "gpu/test/device_layer.h"
#include "gpu/virtual_transport.h"

namespace goodput::gpu::testing {
namespace {

std::size_t size(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

// The expert: another factor for every expert, so that a row at the wrong one shows.
template <class T>
void apply_expert(std::int32_t expert, T* row, int hidden) {
  for (int i = 0; i < hidden; ++i)
    row[i] = from_float<T>(to_float(row[i]) * static_cast<float>(1 + expert % 5));
}

template <class T>
std::string differ_by_rank(const std::string& what, const std::vector<std::vector<T>>& actual,
                           const std::vector<std::vector<T>>& expected) {
  for (std::size_t rank = 0; rank < expected.size(); ++rank) {
    const std::string wrong = differ(what + " of rank " + std::to_string(rank), actual[rank], expected[rank]);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

// Small integers, of which sums and products are exact in every element type, so that the gradient of x is
// the sum of its kept choices' weights times dy, wherever the rows have been meanwhile.
template <class T>
std::vector<std::vector<T>> expected_gradient(const std::vector<std::vector<T>>& dy,
                                              const std::vector<std::vector<float>>& weights,
                                              const reference::ClusterRun<T>& run, int top_k, int hidden) {
  std::vector<std::vector<T>> dx = dy;
  for (std::size_t rank = 0; rank < dy.size(); ++rank) {
    for (std::size_t i = 0; i < dy[rank].size(); ++i) {
      const std::size_t first = i / size(hidden) * size(top_k);
      float sum = 0;
      for (std::size_t slot = first; slot < first + size(top_k); ++slot) {
        if (run.positions[rank][slot] >= 0) sum += weights[rank][slot];
      }
      dx[rank][i] = from_float<T>(0.0F + sum * to_float(dy[rank][i]));  // sums begin with +0: none is -0
    }
  }
  return dx;
}

template <class T>
std::string wrong_cluster(const DispatchCase& dispatch) {
  const DispatchShape& shape = dispatch.shape;
  const Cluster cluster = make_cluster(dispatch);
  Random random(dispatch.seed);
  reference::ClusterInput<T> input{shape.top_k, shape.hidden, shape.policy, cluster.expert_of, {}, {}};
  for (const auto& expert_of : cluster.expert_of) {
    input.x.push_back(random_rows<T>(expert_of.size() / size(shape.top_k) * size(shape.hidden), random));
    input.weights.push_back(random_rows<float>(expert_of.size(), random));
  }
  const auto expert = [&](const reference::Entry& where, T* row) {
    apply_expert(where.expert, row, shape.hidden);
  };
  const reference::ClusterRun<T> run = reference::emulate_cluster<T>(cluster.placement, input, expert);

  VirtualTransport transport(shape.ranks);
  DeviceLayer<T> device(dispatch, cluster, transport);
  device.make_schedule();
  std::vector<std::vector<T>> grouped = device.forth(input.x);
  std::string wrong = differ_by_rank("rows for the experts", grouped, run.grouped);
  if (!wrong.empty()) return wrong;
  for (std::size_t rank = 0; rank < grouped.size(); ++rank) {
    const reference::RankLayout& layout = run.layouts[rank];
    for (std::size_t e = 0; e < layout.experts_here.size(); ++e) {
      const std::size_t ranks = size(shape.ranks);
      for (auto row = layout.group_offsets[e * ranks]; row < layout.group_offsets[(e + 1) * ranks]; ++row) {
        apply_expert(layout.experts_here[e], grouped[rank].data() + size(row) * size(shape.hidden),
                     shape.hidden);
      }
    }
  }
  device.replace_grouped(grouped);
  wrong = differ_by_rank("outputs", device.back(input.weights), run.y);
  if (!wrong.empty()) return wrong;

  for (auto& weights : input.weights) {
    for (float& weight : weights) weight = static_cast<float>(random.below(4));
  }
  std::vector<std::vector<T>> dy = input.x;
  for (auto& rows : dy) {
    for (T& element : rows) element = from_float<T>(static_cast<float>(random.below(5) - 2));
  }
  return differ_by_rank("gradients", device.gradient(dy, input.weights).dx,
                        expected_gradient(dy, input.weights, run, shape.top_k, shape.hidden));
}

std::string wrong_cluster_of(const DispatchCase& dispatch) {
  switch (dispatch.shape.element) {
    case ElementType::kBf16:
      return wrong_cluster<Bf16>(dispatch);
    case ElementType::kFp16:
      return wrong_cluster<Fp16>(dispatch);
    case ElementType::kFp32:
      return wrong_cluster<float>(dispatch);
  }
  return "unknown element type";
}

}  // namespace

// The grid, with few tokens where there are many ranks.
std::vector<Test> cluster_tests(Size size) {
  const std::int32_t most_slots = size == Size::kSmall ? 6'000 : 600'000;
  const std::int32_t most_ranks = size == Size::kSmall ? 64 : kMaxRanks;
  std::vector<Test> tests;
  for (DispatchCase dispatch : grid(size)) {
    if (dispatch.shape.ranks > most_ranks) continue;
    const std::int32_t most_tokens = most_slots / dispatch.shape.ranks / dispatch.shape.top_k;
    if (dispatch.shape.max_tokens > most_tokens && most_tokens < 40) continue;
    dispatch.shape.max_tokens = std::min(dispatch.shape.max_tokens, most_tokens);
    tests.push_back({"cluster: " + name_of(dispatch), [dispatch] { return wrong_cluster_of(dispatch); }});
  }
  return tests;
}

}  // namespace goodput::gpu::testing
