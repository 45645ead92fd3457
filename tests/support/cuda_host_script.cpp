#include "tests/support/cuda_host_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace goodput::testing {
namespace {

constexpr int kGroupStreams = 60;                // of the first group; those of others follow
constexpr std::int64_t kElementsPerUs = 25'000;  // of a network of 50 GB/s
constexpr std::int64_t kFirstSeq = 700;

// Splits the ranks by a key, and makes a group of each part that has more than one rank.
template <typename Key>
void add_groups(std::vector<CudaGroup>& groups, std::vector<CudaRankPlace>& places,
                int CudaRankPlace::*member, const std::string& description, Key key) {
  std::map<int, std::vector<int>> parts;
  for (const CudaRankPlace& place : places) parts[key(place.rank)].push_back(place.rank);
  for (const auto& [value, ranks] : parts) {
    if (ranks.size() < 2) continue;
    for (const int rank : ranks)
      places[static_cast<std::size_t>(rank)].*member = static_cast<int>(groups.size());
    groups.push_back({description, ranks});
  }
}

const char* c10d_op(CommKind kind) {
  switch (kind) {
    case CommKind::kAllReduce:
      return "c10d::allreduce_";
    case CommKind::kAllGather:
      return "c10d::_allgather_base_";
    case CommKind::kReduceScatter:
      return "c10d::_reduce_scatter_base_";
    case CommKind::kAllToAll:
      return "c10d::alltoall_base_";
    case CommKind::kSend:
      return "c10d::send";
    case CommKind::kRecv:
      return "c10d::recv_";
  }
  return "";
}

std::string nccl_kernel(const CudaCommMeta& meta) {
  const char* type = meta.is_float32 ? "f32" : "bf16";
  constexpr const char* kArguments = "(ncclDevKernelArgsStorage<4096ul>)";
  switch (meta.kind) {
    case CommKind::kAllReduce:
      return fmt::format("ncclDevKernel_AllReduce_Sum_{}_RING_LL{}", type, kArguments);
    case CommKind::kAllGather:
      return fmt::format("ncclDevKernel_AllGather_RING_LL{}", kArguments);
    case CommKind::kReduceScatter:
      return fmt::format("ncclDevKernel_ReduceScatter_Sum_{}_RING_LL{}", type, kArguments);
    default:
      return fmt::format("ncclDevKernel_SendRecv{}", kArguments);
  }
}

// Numbers that belong to a key, for sizes of messages that differ between ranks and steps.
std::uint64_t mixed_bits(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}
}  // namespace

int CudaNameTable::operator()(const std::string& name) {
  const auto [at, is_new] = indices_.try_emplace(name, static_cast<int>(names_.size()));
  if (is_new) names_.push_back(name);
  return at->second;
}

CudaLayout make_cuda_layout(const CudaJobSpec& spec) {
  CudaLayout layout;
  layout.places.resize(static_cast<std::size_t>(spec.ranks));
  CudaGroup world{"default_pg", {}};
  const int per_stage = spec.ranks / spec.pp;
  for (int rank = 0; rank < spec.ranks; ++rank) {
    world.ranks.push_back(rank);
    CudaRankPlace& place = layout.places[static_cast<std::size_t>(rank)];
    place.rank = rank;
    place.stage = rank / per_stage;
    if (place.stage > 0) place.previous = rank - per_stage;
    if (place.stage + 1 < spec.pp) place.next = rank + per_stage;
  }
  layout.groups.push_back(std::move(world));
  const bool is_megatron = spec.trace.has_megatron_names;
  const auto add = [&](int CudaRankPlace::*member, const char* mesh, const char* megatron, auto key) {
    add_groups(layout.groups, layout.places, member, is_megatron ? megatron : mesh, key);
  };
  const auto one = [](int) { return 0; };
  switch (spec.kind) {
    case CudaJobKind::kDdp:
      break;
    case CudaJobKind::kFsdp:
      if (spec.has_mesh_group) add(&CudaRankPlace::shard_group, "mesh_dp", "DATA_PARALLEL_GROUP", one);
      break;
    case CudaJobKind::kHsdp:
      add(&CudaRankPlace::replica_group, "mesh_dp_replicate", "INTER_PARTIAL_DATA_PARALLEL_GROUP_WITH_CP",
          [&](int rank) { return rank % spec.shards; });
      add(&CudaRankPlace::shard_group, "mesh_dp_shard", "INTRA_PARTIAL_DATA_PARALLEL_GROUP_WITH_CP",
          [&](int rank) { return rank / spec.shards; });
      break;
    case CudaJobKind::kExpert:
      add(&CudaRankPlace::expert_group, "mesh_ep", "EXPERT_MODEL_PARALLEL_GROUP",
          [&](int rank) { return rank / spec.shards; });
      break;
    default:
      add(&CudaRankPlace::pp_group, "mesh_pp", "PIPELINE_MODEL_PARALLEL_GROUP",
          [&](int rank) { return rank % per_stage; });
      add(&CudaRankPlace::dp_group, "mesh_dp", "DATA_PARALLEL_GROUP",
          [&](int rank) { return rank / per_stage * spec.tp + rank % spec.tp; });
      add(&CudaRankPlace::tp_group, "mesh_tp", "TENSOR_MODEL_PARALLEL_GROUP",
          [&](int rank) { return rank / spec.tp; });
  }
  return layout;
}

