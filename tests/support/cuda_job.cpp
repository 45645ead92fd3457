#include "tests/support/cuda_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <numbers>
#include <stdexcept>

#include "tests/support/cuda_host_script.h"
#include "tests/support/cuda_job_programs.h"

namespace goodput::testing {
namespace {

// What the host takes for its actions, nanoseconds.
constexpr double kOpNs = 4e3;  // to get to a launch within a cpu_op
constexpr double kLaunchCallNs = 6e3;
constexpr double kCommOpNs = 7e3;
constexpr double kCommLaunchCallNs = 9e3;
constexpr double kEventCallNs = 1.2e3;
constexpr double kAnnotationNs = 0.8e3;
constexpr double kSyncCallNs = 2e3;  // to return from a wait
constexpr double kEagerSendNs = 20e3;
constexpr double kStartSkewNs = 1e6;  // ranks begin the job at different times
constexpr double kPauseNoise = 0.05;  // of a fault's pauses
constexpr double kHiddenLoaderShare = 0.3;

constexpr std::int64_t kEpochNs = 1'795'633'426'000'000'000;  // when jobs start
constexpr std::int64_t kBaseNs = 1'790'857'026'000'000'000;

// Noise that belongs to names: the same for a job with and without a fault, in whatever order it is drawn.
class KeyedNoise {
 public:
  enum Purpose : std::uint64_t {
    kRankFactor,
    kKernelWork,
    kHostWork,
    kTransfer,
    kJitter,
    kClock,
    kDevice,
    kBase,
    kStart,
    kPause
  };

  explicit KeyedNoise(std::uint64_t seed) : seed_(bits_of(seed)) {}

  [[nodiscard]] double uniform(Purpose purpose, std::uint64_t a, std::uint64_t b = 0,
                               std::uint64_t c = 0) const {
    return static_cast<double>(hashed(purpose, a, b, c) >> 11) * 0x1p-53;
  }
  [[nodiscard]] double normal(Purpose purpose, std::uint64_t a, std::uint64_t b = 0,
                              std::uint64_t c = 0) const {
    const std::uint64_t bits = hashed(purpose, a, b, c);
    const double u = (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
    const double v = static_cast<double>(bits_of(bits) >> 11) * 0x1p-53;
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  }

 private:
  static std::uint64_t bits_of(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15U;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
  }
  [[nodiscard]] std::uint64_t hashed(Purpose purpose, std::uint64_t a, std::uint64_t b,
                                     std::uint64_t c) const {
    return bits_of(bits_of(bits_of(bits_of(seed_ ^ purpose) ^ a) ^ b) ^ c);
  }

  std::uint64_t seed_;
};

std::int64_t nearest_ns(double ns) {
  return std::llround(ns);
}

// What a fault does to its rank.
struct FaultEffect {
  int rank = -1;
  double compute_factor = 1;
  double backward_factor = 1;
  double loader_ns = 0;
  double pause_ns = 0;
};

enum class QueuedWork { kKernel, kRecord, kWait };

struct QueuedItem {
  QueuedWork work = QueuedWork::kKernel;
  int id = 0;  // of the kernel or the event
  std::int64_t issued_ns = 0;
};

struct StreamQueue {
  int stream = 0;
  std::vector<QueuedItem> items;
  std::size_t head = 0;
  std::int64_t time_ns = 0;  // until when it is busy or waits
  bool is_spinning = false;  // its first kernel waits for other ranks
};

struct CudaEventState {
  std::int64_t time_ns = -1;  // when it happened; -1: not yet
  int stream = 0;
  int correlation = 0;
};

// The kernel of a collective on one rank, until it has ended.
struct SpinningKernel {
  int rank = 0;
  int kernel = 0;
  int open_comms = 0;
  std::int64_t end_ns = 0;
};

struct RankRun {
  CudaRank out;
  const RankProgram* program = nullptr;
  std::size_t at = 0;  // the next instruction
  std::int64_t host_ns = 0;
  std::vector<int> open_events;  // in out.host; -1: not recorded
  std::vector<StreamQueue> streams;
  std::vector<CudaEventState> events;
  std::vector<std::int64_t> work_ns;    // of each kernel that is not a collective
  std::vector<std::vector<int>> comms;  // of each kernel
  std::vector<int> comm_counts;         // per group, how many it has launched
  std::map<std::pair<int, int>, int> message_counts;
  int correlations = 1000;
  int external_ids = 0;
  double factor = 1;
};

class JobRun {
 public:
  JobRun(const CudaJobSpec& spec, const JobPrograms& programs, const FaultEffect& fault)
      : spec_(spec),
        programs_(programs),
        fault_(fault),
        noise_(spec.seed),
        group_comms_(programs.groups.size()) {
    job.names = programs.names;
    job.groups = programs.groups;
    for (std::size_t i = 0; i < programs.ranks.size(); ++i) add_rank(programs.ranks[i], i);
    runtime_launch_ = name("cudaLaunchKernel");
    runtime_comm_launch_ = name("cudaLaunchKernelExC");
    runtime_copy_ = name("cudaMemcpyAsync");
    record_name_ = name("record_param_comms");
    stream_wait_name_ = name("Stream Wait Event");
    event_sync_name_ = name("Event Sync");
    stream_sync_name_ = name("Stream Sync");
  }

