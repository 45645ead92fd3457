// What one rank of a training job did, as a profiler or recorder saw it: its steps, the communication it took
// part in, and when its own work before each launch of communication had ended.
//
// Plain data between a reader (traces/kineto) and models/collectives, which joins the ranks. All times are
// nanoseconds on the rank's own clock, since 1970 or another origin that all ranks share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace goodput {

struct ProcessGroup {
  std::string name;                 // unique within a rank; ranks may use one name for different groups
  std::string description;          // "mesh_dp", "PIPELINE_MODEL_PARALLEL_GROUP"; may be empty
  std::vector<std::int32_t> ranks;  // global, in the order of the group

  friend bool operator==(const ProcessGroup&, const ProcessGroup&) = default;
};

// A rank's part in one collective or message.
struct CommunicationPart {
  enum class Kind : std::uint8_t { kCollective, kSend, kReceive };
  Kind kind = Kind::kCollective;
  // Whether it is in the same kernel as the part before: a kernel may carry several messages.
  bool is_with_previous = false;
  std::uint32_t step = 0;   // index into steps: the step that launched it
  std::int32_t group = -1;  // index into groups; -1: the trace does not say (gloo)
  std::int32_t peer = -1;   // other end of a message: its global rank, or, if `group` is -1, its rank within
                            // the unknown group
  std::uint32_t name = 0;   // of the operation, index into names: "allreduce"
  std::uint32_t dtype = 0;  // index into names; may be ""
  std::int64_t elements = -1;  // input, summed over what one kernel carries; -1: unknown
  std::uint64_t shape = 0;     // tells sizes apart where elements are unknown; 0: unknown
  std::int64_t sequence = -1;  // number within its group; -1: unknown
  std::uint32_t stream = 0;    // of its kernel; streams of a rank are counted from 0
  std::int64_t launch_ns = 0;  // on the host
  std::int64_t begin_ns = 0;   // of the rank's part, where it runs
  std::int64_t end_ns = 0;
};

// A place where a rank's track is cut into segments. Cuts are in the order in which the host reached them.
struct TrackCut {
  enum class Kind : std::uint8_t { kLaunch, kWait, kPassEnd, kStepEnd };
  Kind kind = Kind::kStepEnd;
  std::int32_t part = -1;   // kLaunch: the first part launched here; kWait: the part that is waited for
  std::uint32_t label = 0;  // index into names: kind of work in the segment before it; "" if unknown
  std::int64_t end_ns = 0;  // when all work launched before it had ended; never decreases
  // On a device: when the first work launched in the segment before it began; 0 if there was none.
  std::int64_t begin_ns = 0;
  std::uint64_t streams = 0;  // bit min(stream, 63): the streams with work in the segment before it
};

// A time in which nothing began, ended or ran on the rank's track.
struct IdleGap {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

struct RankActivity {
  std::string file;  // the name that errors give
  std::int32_t rank = 0;
  std::int32_t world_size = 1;
  std::string host;        // empty: unknown
  bool on_device = false;  // segments are the work of its kernels; otherwise of its main thread
  std::vector<ProcessGroup> groups;
  std::vector<std::string> names;  // names[0] is ""

  struct Step {
    std::int64_t number = 0;
    std::int64_t begin_ns = 0;  // when its first segment may begin: the end of the step before
    std::int64_t end_ns = 0;
    std::uint32_t first_cut = 0;
    std::uint32_t cut_count = 0;
    bool is_first_in_file = false;  // no step before it shows when it began
  };
  std::vector<Step> steps;  // ascending
  std::vector<TrackCut> cuts;
  std::vector<CommunicationPart> parts;  // in the order of their launches
  std::vector<IdleGap> gaps;             // ascending, longer than kShortestHostGapNs or kShortestDeviceGapNs
  // How many pipeline stages its annotations name: several if the rank has several model chunks.
  std::uint32_t stages = 0;
  std::vector<std::string> spinning;  // names of kernels outside NCCL that wait for other ranks
  std::vector<std::string> notes;     // sentences for the user
};

// Adds `by_ns` to all times of a rank, as if its clock were set forward.
void shift_times(RankActivity& rank, std::int64_t by_ns);

// Shorter gaps are not kept: between the calls of a busy host thread, and between kernels of a device.
inline constexpr std::int64_t kShortestHostGapNs = 150'000;
inline constexpr std::int64_t kShortestDeviceGapNs = 20'000;

}  // namespace goodput