HostScript::HostScript(const CudaJobSpec& spec, const CudaLayout& layout, const CudaRankPlace& place,
                       CudaNameTable& names)
    : spec_(spec), layout_(layout), place_(place), names_(names), seq_(layout.groups.size(), kFirstSeq) {
  for (std::size_t group = 0; group < layout.groups.size(); ++group) {
    const std::vector<int>& ranks = layout.groups[group].ranks;
    if (std::binary_search(ranks.begin(), ranks.end(), place.rank))
      own_groups_.push_back(static_cast<int>(group));
  }
}

int HostScript::group_stream(int group) const {
  const auto at = std::find(own_groups_.begin(), own_groups_.end(), group);
  return kGroupStreams + 4 * static_cast<int>(at - own_groups_.begin());
}

HostInstruction& HostScript::add(HostAction action) {
  HostInstruction& one = program_.instructions.emplace_back();
  one.action = action;
  one.is_autograd = is_autograd_;
  one.step = step_;
  return one;
}

void HostScript::step_begin(int number) {
  add(HostAction::kStepBegin).name = names_(fmt::format("ProfilerStep#{}", number));
}

void HostScript::begin(const std::string& name, HostCategory category) {
  HostInstruction& one = add(HostAction::kBegin);
  one.name = names_(name);
  one.category = category;
}

void HostScript::act(HostAction action, double work_ns) {
  add(action).work_ns = std::llround(work_ns);
}

void HostScript::launch(int stream, const char* op, const char* kernel, double ns, PassKind pass,
                        KernelKind kind) {
  HostInstruction& one = add(HostAction::kLaunch);
  one.stream = stream;
  one.op_name = names_(op);
  one.name = names_(kernel);
  one.work_ns = std::max<std::int64_t>(1000, std::llround(ns));
  one.pass = pass;
  one.kernel = kind;
}

int HostScript::record(int stream, bool has_call) {
  HostInstruction& one = add(HostAction::kRecordEvent);
  one.stream = stream;
  one.event = program_.events++;
  one.name = has_call ? names_("cudaEventRecord") : -1;
  return one.event;
}

void HostScript::stream_wait(int stream, int event) {
  HostInstruction& one = add(HostAction::kStreamWait);
  one.stream = stream;
  one.event = event;
  one.name = names_("cudaStreamWaitEvent");
}

void HostScript::host_wait(int event, const char* call) {
  HostInstruction& one = add(HostAction::kHostSync);
  one.event = event;
  one.name = names_(call);
}

void HostScript::item() {
  begin("aten::item", HostCategory::kCpuOp);
  launch(kComputeStream, "aten::_local_scalar_dense", "Memcpy DtoH (Device -> Pageable)", 3e3,
         PassKind::kOther, KernelKind::kCopy);
  host_wait(record(kComputeStream, false), "cudaStreamSynchronize");
  end();
}