  void run() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) touched_.push_back(static_cast<int>(rank));
    while (!touched_.empty()) {
      const int rank = touched_.front();
      touched_.pop_front();
      advance(rank);
    }
    for (RankRun& rank : ranks_) {
      for (const StreamQueue& queue : rank.streams) {
        if (queue.head < queue.items.size())
          throw std::logic_error("the simulated job deadlocks: " + describe(spec_));
      }
      if (rank.at < rank.program->instructions.size()) {
        throw std::logic_error("a host of the simulated job waits forever: " + describe(spec_));
      }
      for (const CudaKernel& kernel : rank.out.kernels) {
        rank.out.record_end_ns = std::max(rank.out.record_end_ns, kernel.end_ns);
      }
      job.ranks.push_back(std::move(rank.out));
    }
  }

  CudaJob job;
  double extra_ns = 0;  // of the fault, in recorded steps

 private:
  void add_rank(const RankProgram& program, std::size_t index) {
    RankRun& rank = ranks_.emplace_back();
    rank.program = &program;
    rank.events.resize(static_cast<std::size_t>(program.events));
    rank.comm_counts.resize(programs_.groups.size());
    rank.factor = 1 + spec_.noise.rank * std::clamp(noise_.normal(KeyedNoise::kRankFactor, index), -2.0, 2.0);
    const auto error = [&](KeyedNoise::Purpose purpose, double bound_s) {
      return nearest_ns((2 * noise_.uniform(purpose, index) - 1) * bound_s * 1e9);
    };
    rank.out.host_clock_ns = kEpochNs + error(KeyedNoise::kClock, spec_.noise.clock_s);
    rank.out.device_clock_ns = error(KeyedNoise::kDevice, spec_.noise.device_clock_s);
    rank.out.base_time_ns = kBaseNs;
    if (spec_.trace.has_own_base_times) {
      rank.out.base_time_ns += nearest_ns(noise_.uniform(KeyedNoise::kBase, index) * 3600e9);
    }
    if (spec_.noise.host > 0)
      rank.host_ns = nearest_ns(noise_.uniform(KeyedNoise::kStart, index) * kStartSkewNs);
    for (std::size_t group = 0; group < programs_.groups.size(); ++group) {
      const std::vector<int>& members = programs_.groups[group].ranks;
      if (std::binary_search(members.begin(), members.end(), static_cast<int>(index))) {
        rank.out.groups.push_back(static_cast<int>(group));
      }
    }
  }

  int name(const char* text) {
    job.names.emplace_back(text);
    return static_cast<int>(job.names.size()) - 1;
  }
  [[nodiscard]] static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  void advance(int index) {
    RankRun& rank = ranks_[at(index)];
    bool has_moved = true;
    while (has_moved) {
      has_moved = run_host(index, rank);
      for (std::size_t i = 0; i < rank.streams.size(); ++i) has_moved |= run_stream(index, rank, i);
    }
  }

  // --- The host ---

  [[nodiscard]] std::int64_t host_cost(const RankRun& rank, int index, double nominal_ns,
                                       std::uint64_t part = 0) const {
    const double noise = spec_.noise.host * noise_.normal(KeyedNoise::kHostWork, at(index), rank.at, part);
    return nearest_ns(nominal_ns * std::clamp(1 + noise, 0.4, 2.0));
  }

