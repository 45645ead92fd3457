// Writes the program of one rank of a simulated job, in the terms of PyTorch: streams, events, kernels,
// collectives.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/support/cuda_job.h"
#include "tests/support/cuda_job_programs.h"

namespace goodput::testing {

inline constexpr int kComputeStream = 7;  // as traces number it

// Names, each once.
class CudaNameTable {
 public:
  int operator()(const std::string& name);
  [[nodiscard]] std::vector<std::string> take() { return std::move(names_); }

 private:
  std::unordered_map<std::string, int> indices_;
  std::vector<std::string> names_;
};

// Where a rank is in the job, and its groups there, in CudaLayout::groups (-1: it has none).
struct CudaRankPlace {
  int rank = 0;
  int stage = 0;
  int tp_group = -1;
  int dp_group = -1;
  int pp_group = -1;
  int shard_group = -1;
  int replica_group = -1;
  int expert_group = -1;
  int previous = -1;  // ranks of the neighboring stages
  int next = -1;
};

struct CudaLayout {
  std::vector<CudaGroup> groups;  // the first is the world
  std::vector<CudaRankPlace> places;
};

// Tensor-parallel ranks are neighbors, stages are farthest apart.
[[nodiscard]] CudaLayout make_cuda_layout(const CudaJobSpec& spec);

class HostScript {
 public:
  HostScript(const CudaJobSpec& spec, const CudaLayout& layout, const CudaRankPlace& place,
             CudaNameTable& names);

  void set_step(int step) { step_ = step; }
  // Which thread acts from now on.
  void set_autograd(bool is_autograd) { is_autograd_ = is_autograd; }
  [[nodiscard]] const CudaRankPlace& place() const { return place_; }
  [[nodiscard]] const CudaJobSpec& spec() const { return spec_; }
  [[nodiscard]] int step() const { return step_; }
  RankProgram take() { return std::move(program_); }

  // The stream that a group's asynchronous collectives run on.
  [[nodiscard]] int group_stream(int group) const;

  void step_begin(int number);
  void begin(const std::string& name, HostCategory category = HostCategory::kAnnotation);
  void end() { add(HostAction::kEnd); }
  void act(HostAction action, double work_ns = 0);

  void launch(int stream, const char* op, const char* kernel, double ns, PassKind pass,
              KernelKind kind = KernelKind::kCompute);
  void compute(const char* op, const char* kernel, double ns, PassKind pass) {
    launch(kComputeStream, op, kernel, ns, pass);
  }

  // An event at the end of what the stream has now. One without a call of the runtime is not in traces.
  [[nodiscard]] int record(int stream, bool has_call = true);
  void stream_wait(int stream, int event);
  void host_wait(int event, const char* call);
  // The host waits for all that the compute stream has: tensor.item().
  void item();
  // At the end of a step: the host waits for the end of the step that is `ahead` steps before this one, on
  // the device.
  void await_device(int ahead);

  // One NCCL kernel, on a stream that waits for nothing more than it has.
  void comm(int stream, std::vector<CommCall> calls);
  // On another stream than the current one, which it waits for. The result is the event at its end.
  [[nodiscard]] int async_comm(int stream, std::vector<CommCall> calls, int current = kComputeStream);
  // The compute stream waits for a collective, as work.wait() does.
  void wait_work(int done, const CudaCommMeta& meta, bool is_recorded);

  [[nodiscard]] CommCall collective(CommKind kind, int group, double transfer_ns, bool is_float32 = false);
  // Three launches that one kernel does where the job coalesces, else one.
  [[nodiscard]] std::vector<CommCall> collectives(CommKind kind, int group, double transfer_ns,
                                                  bool is_float32);
  [[nodiscard]] CommCall message(CommKind kind, int peer, double transfer_ns);

 private:
  HostInstruction& add(HostAction action);
  void set_splits(CudaCommMeta& meta, std::int64_t mean, std::int64_t size);
  [[nodiscard]] std::int64_t drawn_split(std::int64_t mean);

  const CudaJobSpec& spec_;
  const CudaLayout& layout_;
  const CudaRankPlace& place_;
  CudaNameTable& names_;
  RankProgram program_;
  std::vector<int> own_groups_;
  std::vector<std::int64_t> seq_;  // per group
  std::int64_t p2p_seq_ = 1;
  std::vector<int> step_ends_;  // events
  std::uint64_t splits_drawn_ = 1;
  int step_ = 0;
  bool is_autograd_ = false;
};

}  // namespace goodput::testing