void HostScript::await_device(int ahead) {
  if (ahead == 0) {
    item();
    return;
  }
  step_ends_.push_back(record(kComputeStream));
  const int last = static_cast<int>(step_ends_.size()) - 1 - ahead;
  if (last >= 0) host_wait(step_ends_[static_cast<std::size_t>(last)], "cudaEventSynchronize");
}

void HostScript::comm(int stream, std::vector<CommCall> calls) {
  HostInstruction& one = add(HostAction::kComm);
  one.stream = stream;
  one.name = names_(nccl_kernel(calls.front().meta));
  one.op_name = names_(c10d_op(calls.front().meta.kind));
  one.calls = std::move(calls);
}

int HostScript::async_comm(int stream, std::vector<CommCall> calls, int current) {
  stream_wait(stream, record(current));
  comm(stream, std::move(calls));
  return record(stream);
}

void HostScript::wait_work(int done, const CudaCommMeta& meta, bool is_recorded) {
  if (is_recorded && spec_.trace.has_wait_records) {
    HostInstruction& one = add(HostAction::kWaitRecord);
    one.name = names_("record_param_comms");
    one.calls.push_back({meta, 0, false});
    one.calls.back().meta.is_wait = true;
  }
  stream_wait(kComputeStream, done);
}

CommCall HostScript::collective(CommKind kind, int group, double transfer_ns, bool is_float32) {
  const auto size = static_cast<std::int64_t>(layout_.groups[static_cast<std::size_t>(group)].ranks.size());
  const std::int64_t elements =
      std::max<std::int64_t>(1, std::llround(transfer_ns / 1000)) * kElementsPerUs / size * size;
  CommCall call;
  call.meta.kind = kind;
  call.meta.group = group;
  call.meta.is_float32 = is_float32;
  call.meta.in_elements = kind == CommKind::kAllGather ? elements / size : elements;
  call.meta.out_elements = kind == CommKind::kReduceScatter ? elements / size : elements;
  call.meta.seq = seq_[static_cast<std::size_t>(group)]++;
  call.transfer_ns = std::llround(transfer_ns);
  if (kind == CommKind::kAllToAll) set_splits(call.meta, elements / size, size);
  return call;
}

std::vector<CommCall> HostScript::collectives(CommKind kind, int group, double transfer_ns, bool is_float32) {
  if (!spec_.has_coalescing) return {collective(kind, group, transfer_ns, is_float32)};
  std::vector<CommCall> calls;
  for (int i = 0; i < 3; ++i) {
    calls.push_back(collective(kind, group, transfer_ns / 3, is_float32));
    calls.back().is_coalesced = i > 0;
    calls.back().meta.seq = calls.front().meta.seq;  // a coalesced region counts once
  }
  calls.front().transfer_ns = std::llround(transfer_ns);
  seq_[static_cast<std::size_t>(group)] = calls.front().meta.seq + 1;
  return calls;
}

CommCall HostScript::message(CommKind kind, int peer, double transfer_ns) {
  CommCall call;
  call.meta.kind = kind;
  call.meta.group = place_.pp_group;
  call.meta.peer = peer;
  call.meta.in_elements = call.meta.out_elements = 4096 * 1024;
  call.meta.seq = p2p_seq_++;
  call.transfer_ns = std::llround(transfer_ns);
  return call;
}

// Tokens go to experts unevenly, and differently in each step and on each rank.
void HostScript::set_splits(CudaCommMeta& meta, std::int64_t mean, std::int64_t size) {
  meta.in_elements = meta.out_elements = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    meta.in_splits.push_back(drawn_split(mean));
    meta.out_splits.push_back(drawn_split(mean));
    meta.in_elements += meta.in_splits.back();
    meta.out_elements += meta.out_splits.back();
  }
}

std::int64_t HostScript::drawn_split(std::int64_t mean) {
  splits_drawn_ = mixed_bits(splits_drawn_ ^ (spec_.seed + static_cast<std::uint64_t>(place_.rank) * 7919));
  return mean / 2 + static_cast<std::int64_t>(splits_drawn_ % static_cast<std::uint64_t>(mean));
}

}  // namespace goodput::testing