  bool run_host(int index, RankRun& rank) {
    const std::size_t from = rank.at;
    while (rank.at < rank.program->instructions.size()) {
      const HostInstruction& one = rank.program->instructions[rank.at];
      if (one.action == HostAction::kHostSync && rank.events[at(one.event)].time_ns < 0) break;
      issue(index, rank, one);
      ++rank.at;
    }
    return rank.at > from;
  }

  void issue(int index, RankRun& rank, const HostInstruction& one) {
    switch (one.action) {
      case HostAction::kStepBegin:
        if (one.step == 0) rank.out.record_begin_ns = rank.host_ns;
        open(rank, one, HostCategory::kAnnotation, one.name);
        rank.host_ns += host_cost(rank, index, kAnnotationNs);
        break;
      case HostAction::kBegin:
        open(rank, one, one.category, one.name);
        rank.host_ns += host_cost(rank, index, kAnnotationNs);
        break;
      case HostAction::kStepEnd:
      case HostAction::kEnd:
        rank.host_ns += host_cost(rank, index, kAnnotationNs);
        close(rank);
        if (one.action == HostAction::kStepEnd) rank.out.record_end_ns = rank.host_ns;
        break;
      case HostAction::kHostWork:
        rank.host_ns += host_cost(rank, index, static_cast<double>(one.work_ns));
        break;
      case HostAction::kLoaderSpot:
        pause(index, rank, one, fault_.loader_ns);
        break;
      case HostAction::kPauseSpot:
        pause(index, rank, one, fault_.pause_ns);
        break;
      case HostAction::kLaunch:
        launch(index, rank, one);
        break;
      case HostAction::kComm:
        launch_comm(index, rank, one);
        break;
      case HostAction::kWaitRecord:
        open_record(index, rank, one, one.calls.front().meta);
        close(rank);
        break;
      case HostAction::kRecordEvent:
        record_event(index, rank, one);
        break;
      case HostAction::kStreamWait:
        stream_wait(index, rank, one);
        break;
      case HostAction::kHostSync:
        host_sync(index, rank, one);
        break;
    }
  }

  void pause(int index, RankRun& rank, const HostInstruction& one, double nominal_ns) {
    if (index != fault_.rank || nominal_ns <= 0) return;
    const double noise =
        spec_.noise.host > 0 ? kPauseNoise * noise_.normal(KeyedNoise::kPause, at(index), rank.at) : 0;
    const std::int64_t pause_ns = nearest_ns(nominal_ns * (1 + noise));
    rank.host_ns += pause_ns;
    if (one.step >= 0) extra_ns += static_cast<double>(pause_ns);
  }

  CudaHostEvent* open(RankRun& rank, const HostInstruction& one, HostCategory category, int event_name) {
    if (one.step < 0) {
      rank.open_events.push_back(-1);
      return nullptr;
    }
    rank.open_events.push_back(static_cast<int>(rank.out.host.size()));
    CudaHostEvent& event = rank.out.host.emplace_back();
    event.category = category;
    event.name = event_name;
    event.is_autograd = one.is_autograd;
    event.begin_ns = rank.host_ns;
    if (category != HostCategory::kRuntime && category != HostCategory::kSync)
      event.external_id = ++rank.external_ids;
    return &event;
  }
  void close(RankRun& rank) {
    const int event = rank.open_events.back();
    rank.open_events.pop_back();
    if (event >= 0) rank.out.host[at(event)].end_ns = rank.host_ns;
  }
  // A call of the runtime, whole; the result is its correlation.
  int runtime_call(RankRun& rank, const HostInstruction& one, int event_name, int external_id,
                   std::int64_t cost_ns) {
    const int correlation = ++rank.correlations;
    if (CudaHostEvent* event = open(rank, one, HostCategory::kRuntime, event_name)) {
      event->correlation = correlation;
      event->external_id = external_id;
    }
    rank.host_ns += cost_ns;
    close(rank);
    return correlation;
  }
  // The result is the record's external id.
  int open_record(int index, RankRun& rank, const HostInstruction& one, const CudaCommMeta& meta) {
    CudaHostEvent* event = open(rank, one, HostCategory::kCpuOp, record_name_);
    rank.host_ns += host_cost(rank, index, kAnnotationNs, 5);
    if (event == nullptr) return 0;
    event->meta = static_cast<int>(rank.out.metas.size());
    rank.out.metas.push_back(meta);
    return event->external_id;
  }

