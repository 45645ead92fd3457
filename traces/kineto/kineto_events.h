// The events of one torch.profiler (Kineto) file that an analysis needs, as columns. Other events are skipped
// before they are parsed. Times are in nanoseconds: base_ns + `ts`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/ops/rank_activity.h"
#include "traces/io/byte_source.h"
#include "traces/io/json_windows.h"

namespace goodput {

// The limit on ranks and on the ranks of a group: beyond it a number is damaged.
inline constexpr std::int64_t kMostKinetoRanks = 1 << 24;

struct KinetoHeader {
  std::optional<std::int64_t> rank;  // of distributedInfo
  std::optional<std::int64_t> world_size;
  std::string backend;               // "nccl", "gloo", "cpu:gloo,cuda:nccl"
  std::vector<ProcessGroup> groups;  // from pg_config, without groups that list no ranks
  bool has_cut_groups = false;       // pg_config is not a list: on-demand traces hold a truncated string
  std::string host_name;
  std::int64_t base_ns = 0;
};

// What an event's args say about a communication op.
struct KinetoCommArgs {
  std::uint32_t collective = 0;         // "Collective name", index into names
  std::uint32_t dtype = 0;              // index into names
  std::uint32_t group_name = 0;         // "Process Group Name", else "... ID", index into names; "" if absent
  std::uint32_t group_description = 0;  // index into names
  std::uint32_t group_ranks = 0;  // "Process Group Ranks" unparsed, index into names; cut after 30 ranks
  std::int64_t in_elements = -1;
  std::int64_t out_elements = -1;
  std::int64_t group_size = -1;
  std::int64_t sequence = -1;  // "Seq"
  std::int32_t source = -1;    // "Src Rank"
  std::int32_t destination = -1;
};

struct KinetoEvents {
  std::string path;
  KinetoHeader header;
  std::vector<std::string> names;  // unique; names[0] is ""
  std::vector<KinetoCommArgs> comm_args;

  struct Step {  // user_annotation ProfilerStep#N
    std::int64_t number = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::uint32_t thread = 0;
  };
  std::vector<Step> steps;

  // Host events whose name an analysis uses (see kineto_names.h).
  struct Span {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::uint32_t name = 0;
    std::uint32_t thread = 0;
    std::int32_t comm = -1;         // record_param_comms with a collective or group: index into comm_args
    std::uint64_t external_id = 0;  // 0: none
    std::int32_t peer = -1;   // c10d::send and c10d::recv_: the rank in their group, from "Concrete Inputs"
    std::uint64_t shape = 0;  // of c10d::*: a hash of "Input Dims"; 0 without
  };
  std::vector<Span> spans;

  // Begin and end of every cpu_op and user_annotation except ProfilerStep#N, including those in `spans`.
  // Empty if the file has kernels, because then nobody needs them.
  struct Mark {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::uint32_t thread = 0;
    std::uint32_t name = 0;  // index into names if it is in `spans`, otherwise 0
  };
  std::vector<Mark> marks;

  struct Kernel {  // cat kernel, gpu_memcpy or gpu_memset
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::uint32_t stream = 0;
    std::uint32_t correlation = 0;
    std::int32_t collective = -1;  // index into collective_kernels; -1: not a collective
  };
  std::vector<Kernel> kernels;
  struct CollectiveKernel {         // its name begins with "nccl" in any case
    std::uint64_t external_id = 0;  // 0: none
    std::int32_t comm = -1;         // index into comm_args; -1: its args do not name a collective
    bool carries_messages = false;  // its name says SendRecv
  };
  std::vector<CollectiveKernel> collective_kernels;
  // Unique names, cut after 80 bytes, of kernels outside NCCL that wait for other ranks.
  std::vector<std::string> spinning_kernels;

  struct Launch {  // cat cuda_runtime or cuda_driver, with a correlation
    std::int64_t begin_ns = 0;
    std::uint32_t correlation = 0;
    std::uint32_t thread = 0;
  };
  std::vector<Launch> launches;

  struct StreamWait {  // cat cuda_sync, Stream Wait Event
    std::uint32_t stream = 0;
    std::uint32_t wait_on_stream = 0;
    std::uint32_t record_correlation = 0;  // of the cudaEventRecord that it waits for; 0: unknown
    std::uint32_t correlation = 0;         // of the cudaStreamWaitEvent; 0: unknown
    std::int64_t begin_ns = 0;
  };
  std::vector<StreamWait> stream_waits;

  std::uint64_t events = 0;  // in the file
  bool is_cut = false;       // the file ends before it should
  bool has_graphs = false;   // kernels of CUDA graphs: args name a "graph id" other than 0
};

// Needs memory for the columns and a window of the file.
[[nodiscard]] Result<KinetoEvents> read_kineto_events(ByteSource& source);
// The same with other limits on sizes and depth. The size of windows must not change the result; other limits
// have no effect.
[[nodiscard]] Result<KinetoEvents> read_kineto_events(ByteSource& source, JsonWindowLimits limits);

}  // namespace goodput
