#include "traces/kineto/gloo_ops.h"

#include <algorithm>
#include <iterator>

namespace goodput {
namespace {

constexpr auto kSend = CommunicationPart::Kind::kSend;
constexpr auto kReceive = CommunicationPart::Kind::kReceive;
constexpr auto kCollective = CommunicationPart::Kind::kCollective;
// gloo computes a reduce-scatter as an all-reduce.
constexpr GlooOp kGlooOps[] = {
    {"c10d::allreduce_", "all_reduce", kCollective, {"gloo:all_reduce"}},
    {"c10d::allreduce_coalesced_", "all_reduce", kCollective, {"gloo:all_reduce"}},
    {"c10d::_allgather_base_", "all_gather", kCollective, {"gloo:all_gather"}},
    {"c10d::allgather_", "all_gather", kCollective, {"gloo:all_gather"}},
    {"c10d::allgather_into_tensor_coalesced_", "all_gather", kCollective, {"gloo:all_gather"}},
    {"c10d::_reduce_scatter_base_",
     "reduce_scatter",
     kCollective,
     {"gloo:all_reduce", "gloo:reduce_scatter"}},
    {"c10d::reduce_scatter_", "reduce_scatter", kCollective, {"gloo:all_reduce", "gloo:reduce_scatter"}},
    {"c10d::reduce_scatter_tensor_coalesced_",
     "reduce_scatter",
     kCollective,
     {"gloo:all_reduce", "gloo:reduce_scatter"}},
    {"c10d::alltoall_base_", "all_to_all", kCollective, {"gloo:all_to_all"}},
    {"c10d::alltoall_", "all_to_all", kCollective, {"gloo:all_to_all"}},
    {"c10d::broadcast_", "broadcast", kCollective, {"gloo:broadcast"}},
    {"c10d::reduce_", "reduce", kCollective, {"gloo:reduce"}},
    {"c10d::gather_", "gather", kCollective, {"gloo:gather"}},
    {"c10d::scatter_", "scatter", kCollective, {"gloo:scatter"}},
    {"c10d::barrier", "barrier", kCollective, {"gloo:barrier"}},
    {"c10d::send", "send", kSend, {"gloo:send"}},
    {"c10d::recv_", "recv", kReceive, {"gloo:recv"}},
    {"c10d::recv_any_source_", "recv", kReceive, {"gloo:recv"}},
};

}  // namespace

const GlooOp* find_gloo_op(std::string_view launch) {
  const auto* const found = std::ranges::find(kGlooOps, launch, &GlooOp::launch);
  return found == std::end(kGlooOps) ? nullptr : found;
}

}  // namespace goodput
