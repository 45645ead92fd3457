// A simulator of training jobs on GPUs. It runs the host threads, streams, events, kernels and collectives of
// every rank, and knows the true times, the fault that was put in and what the fault costs. Tests write its
// jobs as Kineto traces (kineto_writer.h) and compare what an analysis finds with the truth.
//
// All times are integer nanoseconds of one true clock that starts when the job starts. The wrong clocks of
// hosts and devices are kept apart (CudaRank::host_clock_ns, device_clock_ns); only the writer of traces adds
// them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace goodput::testing {

enum class CudaJobKind { kDdp, kFsdp, kHsdp, kTensor, kExpert, kOneFOneB, kGPipe };
inline constexpr CudaJobKind kCudaJobKinds[] = {
    CudaJobKind::kDdp,    CudaJobKind::kFsdp,     CudaJobKind::kHsdp, CudaJobKind::kTensor,
    CudaJobKind::kExpert, CudaJobKind::kOneFOneB, CudaJobKind::kGPipe};

enum class CudaFaultKind {
  kNone,
  kCompute,   // every compute kernel of the rank takes longer
  kBackward,  // only those of backward passes
  kLoader,    // the host waits for data before the first launch of each step, and the device idles
  kPause,     // the host stops in the middle of each step, right after it has synchronized with the device
  kHiddenLoader,  // a slow data loader that the device does not feel, because the host runs ahead: a healthy
                  // job
};

struct CudaFault {
  CudaFaultKind kind = CudaFaultKind::kNone;
  int rank = -1;
  double share = 0;  // extra work per step, as a share of a healthy step
};

// Which launch of a coalesced kernel (one kernel for several launches) the kernel is linked to.
enum class CoalescedLink { kFirst, kLast, kNone };

// How a trace is laid out: one line; an event per two lines, as Kineto wrote until 2025; a line per field, as
// torch 2.15 writes.
enum class KinetoForm { kCompact, kLines, kIndented };

// Standard deviations, as shares, unless a unit is given.
struct CudaJobNoise {
  double kernel = 0.03;          // per kernel and step
  double rank = 0.01;            // a constant factor per rank, at most twice this
  double transfer = 0.1;         // per collective
  double host = 0.15;            // per action of the host
  double jitter_s = 3e-6;        // a rank leaves a collective up to so much later than the first one
  double clock_s = 5e-3;         // clocks of hosts are wrong by up to so much
  double device_clock_s = 1e-3;  // a device's clock differs from its host's by up to so much
};

// What is recorded, and how.
struct CudaTraceOptions {
  bool has_seq = true;                 // `Seq` on collectives (on sends and receives it counts per rank)
  bool has_sync_events = false;        // cuda_sync events
  bool has_event_calls = false;        // cudaEventRecord, cudaStreamWaitEvent among runtime events
  bool has_wait_records = false;       // record_param_comms named `wait` (never for DDP)
  bool has_kernel_args = true;         // kernels repeat the metadata of their launch
  bool has_leftover_kernels = false;   // kernels launched before the recording that end in it
  bool has_flows = false;              // arrows from launches to kernels
  bool has_info_at_end = false;        // distributedInfo behind the events, its ranks as strings
  bool has_local_group_names = false;  // a name may stand for other ranks on other ranks
  bool has_megatron_names = false;     // descriptions of groups: else those of a device mesh
  bool has_own_base_times = true;      // baseTimeNanoseconds differs between ranks
  bool has_pass_labels = false;        // pipelines: PP:0F1 (1F1B), Forward 1 (GPipe)
  CoalescedLink coalesced_link = CoalescedLink::kLast;
  KinetoForm form = KinetoForm::kCompact;
};

struct CudaJobSpec {
  CudaJobKind kind = CudaJobKind::kDdp;
  int ranks = 8;
  int tp = 1;       // tensor-parallel ranks, neighbors
  int pp = 1;       // stages of a pipeline
  int shards = 1;   // HSDP: ranks of a shard group; expert parallelism: ranks of an expert group
  int layers = 6;   // pipelines: per stage
  int kernels = 3;  // per layer and forward pass
  int micro_batches = 1;
  int steps = 5;           // recorded ones
  double compute_s = 0.1;  // nominal time of a rank's compute kernels in a step
  double comm = 0.5;       // how slow the network is: 0.2 (hidden) to 1 (exposed)
  int ahead = 1;           // the host waits at the end of step n until the device has finished step n - ahead
  bool has_grad_norm = false;           // a tiny all-reduce over all ranks before the optimizer
  bool has_other_first_step = false;    // DDP: the first step is the job's first, with other buckets
  bool has_tensor_gathers = false;      // tensor parallelism by all-gather and reduce-scatter, not all-reduce
  bool has_batched_p2p = false;         // one kernel for a send and a receive
  bool has_eager_sends = false;         // a send ends without waiting for its receiver
  bool has_overlapped_reduce = false;   // pipelines: gradients are reduced during the last backward pass
  bool has_coalescing = false;          // several launches with one kernel: reduce-scatters of gradients
  bool has_comm_stream = false;         // expert parallelism on a stream of its own, as in older torch
  bool has_mesh_group = false;          // FSDP: a group of its own, with the ranks of the world
  bool has_sync_after_forward = false;  // loss.item() between forward and backward passes
  bool has_sync_before_optimizer = false;  // grad_norm.item() or found_inf.item()
  CudaFault fault{};
  CudaJobNoise noise{};
  CudaTraceOptions trace{};
  std::uint64_t seed = 1;
};

