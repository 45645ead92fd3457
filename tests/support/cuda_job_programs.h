// What the hosts of a job's ranks do: instructions in program order, as PyTorch would issue them for each
// kind of job.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tests/support/cuda_job.h"

namespace goodput::testing {

enum class HostAction {
  kStepBegin,
  kStepEnd,
  kBegin,        // of a host event that encloses others
  kEnd,          // of the last one that has begun
  kHostWork,     // the host computes for `work_ns`
  kLoaderSpot,   // where a slow loader waits
  kPauseSpot,    // where a pause falls
  kLaunch,       // a compute kernel or a copy, within a cpu_op
  kComm,         // launches of one NCCL kernel
  kWaitRecord,   // record_param_comms named `wait`
  kRecordEvent,  // cudaEventRecord
  kStreamWait,   // cudaStreamWaitEvent
  kHostSync,     // the host waits for an event
};

enum class PassKind { kForward, kBackward, kOther };

// A collective or a message that a NCCL kernel takes part in. Coalesced launches are parts of one of them.
struct CommCall {
  CudaCommMeta meta;
  std::int64_t transfer_ns = 0;
  bool is_coalesced = false;  // its kernel belongs to the call before it
};

struct HostInstruction {
  HostAction action = HostAction::kHostWork;
  HostCategory category = HostCategory::kCpuOp;
  KernelKind kernel = KernelKind::kCompute;
  PassKind pass = PassKind::kOther;
  bool is_autograd = false;
  int name = 0;     // of the event, or of the kernel
  int op_name = 0;  // of the cpu_op that launches it
  int stream = 0;
  int event = -1;
  int step = 0;
  std::int64_t work_ns = 0;  // nominal
  std::vector<CommCall> calls;
};

struct RankProgram {
  std::vector<HostInstruction> instructions;
  int events = 0;
};

struct JobPrograms {
  std::vector<CudaGroup> groups;  // the first is the world
  std::vector<std::string> names;
  std::vector<RankProgram> ranks;
  int steps_before = 0;  // steps that are run, but not recorded
};

[[nodiscard]] JobPrograms make_job_programs(const CudaJobSpec& spec);

}  // namespace goodput::testing
