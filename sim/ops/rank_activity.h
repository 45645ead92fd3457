// What one rank of a training job did, as a profiler or a recorder saw it: its steps, the communication it
// took part in, and how far its own work had come whenever it launched some.
//
// Plain data between a reader (traces/kineto) and models/collectives, which joins the ranks. All times are
// nanoseconds of the rank's own clock since 1970, or since another origin that all ranks share.
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
  // One kernel may carry several messages: they are parts of the same times that follow each other.
  bool is_with_previous = false;
  std::uint32_t step = 0;      // index into steps: of the launch
  std::int32_t group = -1;     // index into groups; -1: the trace does not say (gloo)
  std::int32_t peer = -1;      // global rank at the other end of a message; in `group`s that are unknown (-1)
                               // the rank within the group of the message
  std::uint32_t name = 0;      // of the operation, index into names: "allreduce"
  std::uint32_t dtype = 0;     // index into names; may be ""
  std::int64_t elements = -1;  // input, summed over what one kernel carries; -1: unknown
  std::uint64_t shape = 0;     // tells sizes apart where elements are unknown; 0: unknown
  std::int64_t sequence = -1;  // number within its group; -1: unknown
  std::uint32_t stream = 0;    // of its kernel; streams of a rank are counted from 0
  std::int64_t launch_ns = 0;  // on the host
  std::int64_t begin_ns = 0;   // of the rank's part, where it runs
  std::int64_t end_ns = 0;
};

// A place where a rank's track is cut into segments, in the order in which the host came there.
struct TrackCut {
  enum class Kind : std::uint8_t { kLaunch, kWait, kPassEnd, kStepEnd };
  Kind kind = Kind::kStepEnd;
  std::int32_t part = -1;   // kLaunch: the first part launched here; kWait: the part that is waited for
  std::uint32_t label = 0;  // index into names: what the segment before it is, "" if unknown
  std::int64_t end_ns = 0;  // when the rank's work launched before it has ended; never falls
  std::int64_t begin_ns =
      0;  // device: when the first work launched in the segment before it began; 0: none was
  std::uint64_t streams = 0;  // bit min(stream, 63): streams that the segment before it has work on
};

// While nothing began, ended or ran on the rank's track.
struct IdleGap {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

struct RankActivity {
  std::string file;  // that errors name
  std::int32_t rank = 0;
  std::int32_t world_size = 1;
  std::string host;        // empty: unknown
  bool on_device = false;  // segments are what its kernels do; else what its main thread does
  std::vector<ProcessGroup> groups;
  std::vector<std::string> names;  // names[0] is ""

  struct Step {
    std::int64_t number = 0;
    std::int64_t begin_ns = 0;  // where its first segment may begin: the end of the step before
    std::int64_t end_ns = 0;
    std::uint32_t first_cut = 0;
    std::uint32_t cut_count = 0;
    bool is_first_in_file = false;  // its begin is not known from a step before it
  };
  std::vector<Step> steps;  // ascending
  std::vector<TrackCut> cuts;
  std::vector<CommunicationPart> parts;  // in the order of their launches
  std::vector<IdleGap> gaps;             // ascending, longer than kShortestHostGapNs or kShortestDeviceGapNs
  // Stages of a pipeline that its annotations name: several where it has model chunks.
  std::uint32_t stages = 0;
  std::vector<std::string> spinning;  // kernels that wait for peers under other names than NCCL's
  std::vector<std::string> notes;     // for the user, in a sentence each
};

// Adds `by_ns` to all times of a rank, as if its clock were set forward.
void shift_times(RankActivity& rank, std::int64_t by_ns);

// Shorter ones are not kept: on a host, between the calls of a busy thread; on a device, between kernels.
inline constexpr std::int64_t kShortestHostGapNs = 150'000;
inline constexpr std::int64_t kShortestDeviceGapNs = 20'000;

}  // namespace goodput