  StreamQueue& queue_of(RankRun& rank, int stream) {
    for (StreamQueue& queue : rank.streams) {
      if (queue.stream == stream) return queue;
    }
    rank.streams.emplace_back().stream = stream;
    return rank.streams.back();
  }

  int add_kernel(RankRun& rank, const HostInstruction& one, KernelKind kind, int correlation,
                 int external_id) {
    CudaKernel& kernel = rank.out.kernels.emplace_back();
    kernel.kind = kind;
    kernel.name = one.name;
    kernel.stream = one.stream;
    kernel.step = one.step;
    kernel.launch_ns = rank.host_ns;
    kernel.correlation = correlation;
    kernel.external_id = external_id;
    const int id = static_cast<int>(rank.out.kernels.size()) - 1;
    queue_of(rank, one.stream).items.push_back({QueuedWork::kKernel, id, rank.host_ns});
    rank.work_ns.push_back(0);
    rank.comms.emplace_back();
    return id;
  }

  void launch(int index, RankRun& rank, const HostInstruction& one) {
    CudaHostEvent* op = open(rank, one, HostCategory::kCpuOp, one.op_name);
    const int external_id = op == nullptr ? 0 : op->external_id;
    rank.host_ns += host_cost(rank, index, kOpNs);
    const int call = one.kernel == KernelKind::kCopy ? runtime_copy_ : runtime_launch_;
    const int correlation =
        runtime_call(rank, one, call, external_id, host_cost(rank, index, kLaunchCallNs, 1));
    const int id = add_kernel(rank, one, one.kernel, correlation, external_id);
    rank.host_ns += host_cost(rank, index, kOpNs / 2, 2);
    close(rank);

    const double noise = spec_.noise.kernel * noise_.normal(KeyedNoise::kKernelWork, at(index), at(id));
    const double healthy_ns = static_cast<double>(one.work_ns) * rank.factor * std::max(0.5, 1 + noise);
    double factor = 1;
    if (index == fault_.rank && one.kernel == KernelKind::kCompute && one.stream == kComputeStream) {
      factor = fault_.compute_factor * (one.pass == PassKind::kBackward ? fault_.backward_factor : 1);
    }
    rank.work_ns[at(id)] = nearest_ns(healthy_ns * factor);
    if (one.step >= 0) {
      extra_ns += static_cast<double>(rank.work_ns[at(id)] - nearest_ns(healthy_ns));
    }
  }

  void launch_comm(int index, RankRun& rank, const HostInstruction& one) {
    open(rank, one, HostCategory::kCpuOp, one.op_name);
    rank.host_ns += host_cost(rank, index, kCommOpNs);
    const CoalescedLink link = spec_.trace.coalesced_link;
    int external_id = 0;
    int meta = -1;
    for (std::size_t i = 0; i < one.calls.size(); ++i) {
      const int opened = open_record(index, rank, one, one.calls[i].meta);
      const bool is_linked = one.calls.size() == 1 || (link == CoalescedLink::kFirst && i == 0) ||
                             (link == CoalescedLink::kLast && i + 1 == one.calls.size());
      if (is_linked && opened > 0) {
        external_id = opened;
        meta = static_cast<int>(rank.out.metas.size()) - 1;
      }
      if (i + 1 < one.calls.size()) close(rank);
    }
    const int correlation = runtime_call(rank, one, runtime_comm_launch_, external_id,
                                         host_cost(rank, index, kCommLaunchCallNs, 1));
    const int id = add_kernel(rank, one, KernelKind::kComm, correlation, external_id);
    rank.out.kernels[at(id)].meta = meta;
    close(rank);  // the last record
    rank.host_ns += host_cost(rank, index, kOpNs / 2, 2);
    close(rank);
    for (const CommCall& call : one.calls) {
      if (!call.is_coalesced) rank.comms[at(id)].push_back(comm_of(index, rank, call));
    }
  }

