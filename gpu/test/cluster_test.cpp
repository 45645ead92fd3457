// A whole cluster of virtual ranks through one layer, forwards and backwards, over the virtual transport.
#include <algorithm>

#include "gpu/exchange.h"
#include "gpu/test/cases.h"
#include "gpu/test/device_vector.h"
#include "gpu/virtual_transport.h"

namespace goodput::gpu::testing {
namespace {

std::size_t size(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

// A device buffer a rank.
template <class T>
using Buffers = std::vector<DeviceBuffer<T>>;

template <class T>
std::vector<const void*> sources(const Buffers<T>& buffers) {
  std::vector<const void*> pointers;
  for (const auto& buffer : buffers) pointers.push_back(buffer.data());
  return pointers;
}

template <class T>
std::vector<void*> targets(Buffers<T>& buffers) {
  std::vector<void*> pointers;
  for (auto& buffer : buffers) pointers.push_back(buffer.data());
  return pointers;
}

// The expert: another factor for every expert, so that a row at the wrong one shows.
template <class T>
void apply_expert(std::int32_t expert, T* row, int hidden) {
  for (int i = 0; i < hidden; ++i)
    row[i] = from_float<T>(to_float(row[i]) * static_cast<float>(1 + expert % 5));
}

// A layer of all ranks on the device, step by step.
template <class T>
class DeviceCluster {
 public:
  DeviceCluster(const DispatchCase& dispatch, const Cluster& cluster)
      : shape_(dispatch.shape), cluster_(cluster), transport_(shape_.ranks) {
    const HostTables placement = make_placement(shape_.ranks, shape_.experts, cluster.placement.replicas);
    for (std::int32_t rank = 0; rank < shape_.ranks; ++rank) {
      dispatchers_.emplace_back(shape_, placement, rank, dispatch.path);
      expert_of_.push_back(upload(cluster.expert_of[size(rank)]));
    }
  }

  void make_schedule() {
    for (std::size_t i = 0; i < dispatchers_.size(); ++i) {
      dispatchers_[i].count(expert_of_[i].data(), tokens(i), stream_.get());
    }
    gather_counts(dispatchers_, transport_, stream_.get());
    for (Dispatcher& dispatcher : dispatchers_) {
      dispatcher.schedule(stream_.get());
      dispatcher.place(stream_.get());
    }
    for (Dispatcher& dispatcher : dispatchers_) counts_.push_back(dispatcher.wait_host_counts());
    for (const HostCounts& counts : counts_) {
      send_.push_back(poisoned<T>(elements(counts.rows_sent)));
      received_.push_back(poisoned<T>(elements(counts.rows_received)));
      grouped_.push_back(poisoned<T>(elements(counts.rows_received)));
    }
  }

  // What the experts are given, by rank.
  std::vector<std::vector<T>> forth(const std::vector<std::vector<T>>& x) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const DeviceBuffer<T> d_x = upload(x[i]);
      dispatchers_[i].scatter(d_x.data(), send_[i].data(), stream_.get());
      stream_.synchronize();
    }
    to_experts();
    std::vector<std::vector<T>> grouped;
    for (const auto& buffer : grouped_) grouped.push_back(download(buffer.data(), buffer.size()));
    return grouped;
  }

  void replace_grouped(const std::vector<std::vector<T>>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) grouped_[i] = upload(rows[i]);
  }

  std::vector<std::vector<T>> back(const std::vector<std::vector<float>>& weights) {
    from_experts();
    std::vector<std::vector<T>> y;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const DeviceBuffer<float> d_weights = upload(weights[i]);
      DeviceBuffer<T> d_y = poisoned<T>(elements(tokens(i)));
      dispatchers_[i].combine(send_[i].data(), d_weights.data(), d_y.data(), stream_.get());
      y.push_back(download(d_y.data(), d_y.size()));
    }
    return y;
  }

  // The gradient of x where every expert passes on what it is given.
  std::vector<std::vector<T>> gradient(const std::vector<std::vector<T>>& dy,
                                       const std::vector<std::vector<float>>& weights) {
    for (std::size_t i = 0; i < dy.size(); ++i) {
      const DeviceBuffer<T> d_dy = upload(dy[i]);
      const DeviceBuffer<float> d_weights = upload(weights[i]);
      DeviceBuffer<T> d_send = poisoned<T>(send_[i].size());
      DeviceBuffer<float> d_d_weights = poisoned<float>(weights[i].size());
      dispatchers_[i].combine_backward(d_dy.data(), send_[i].data(), d_weights.data(), d_send.data(),
                                       d_d_weights.data(), stream_.get());
      stream_.synchronize();
      send_[i] = std::move(d_send);
    }
    to_experts();
    from_experts();
    std::vector<std::vector<T>> dx;
    for (std::size_t i = 0; i < dy.size(); ++i) {
      DeviceBuffer<T> d_dx = poisoned<T>(dy[i].size());
      dispatchers_[i].scatter_backward(send_[i].data(), d_dx.data(), stream_.get());
      dx.push_back(download(d_dx.data(), d_dx.size()));
    }
    return dx;
  }

 private:
  [[nodiscard]] std::int32_t tokens(std::size_t rank) const {
    return static_cast<std::int32_t>(cluster_.expert_of[rank].size()) / shape_.top_k;
  }
  [[nodiscard]] std::size_t elements(std::int64_t rows) const { return size(rows) * size(shape_.hidden); }

  void to_experts() {
    exchange_rows(Direction::kToExperts, counts_, sources(send_), targets(received_),
                  size(shape_.row_bytes()), transport_, stream_.get());
    for (std::size_t i = 0; i < dispatchers_.size(); ++i) {
      dispatchers_[i].regroup(received_[i].data(), grouped_[i].data(), counts_[i].rows_received,
                              stream_.get());
    }
  }

  void from_experts() {
    for (std::size_t i = 0; i < dispatchers_.size(); ++i) {
      dispatchers_[i].ungroup(grouped_[i].data(), received_[i].data(), counts_[i].rows_received,
                              stream_.get());
    }
    exchange_rows(Direction::kBack, counts_, sources(received_), targets(send_), size(shape_.row_bytes()),
                  transport_, stream_.get());
  }

  DispatchShape shape_;
  const Cluster& cluster_;
  VirtualTransport transport_;
  Stream stream_;
  std::vector<Dispatcher> dispatchers_;
  Buffers<std::int32_t> expert_of_;
  std::vector<HostCounts> counts_;
  Buffers<T> send_;
  Buffers<T> received_;
  Buffers<T> grouped_;
};

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

  DeviceCluster<T> device(dispatch, cluster);
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
  return differ_by_rank("gradients", device.gradient(dy, input.weights),
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
  return "no such element type";
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
