#include "traces/kineto/kineto_names.h"

#include <algorithm>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::string_view kBackward = "autograd::engine::evaluate_function";
constexpr std::string_view kBackwardPrefix = "autograd::engine::evaluate_function: ";
constexpr std::string_view kC10d = "c10d::";

// Behind "c10d::".
constexpr std::string_view kCollectives[] = {"allreduce_",
                                             "_allgather_base_",
                                             "allgather_",
                                             "_reduce_scatter_base_",
                                             "reduce_scatter_",
                                             "alltoall_base_",
                                             "alltoall_",
                                             "broadcast_",
                                             "barrier",
                                             "reduce_",
                                             "gather_",
                                             "scatter_",
                                             "allgather_into_tensor_coalesced_",
                                             "reduce_scatter_tensor_coalesced_",
                                             "allreduce_coalesced_",
                                             "send",
                                             "recv_",
                                             "recv_any_source_"};

constexpr std::string_view kTransferPrefixes[] = {"gloo:", "nccl:"};
constexpr std::string_view kAnnotationPrefixes[] = {
    "PP:", "Forward ", "Backward ", "Optimizer.step#", "enumerate(DataLoader)#", "FSDP::"};

constexpr std::string_view kSpinning[] = {
    "deep_ep", "DeepEP",    "internode::", "intranode::dispatch", "intranode::combine", "low_latency",
    "nvshmem", "multimem_", "one_shot_",   "two_shot_",           "symmetric_memory",   "userbuffers_"};

template <typename Prefixes>
bool begins_with_any(std::string_view name, const Prefixes& prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

std::optional<std::string_view> kineto_span_name(std::string_view name, bool is_annotation) {
  bool is_known = begins_with_any(name, kTransferPrefixes);
  if (is_annotation) {
    is_known =
        is_known || begins_with_any(name, kAnnotationPrefixes) || name == "DistributedDataParallel.forward";
  } else if (name.starts_with(kBackwardPrefix)) {
    return kBackward;
  } else if (name.starts_with(kC10d)) {
    is_known = std::ranges::find(kCollectives, name.substr(kC10d.size())) != std::end(kCollectives);
  } else {
    is_known = is_known || name == "record_param_comms" || name == "_c10d_functional::wait_tensor";
  }
  return is_known ? std::optional(name) : std::nullopt;
}

bool is_nccl_kernel(std::string_view name) {
  return equals_lower("nccl", name.substr(0, 4));
}

bool is_spinning_kernel(std::string_view name) {
  return std::ranges::any_of(
      kSpinning, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

}  // namespace goodput