enum class CommKind { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kSend, kRecv };

// A process group; group_name() has its name on each rank.
struct CudaGroup {
  std::string description;
  std::vector<int> ranks;
};

// One launch of a collective on one rank, as its record_param_comms says it.
struct CudaCommMeta {
  CommKind kind = CommKind::kAllReduce;
  bool is_wait = false;  // a record of waiting for the collective
  int group = 0;
  int peer = -1;  // rank, of sends and receives
  std::int64_t in_elements = 0;
  std::int64_t out_elements = 0;
  bool is_float32 = false;  // else bfloat16
  std::int64_t seq = 0;
  std::vector<std::int64_t> in_splits;  // of an all-to-all, per member
  std::vector<std::int64_t> out_splits;
};

enum class HostCategory { kAnnotation, kCpuOp, kRuntime, kSync };

struct CudaHostEvent {
  HostCategory category = HostCategory::kCpuOp;
  int name = 0;              // in CudaJob::names
  bool is_autograd = false;  // which thread
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  int external_id = 0;  // 0: none
  int correlation = 0;  // runtime and sync events
  int meta = -1;        // record_param_comms: in CudaRank::metas
  int stream = -1;      // sync events: the stream that waits
  int wait_on_stream = -1;
  int wait_on_correlation = -1;
};

enum class KernelKind { kCompute, kCopy, kComm };

struct CudaKernel {
  KernelKind kind = KernelKind::kCompute;
  int name = 0;
  int stream = 0;
  int step = 0;                // in which it is launched; negative: before the recording
  std::int64_t launch_ns = 0;  // when the host has launched it
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  int correlation = 0;
  int external_id = 0;  // 0: none
  int meta = -1;        // of a collective: in CudaRank::metas
};

struct CudaRank {
  std::vector<CudaHostEvent> host;  // recorded, by begin
  std::vector<CudaKernel> kernels;  // all, by launch
  std::vector<CudaCommMeta> metas;
  std::vector<int> groups;  // this rank's, in CudaJob::groups
  std::int64_t host_clock_ns = 0;
  std::int64_t device_clock_ns = 0;  // added to that of the host
  std::int64_t base_time_ns = 0;
  std::int64_t record_begin_ns = 0;
  std::int64_t record_end_ns = 0;  // when host and device have finished
};

// One collective, or one message.
struct CudaComm {
  int group = 0;
  CommKind kind = CommKind::kAllReduce;  // a message: kSend
  bool is_eager = false;                 // the sender does not wait
  int sender = -1;                       // of a message
  std::int64_t transfer_ns = 0;
  // Rank and kernel (in CudaRank::kernels), in the order in which the simulation came to them.
  std::vector<std::pair<int, int>> parts;
};

struct CudaJobTruth {
  int slow_rank = -1;
  double extra_s = 0;  // that the fault adds to the rank's device per step, mean
  // Per recorded step, the largest distance over ranks from the end of the last kernel of the step before to
  // the end of its own; the first step counts from the begin of its first kernel.
  std::vector<double> step_s;
  std::vector<double> healthy_steps_s;  // without the fault, the noise being the same
  double healthy_step_s = 0;            // mean without the first step
  double true_slowdown = 1;             // means without the first step, with the fault over without
};

struct CudaJob {
  CudaJobSpec spec;
  std::vector<std::string> names;
  std::vector<CudaGroup> groups;
  std::vector<CudaRank> ranks;
  std::vector<CudaComm> comms;
  CudaJobTruth truth;
};

// A job at random: kinds, sizes, ways to record and, where wanted, a fault.
[[nodiscard]] CudaJobSpec random_cuda_job(std::uint64_t seed, bool is_faulty);

[[nodiscard]] CudaJob simulate_cuda_job(const CudaJobSpec& spec);

// A line that says all of a job, for failing tests.
[[nodiscard]] std::string describe(const CudaJobSpec& spec);
[[nodiscard]] std::string cuda_job_kind_name(CudaJobKind kind);

// The name of a group on a rank.
[[nodiscard]] std::string group_name(const CudaJob& job, int rank, int group);

}  // namespace goodput::testing
