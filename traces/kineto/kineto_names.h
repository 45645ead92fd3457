// The names of events in a torch.profiler (Kineto) file that an analysis uses.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace goodput {

// What autograd calls running the backward function of an op; ": <op>" follows.
inline constexpr std::string_view kBackwardFunction = "autograd::engine::evaluate_function";

// The name under which KinetoEvents::spans keeps a host event called `name`; empty if it does not keep it.
// All backward functions share one name. `is_annotation`: its category is user_annotation, not cpu_op.
[[nodiscard]] std::optional<std::string_view> kineto_span_name(std::string_view name, bool is_annotation);

// Whether a kernel of this name is NCCL's (or RCCL's).
[[nodiscard]] bool is_nccl_kernel(std::string_view name);

// Whether a kernel of this name, not NCCL's, waits for other ranks: DeepEP, NVSHMEM, symmetric memory, TE
// userbuffers.
[[nodiscard]] bool is_spinning_kernel(std::string_view name);

}  // namespace goodput