  // The collective or message that a rank's call is part of: by their order on each rank.
  int comm_of(int index, RankRun& rank, const CommCall& call) {
    const CudaCommMeta& meta = call.meta;
    std::vector<int>* comms = &group_comms_[at(meta.group)];
    std::size_t count = 0;
    std::uint64_t key = at(meta.group);
    if (meta.peer >= 0) {
      const bool is_send = meta.kind == CommKind::kSend;
      const std::pair<int, int> ends = is_send ? std::pair{index, meta.peer} : std::pair{meta.peer, index};
      comms = &message_comms_[ends];
      count = at(rank.message_counts[ends]++);
      key = (1U << 20) + at(ends.first) * 4096 + at(ends.second);
    } else {
      count = at(rank.comm_counts[at(meta.group)]++);
    }
    if (comms->size() == count) {
      CudaComm comm;
      comm.group = meta.group;
      comm.kind = meta.peer >= 0 ? CommKind::kSend : meta.kind;
      if (meta.peer >= 0) comm.sender = meta.kind == CommKind::kSend ? index : meta.peer;
      comm.is_eager = meta.peer >= 0 && spec_.has_eager_sends;
      const double noise = spec_.noise.transfer * noise_.normal(KeyedNoise::kTransfer, key, count);
      comm.transfer_ns = nearest_ns(static_cast<double>(call.transfer_ns) * std::clamp(1 + noise, 0.6, 1.6));
      comms->push_back(static_cast<int>(job.comms.size()));
      job.comms.push_back(std::move(comm));
    }
    return (*comms)[count];
  }

  void record_event(int index, RankRun& rank, const HostInstruction& one) {
    CudaEventState& event = rank.events[at(one.event)];
    event.stream = one.stream;
    queue_of(rank, one.stream).items.push_back({QueuedWork::kRecord, one.event, rank.host_ns});
    if (one.name >= 0) {
      event.correlation = runtime_call(rank, one, one.name, 0, host_cost(rank, index, kEventCallNs));
    }
  }

  void add_sync_event(RankRun& rank, const HostInstruction& one, int event_name, std::int64_t begin_ns,
                      int correlation) {
    if (one.step < 0 || !spec_.trace.has_sync_events) return;
    const CudaEventState& waited = rank.events[at(one.event)];
    CudaHostEvent& event = rank.out.host.emplace_back();
    event.category = HostCategory::kSync;
    event.name = event_name;
    event.begin_ns = begin_ns;
    event.end_ns = rank.host_ns;
    event.correlation = correlation;
    event.stream = event_name == stream_wait_name_   ? one.stream
                   : event_name == stream_sync_name_ ? waited.stream
                                                     : -1;
    if (event_name == stream_sync_name_) return;
    event.wait_on_stream = waited.stream;
    event.wait_on_correlation = waited.correlation;
  }

  void stream_wait(int index, RankRun& rank, const HostInstruction& one) {
    queue_of(rank, one.stream).items.push_back({QueuedWork::kWait, one.event, rank.host_ns});
    const std::int64_t begin_ns = rank.host_ns;
    const int correlation = runtime_call(rank, one, one.name, 0, host_cost(rank, index, kEventCallNs));
    add_sync_event(rank, one, stream_wait_name_, begin_ns, correlation);
  }

  void host_sync(int index, RankRun& rank, const HostInstruction& one) {
    const CudaEventState& event = rank.events[at(one.event)];
    const std::int64_t begin_ns = rank.host_ns;
    const std::int64_t wait_ns = std::max<std::int64_t>(0, event.time_ns - rank.host_ns);
    const int correlation =
        runtime_call(rank, one, one.name, 0, wait_ns + host_cost(rank, index, kSyncCallNs));
    const bool is_of_event = event.correlation > 0;
    add_sync_event(rank, one, is_of_event ? event_sync_name_ : stream_sync_name_, begin_ns, correlation);
  }

  // --- The device ---

  bool run_stream(int index, RankRun& rank, std::size_t position) {
    StreamQueue& queue = rank.streams[position];
    const std::size_t from = queue.head;
    while (queue.head < queue.items.size() && !queue.is_spinning) {
      const QueuedItem item = queue.items[queue.head];
      if (item.work == QueuedWork::kRecord) {
        rank.events[at(item.id)].time_ns = std::max(queue.time_ns, item.issued_ns);
      } else if (item.work == QueuedWork::kWait) {
        const std::int64_t time_ns = rank.events[at(item.id)].time_ns;
        if (time_ns < 0) break;
        queue.time_ns = std::max(queue.time_ns, time_ns);
      } else {
        CudaKernel& kernel = rank.out.kernels[at(item.id)];
        kernel.begin_ns = std::max(queue.time_ns, item.issued_ns);
        if (kernel.kind == KernelKind::kComm) {
          queue.is_spinning = true;
          arrive(index, item.id);
          continue;  // where the kernel has ended, the head has moved on
        }
        kernel.end_ns = kernel.begin_ns + rank.work_ns[at(item.id)];
        queue.time_ns = kernel.end_ns;
      }
      ++queue.head;
    }
    return queue.head > from;
  }

