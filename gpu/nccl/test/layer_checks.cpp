// A layer over NCCL, forwards and backwards, against the same layer over the virtual transport, bit for bit.
// Every rank computes the whole cluster on its own device and compares its part.
#include <cstdint>
#include <cstring>
#include <iterator>

#include "gpu/nccl/nccl_transport.h"
#include "gpu/nccl/test/gather_numbers.h"
#include "gpu/nccl/test/nccl_checks.h"
#include "gpu/reference_checksum.h"
#include "gpu/test/device_layer.h"
#include "gpu/virtual_transport.h"

namespace goodput::gpu::testing {
namespace {

// By rank.
template <class T>
struct LayerInput {
  std::vector<std::vector<T>> x;
  std::vector<std::vector<T>> dy;
  std::vector<std::vector<float>> weights;

  [[nodiscard]] LayerInput of(std::int32_t rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return {{x[at]}, {dy[at]}, {weights[at]}};
  }
};

template <class T>
LayerInput<T> random_input(const DispatchCase& dispatch, const Cluster& cluster) {
  Random random(dispatch.seed);
  LayerInput<T> input;
  for (const auto& expert_of : cluster.expert_of) {
    const std::size_t elements = expert_of.size() / static_cast<std::size_t>(dispatch.shape.top_k) *
                                 static_cast<std::size_t>(dispatch.shape.hidden);
    input.x.push_back(random_rows<T>(elements, random));
    input.dy.push_back(random_rows<T>(elements, random));
    input.weights.push_back(random_rows<float>(expert_of.size(), random));
  }
  return input;
}

// Of the local ranks.
template <class T>
struct LayerRun {
  std::vector<HostCounts> counts;
  std::vector<std::vector<T>> grouped;
  std::vector<std::vector<T>> y;
  LayerGradient<T> gradient;
};

// Another factor for every expert of the rank, so that a row at the wrong one shows.
template <class T>
void apply_experts(const HostCounts& counts, int hidden, std::vector<T>& rows) {
  auto element = rows.begin();
  for (std::size_t expert = 0; expert < counts.expert_rows.size(); ++expert) {
    const std::int64_t elements = std::int64_t{counts.expert_rows[expert]} * hidden;
    for (std::int64_t i = 0; i < elements; ++i, ++element) {
      *element = from_float<T>(to_float(*element) * static_cast<float>(1 + expert % 5));
    }
  }
}

template <class T>
LayerRun<T> run_layer(const DispatchCase& dispatch, const Cluster& cluster, const LayerInput<T>& input,
                      Transport& transport) {
  DeviceLayer<T> layer(dispatch, cluster, transport);
  layer.make_schedule();
  LayerRun<T> run{layer.counts(), layer.forth(input.x), {}, {}};
  std::vector<std::vector<T>> rows = run.grouped;
  for (std::size_t i = 0; i < rows.size(); ++i) apply_experts(run.counts[i], dispatch.shape.hidden, rows[i]);
  layer.replace_grouped(rows);
  run.y = layer.back(input.weights);
  run.gradient = layer.gradient(input.dy, input.weights);
  return run;
}

// Checksums of what a rank got, as numbers that ranks can exchange: two each.
constexpr const char* kDigested[] = {"host counts", "rows for the experts", "outputs", "gradients",
                                     "gradients of weights"};
constexpr std::size_t kDigestNumbers = 2 * std::size(kDigested);

template <class T>
std::vector<std::int32_t> digest_numbers(const std::vector<T>& values) {
  std::vector<unsigned char> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  const std::uint64_t sum = reference::checksum(bytes);
  return {static_cast<std::int32_t>(sum), static_cast<std::int32_t>(sum >> 32U)};
}

std::vector<std::int32_t> all_counts(const HostCounts& counts) {
  std::vector<std::int32_t> all = {counts.bad_slot, counts.lost_expert, counts.crowded_expert};
  for (const auto* rows : {&counts.send_rows, &counts.receive_rows, &counts.expert_rows}) {
    all.insert(all.end(), rows->begin(), rows->end());
  }
  return all;
}

// Of the i-th local rank.
template <class T>
std::vector<std::int32_t> digest_of(const LayerRun<T>& run, std::size_t i) {
  std::vector<std::int32_t> digest;
  for (const auto& part :
       {digest_numbers(all_counts(run.counts[i])), digest_numbers(run.grouped[i]), digest_numbers(run.y[i]),
        digest_numbers(run.gradient.dx[i]), digest_numbers(run.gradient.d_weights[i])}) {
    digest.insert(digest.end(), part.begin(), part.end());
  }
  return digest;
}

template <class T>
std::string differ_from_virtual(const DispatchCase& dispatch, const Cluster& cluster,
                                const LayerInput<T>& input, const std::vector<std::int32_t>& digests) {
  VirtualTransport transport(dispatch.shape.ranks);
  const LayerRun<T> expected = run_layer(dispatch, cluster, input, transport);
  for (std::size_t rank = 0; rank < expected.y.size(); ++rank) {
    const std::vector<std::int32_t> digest = digest_of(expected, rank);
    for (std::size_t i = 0; i < digest.size(); ++i) {
      if (digests[rank * kDigestNumbers + i] == digest[i]) continue;
      return std::string(kDigested[i / 2]) + " of rank " + std::to_string(rank) +
             " differ from those of the virtual transport";
    }
  }
  return "";
}

template <class T>
std::string wrong_layer(const DispatchCase& dispatch, const Cluster& cluster, Communicator& communicator) {
  const LayerInput<T> input = random_input<T>(dispatch, cluster);
  NcclTransport transport(communicator);
  const LayerRun<T> run = run_layer(dispatch, cluster, input.of(communicator.rank()), transport);
  const std::vector<std::int32_t> digests = gather_numbers(digest_of(run, 0), communicator);
  return communicator.rank() == 0 ? differ_from_virtual(dispatch, cluster, input, digests) : "";
}

std::string wrong_layer_of(const DispatchCase& dispatch, bool last_rank_idle, Communicator& communicator) {
  Cluster cluster = make_cluster(dispatch);
  if (last_rank_idle) cluster.expert_of.back().clear();
  switch (dispatch.shape.element) {
    case ElementType::kBf16:
      return wrong_layer<Bf16>(dispatch, cluster, communicator);
    case ElementType::kFp16:
      return wrong_layer<Fp16>(dispatch, cluster, communicator);
    case ElementType::kFp32:
      return wrong_layer<float>(dispatch, cluster, communicator);
  }
  return "unknown element type";
}

DispatchCase case_of(std::int32_t ranks, std::int32_t top_k, ElementType element,
                     moe::DispatchPolicy policy) {
  DispatchCase dispatch;
  dispatch.shape.ranks = ranks;
  dispatch.shape.experts = 12;
  dispatch.shape.top_k = top_k;
  dispatch.shape.max_tokens = 60;
  dispatch.shape.hidden = 24;
  dispatch.shape.element = element;
  dispatch.shape.policy = policy;
  dispatch.seed = static_cast<std::uint64_t>(ranks);
  return dispatch;
}

}  // namespace

// Tokens are dropped in the skewed cases; experts are lost, and ranks receive nothing, with failures.
std::vector<NcclCheck> layer_checks(std::int32_t ranks) {
  constexpr auto kProportional = moe::DispatchPolicy::kProportional;
  constexpr auto kPacked = moe::DispatchPolicy::kPacked;
  std::vector<NcclCheck> checks;
  const auto add = [&](DispatchCase dispatch, bool last_rank_idle = false) {
    checks.push_back({"layer: " + name_of(dispatch) + (last_rank_idle ? " last-rank-idle" : ""),
                      [dispatch, last_rank_idle](Communicator& communicator) {
                        return wrong_layer_of(dispatch, last_rank_idle, communicator);
                      }});
  };
  add(case_of(ranks, 2, ElementType::kBf16, kProportional));
  add(case_of(ranks, 2, ElementType::kBf16, kPacked), true);
  DispatchCase lost = case_of(ranks, 8, ElementType::kFp16, kProportional);
  lost.failures = Failures::kSome;
  lost.shape.hidden = 7;  // rows at odd addresses
  add(lost);
  lost.shape.policy = kPacked;
  lost.shape.element = ElementType::kFp32;
  add(lost, true);
  DispatchCase popular = case_of(ranks, 1, ElementType::kFp32, kProportional);
  popular.routing = Routing::kOneExpert;
  add(popular);
  DispatchCase dropped = case_of(ranks, 2, ElementType::kBf16, kProportional);
  dropped.routing = Routing::kAllDropped;
  add(dropped);
  return checks;
}

}  // namespace goodput::gpu::testing
