// One layer of a cluster on the device, forwards and backwards, step by step: the local ranks of a transport,
// whichever it is.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "gpu/exchange.h"
#include "gpu/test/cases.h"
#include "gpu/test/device_vector.h"

namespace goodput::gpu::testing {

template <class T>
struct LayerGradient {
  std::vector<std::vector<T>> dx;             // tokens x hidden
  std::vector<std::vector<float>> d_weights;  // tokens x top_k
};

// Vectors of vectors are by local rank, in the transport's order.
template <class T>
class DeviceLayer {
 public:
  using RowsByRank = std::vector<std::vector<T>>;
  using WeightsByRank = std::vector<std::vector<float>>;

  // The transport must outlive it.
  DeviceLayer(const DispatchCase& dispatch, const Cluster& cluster, Transport& transport)
      : shape_(dispatch.shape), transport_(transport) {
    const HostTables placement = make_placement(shape_.ranks, shape_.experts, cluster.placement.replicas);
    for (const std::int32_t rank : transport.local_ranks()) {
      const std::vector<std::int32_t>& expert_of = cluster.expert_of[static_cast<std::size_t>(rank)];
      dispatchers_.emplace_back(shape_, placement, rank, dispatch.path);
      tokens_.push_back(static_cast<std::int32_t>(expert_of.size()) / shape_.top_k);
      expert_of_.push_back(upload(expert_of));
    }
  }

  void make_schedule() {
    for (std::size_t i = 0; i < dispatchers_.size(); ++i) {
      dispatchers_[i].count(expert_of_[i].data(), tokens_[i], stream_.get());
    }
    gather_counts(dispatchers_, transport_, stream_.get());
    for (Dispatcher& dispatcher : dispatchers_) {
      dispatcher.schedule(stream_.get());
      dispatcher.place(stream_.get());
    }
    counts_ = wait_host_counts(dispatchers_, transport_);
    for (const HostCounts& counts : counts_) {
      send_.push_back(poisoned<T>(elements(counts.rows_sent)));
      received_.push_back(poisoned<T>(elements(counts.rows_received)));
      grouped_.push_back(poisoned<T>(elements(counts.rows_received)));
    }
  }

  [[nodiscard]] const std::vector<HostCounts>& counts() const { return counts_; }

  // What the experts are given.
  RowsByRank forth(const RowsByRank& x) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const DeviceBuffer<T> d_x = upload(x[i]);
      dispatchers_[i].scatter(d_x.data(), send_[i].data(), stream_.get());
      stream_.synchronize();
    }
    to_experts();
    transport_.synchronize(stream_.get());
    return download_all(grouped_);
  }

  void replace_grouped(const RowsByRank& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) grouped_[i] = upload(rows[i]);
  }

  RowsByRank back(const WeightsByRank& weights) {
    from_experts();
    transport_.synchronize(stream_.get());
    RowsByRank y;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const DeviceBuffer<float> d_weights = upload(weights[i]);
      DeviceBuffer<T> d_y = poisoned<T>(elements(tokens_[i]));
      dispatchers_[i].combine(send_[i].data(), d_weights.data(), d_y.data(), stream_.get());
      y.push_back(download(d_y.data(), d_y.size()));
    }
    return y;
  }

  // Where every expert passes on what it is given.
  LayerGradient<T> gradient(const RowsByRank& dy, const WeightsByRank& weights) {
    LayerGradient<T> result;
    for (std::size_t i = 0; i < dy.size(); ++i) {
      const DeviceBuffer<T> d_dy = upload(dy[i]);
      const DeviceBuffer<float> d_weights = upload(weights[i]);
      DeviceBuffer<T> d_send = poisoned<T>(send_[i].size());
      DeviceBuffer<float> d_d_weights = poisoned<float>(weights[i].size());
      dispatchers_[i].combine_backward(d_dy.data(), send_[i].data(), d_weights.data(), d_send.data(),
                                       d_d_weights.data(), stream_.get());
      stream_.synchronize();
      send_[i] = std::move(d_send);
      result.d_weights.push_back(download(d_d_weights.data(), d_d_weights.size()));
    }
    to_experts();
    from_experts();
    transport_.synchronize(stream_.get());
    for (std::size_t i = 0; i < dy.size(); ++i) {
      DeviceBuffer<T> d_dx = poisoned<T>(dy[i].size());
      dispatchers_[i].scatter_backward(send_[i].data(), d_dx.data(), stream_.get());
      result.dx.push_back(download(d_dx.data(), d_dx.size()));
    }
    return result;
  }

 private:
  template <class Element>
  using Buffers = std::vector<DeviceBuffer<Element>>;

  static std::vector<const void*> sources(const Buffers<T>& buffers) {
    std::vector<const void*> pointers;
    for (const auto& buffer : buffers) pointers.push_back(buffer.data());
    return pointers;
  }

  static std::vector<void*> targets(Buffers<T>& buffers) {
    std::vector<void*> pointers;
    for (auto& buffer : buffers) pointers.push_back(buffer.data());
    return pointers;
  }

  static RowsByRank download_all(const Buffers<T>& buffers) {
    RowsByRank rows;
    for (const auto& buffer : buffers) rows.push_back(download(buffer.data(), buffer.size()));
    return rows;
  }

  [[nodiscard]] std::size_t elements(std::int64_t rows) const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(shape_.hidden);
  }

  void exchange(Direction direction, const Buffers<T>& from, Buffers<T>& to) {
    exchange_rows(direction, counts_, sources(from), targets(to),
                  static_cast<std::size_t>(shape_.row_bytes()), transport_, stream_.get());
  }

  void to_experts() {
    exchange(Direction::kToExperts, send_, received_);
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
    exchange(Direction::kBack, received_, send_);
  }

  DispatchShape shape_;
  Transport& transport_;
  Stream stream_;
  std::vector<Dispatcher> dispatchers_;
  std::vector<std::int32_t> tokens_;
  Buffers<std::int32_t> expert_of_;
  std::vector<HostCounts> counts_;
  Buffers<T> send_;
  Buffers<T> received_;
  Buffers<T> grouped_;
};

}  // namespace goodput::gpu::testing