  void arrive(int index, int kernel) {
    RankRun& rank = ranks_[at(index)];
    const std::vector<int>& comms = rank.comms[at(kernel)];
    const int spinning = static_cast<int>(spinning_.size());
    spinning_.push_back({index, kernel, static_cast<int>(comms.size()), 0});
    for (const int id : comms) {
      CudaComm& comm = job.comms[at(id)];
      const bool is_message = comm.kind == CommKind::kSend;
      comm.parts.emplace_back(index, kernel);
      arrivals_.resize(job.comms.size());
      arrivals_[at(id)].push_back(spinning);
      const std::size_t members = is_message ? 2 : job.groups[at(comm.group)].ranks.size();
      if (comm.is_eager && comm.sender == index) leave_eagerly(spinning);
      if (comm.parts.size() == members) complete(comm, arrivals_[at(id)]);
    }
  }
  void leave_eagerly(int spinning) {
    SpinningKernel& one = spinning_[at(spinning)];
    const CudaKernel& kernel = ranks_[at(one.rank)].out.kernels[at(one.kernel)];
    one.end_ns = kernel.begin_ns + nearest_ns(kEagerSendNs);
    one.open_comms = 0;
    finish(one);
  }

  // All ranks of a collective have arrived.
  void complete(const CudaComm& comm, const std::vector<int>& parts) {
    std::int64_t latest_ns = 0;
    for (const int part : parts) {
      const SpinningKernel& one = spinning_[at(part)];
      latest_ns = std::max(latest_ns, ranks_[at(one.rank)].out.kernels[at(one.kernel)].begin_ns);
    }
    for (const int part : parts) {
      SpinningKernel& one = spinning_[at(part)];
      if (one.open_comms == 0) continue;  // an eager send that has left
      const double jitter_ns =
          1e9 * spec_.noise.jitter_s * noise_.uniform(KeyedNoise::kJitter, at(one.rank), at(one.kernel));
      one.end_ns = std::max(one.end_ns, latest_ns + comm.transfer_ns + nearest_ns(jitter_ns));
      if (--one.open_comms == 0) finish(one);
    }
  }
  void finish(const SpinningKernel& one) {
    RankRun& rank = ranks_[at(one.rank)];
    CudaKernel& kernel = rank.out.kernels[at(one.kernel)];
    kernel.end_ns = one.end_ns;
    StreamQueue& queue = queue_of(rank, kernel.stream);
    queue.is_spinning = false;
    queue.time_ns = one.end_ns;
    ++queue.head;
    touched_.push_back(one.rank);
  }

