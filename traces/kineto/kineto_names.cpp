#include "traces/kineto/kineto_names.h"

#include <algorithm>

#include "sim/base/text.h"
#include "traces/kineto/gloo_ops.h"

namespace goodput {
namespace {

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
  } else if (name.starts_with(kBackwardFunction) && name.substr(kBackwardFunction.size()).starts_with(": ")) {
    return kBackwardFunction;
  } else if (name.starts_with("c10d::")) {
    is_known = find_gloo_op(name) != nullptr;
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
