// The ops of training steps as slices of a timeline. A process is a dp rank; a thread is a stage and a stream
// of it: compute, each kind of pipeline transfer, dp (collectives), and the communication inside passes.
// Slices of a thread never overlap: where ops of a
// stream do, further threads take them, "stage 0 forward-recv (2)".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/ops/op_graph.h"
#include "sim/ops/op_type_table.h"
#include "sim/ops/trace_index.h"
#include "traces/io/chrome_writer.h"

namespace goodput {

// An op as it is shown in every step and lane.
struct ShownOp {
  TraceOp op;
  std::string name;
  // Tensor-, context- or expert-parallel communication that is a part of a pass: gets threads of its own.
  bool is_within_pass = false;
};

// From the origin of the timeline. An op that ends before it starts is drawn with no length.
struct OpTimes {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// A point in time within an instance of an op.
struct FlowPoint {
  OpId op = 0;
  std::size_t dp_rank = 0;
  std::int64_t at_ns = 0;
};

class OpTracks {
 public:
  // Names the processes. Keeps a reference: `writer` must outlive the tracks, and count nanoseconds. Of
  // `types` are the categories, and the streams of types that are not NDTimeline's.
  OpTracks(ChromeWriter& writer, std::int32_t dp_size, std::int32_t pp_size, std::span<const ShownOp> ops,
           const OpTypeTable& types = {});

  // One step of a dp rank. `ranks`: by stage, what its slices say of where they ran. `times`: by op.
  // REQUIRES: as many as stages and ops.
  Status write_lane(std::size_t dp_rank, std::int64_t step, std::span<const std::int32_t> ranks,
                    std::span<const OpTimes> times);

  // What the lanes of the step just written have in common: a marker where it begins, and its critical path
  // as a flow from slice to slice. `path`: ops by their place in `ops`, in order of time.
  void write_step(std::int64_t step, std::int64_t start_ns, std::span<const FlowPoint> path);

 private:
  struct Slice {
    std::size_t op = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::size_t thread = 0;  // among the threads of its stream
  };

  void write_stream(std::size_t dp_rank, std::size_t stream, std::string_view args,
                    std::span<const OpTimes> times);
  static void assign_threads(std::vector<Slice>& slices);
  [[nodiscard]] ChromeWriter::Thread name_thread(std::size_t dp_rank, std::size_t stream, std::size_t number);

  ChromeWriter& writer_;
  std::size_t dp_size_;
  std::vector<std::vector<std::size_t>> ops_of_stream_;     // by stage and stream
  std::size_t most_threads_ = 1;                            // that a stream can need
  std::vector<ChromeWriter::Label> labels_;                 // by op
  std::vector<std::string> args_;                           // by op: what does not depend on step and rank
  std::vector<std::vector<ChromeWriter::Thread>> threads_;  // by dp rank, stage and stream: named so far
  std::vector<std::size_t> stream_of_op_;                   // stage and stream, by op
  std::vector<Slice> slices_;                               // of the stream at hand
  std::vector<std::uint32_t> thread_of_op_;                 // by dp rank and op, of the step at hand
  std::int64_t steps_ = 0;                                  // written
};

// Fails when viewers, which read microseconds as float64, could not tell nanoseconds apart (104 days).
Status check_timeline_length(double seconds, std::string_view final_path);

}  // namespace goodput