  const CudaJobSpec& spec_;
  const JobPrograms& programs_;
  FaultEffect fault_;
  KeyedNoise noise_;
  std::deque<RankRun> ranks_;
  std::vector<std::vector<int>> group_comms_;                      // of each group, in order
  std::map<std::pair<int, int>, std::vector<int>> message_comms_;  // of sender and receiver, in order
  std::vector<SpinningKernel> spinning_;
  std::vector<std::vector<int>> arrivals_;  // of each collective, in spinning_
  std::deque<int> touched_;                 // ranks that may go on
  int runtime_launch_ = 0;
  int runtime_comm_launch_ = 0;
  int runtime_copy_ = 0;
  int record_name_ = 0;
  int stream_wait_name_ = 0;
  int event_sync_name_ = 0;
  int stream_sync_name_ = 0;
};

std::vector<double> recorded_step_times(const CudaJob& job, int steps) {
  std::vector<std::int64_t> longest_ns(static_cast<std::size_t>(steps));
  for (const CudaRank& rank : job.ranks) {
    std::vector<std::int64_t> ends(static_cast<std::size_t>(steps));
    std::int64_t begin_ns = -1;
    for (const CudaKernel& kernel : rank.kernels) {
      if (kernel.step < 0) continue;
      if (begin_ns < 0) begin_ns = kernel.begin_ns;
      ends[static_cast<std::size_t>(kernel.step)] = kernel.end_ns;  // the last one launched stays
    }
    for (std::size_t step = 0; step < ends.size(); ++step) {
      longest_ns[step] = std::max(longest_ns[step], ends[step] - begin_ns);
      begin_ns = ends[step];
    }
  }
  std::vector<double> seconds;
  for (const std::int64_t ns : longest_ns) seconds.push_back(static_cast<double>(ns) * 1e-9);
  return seconds;
}

double mean_without_first(const std::vector<double>& values) {
  double sum = 0;
  for (std::size_t i = 1; i < values.size(); ++i) sum += values[i];
  return values.size() < 2 ? 0 : sum / static_cast<double>(values.size() - 1);
}

// The time of the kernels that a fault slows, per recorded step.
double slowed_kernels_ns(const CudaJobSpec& spec, const JobPrograms& programs, const CudaJob& healthy) {
  const std::size_t rank = static_cast<std::size_t>(spec.fault.rank);
  std::size_t kernel = 0;
  double sum_ns = 0;
  for (const HostInstruction& one : programs.ranks[rank].instructions) {
    if (one.action != HostAction::kLaunch && one.action != HostAction::kComm) continue;
    const CudaKernel& ran = healthy.ranks[rank].kernels[kernel++];
    if (one.action == HostAction::kComm || one.step < 0 || one.kernel != KernelKind::kCompute) continue;
    if (one.stream != kComputeStream) continue;
    if (spec.fault.kind == CudaFaultKind::kBackward && one.pass != PassKind::kBackward) continue;
    sum_ns += static_cast<double>(ran.end_ns - ran.begin_ns);
  }
  return sum_ns / spec.steps;
}

FaultEffect fault_effect(const CudaJobSpec& spec, const JobPrograms& programs, const CudaJob& healthy,
                         double step_s) {
  FaultEffect effect{.rank = spec.fault.rank};
  const double extra_ns = spec.fault.share * step_s * 1e9;
  switch (spec.fault.kind) {
    case CudaFaultKind::kNone:
      break;
    case CudaFaultKind::kCompute:
      effect.compute_factor = 1 + extra_ns / slowed_kernels_ns(spec, programs, healthy);
      break;
    case CudaFaultKind::kBackward:
      effect.backward_factor = 1 + extra_ns / slowed_kernels_ns(spec, programs, healthy);
      break;
    case CudaFaultKind::kLoader:
      effect.loader_ns = extra_ns;
      break;
    case CudaFaultKind::kPause:
      effect.pause_ns = extra_ns;
      break;
    case CudaFaultKind::kHiddenLoader:
      effect.loader_ns = kHiddenLoaderShare * step_s * 1e9;
      break;
  }
  return effect;
}

}  // namespace

CudaJob simulate_cuda_job(const CudaJobSpec& spec) {
  const JobPrograms programs = make_job_programs(spec);
  JobRun healthy(spec, programs, {});
  healthy.run();
  CudaJobTruth truth;
  truth.healthy_steps_s = recorded_step_times(healthy.job, spec.steps);
  truth.healthy_step_s = mean_without_first(truth.healthy_steps_s);
  truth.step_s = truth.healthy_steps_s;
  CudaJob job;
  if (spec.fault.kind == CudaFaultKind::kNone) {
    job = std::move(healthy.job);
  } else {
    JobRun faulty(spec, programs, fault_effect(spec, programs, healthy.job, truth.healthy_step_s));
    faulty.run();
    truth.step_s = recorded_step_times(faulty.job, spec.steps);
    truth.true_slowdown = mean_without_first(truth.step_s) / truth.healthy_step_s;
    if (spec.fault.kind != CudaFaultKind::kHiddenLoader) {
      truth.slow_rank = spec.fault.rank;
      truth.extra_s = faulty.extra_ns * 1e-9 / spec.steps;
    }
    job = std::move(faulty.job);
  }
  job.spec = spec;
  job.truth = std::move(truth);
  return job;
}

std::string group_name(const CudaJob& job, int rank, int group) {
  if (!job.spec.trace.has_local_group_names) return std::to_string(group);
  const std::vector<int>& own = job.ranks[static_cast<std::size_t>(rank)].groups;
  return std::to_string(std::find(own.begin(), own.end(), group) - own.begin());
}

}  // namespace goodput::testing
