#include "traces/timeline/op_tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace goodput {
namespace {

enum class Stream : std::uint8_t {
  kCompute,
  kForwardRecv,
  kForwardSend,
  kBackwardRecv,
  kBackwardSend,
  kDp,
  kWithinPass,
};
constexpr std::array<std::string_view, 7> kStreamNames = {
    "compute", "forward-recv", "forward-send", "backward-recv", "backward-send", "dp", "communication"};
constexpr std::size_t kStreams = kStreamNames.size();

// Microseconds as float64 tell nanoseconds apart up to 2^53 / 1000 of them.
constexpr double kLongestTimelineS = 9e6;

Stream stream_of(OpType type, OpClass op_class) {
  switch (type) {
    case OpType::kForwardRecv:
      return Stream::kForwardRecv;
    case OpType::kForwardSend:
      return Stream::kForwardSend;
    case OpType::kBackwardRecv:
      return Stream::kBackwardRecv;
    case OpType::kBackwardSend:
      return Stream::kBackwardSend;
    default:
      return op_class == OpClass::kCollective || op_class == OpClass::kP2p ? Stream::kDp : Stream::kCompute;
  }
}

// As a reader sees it who adds up microseconds in float64: the sum may round up past the end.
bool rounds_past_its_end(std::int64_t start_ns, std::int64_t end_ns) {
  const auto us = [](std::int64_t ns) { return static_cast<double>(ns) / 1000; };
  return us(start_ns) + us(end_ns - start_ns) > us(end_ns);
}

std::string args_of(const TraceOp& op) {
  const std::string mb = op.mb_id == kUnset ? "null" : fmt::to_string(op.mb_id);
  const std::string mc = op.mc == kUnset ? "null" : fmt::to_string(op.mc);
  return fmt::format(R"(,"stage":{},"mb_id":{},"seq_id":{},"mc":{})", op.stage, mb, op.seq_id, mc);
}

}  // namespace

OpTracks::OpTracks(ChromeWriter& writer, std::int32_t dp_size, std::int32_t pp_size,
                   std::span<const ShownOp> ops, const OpTypeTable& types)
    : writer_(writer), dp_size_(static_cast<std::size_t>(dp_size)) {
  ops_of_stream_.resize(static_cast<std::size_t>(pp_size) * kStreams);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto& [op, name, is_within_pass] = ops[i];
    const Stream stream = is_within_pass ? Stream::kWithinPass : stream_of(op.type, types[op.type].op_class);
    stream_of_op_.push_back(static_cast<std::size_t>(op.stage) * kStreams + static_cast<std::size_t>(stream));
    ops_of_stream_[stream_of_op_.back()].push_back(i);
    labels_.push_back(ChromeWriter::label(name, types[op.type].name));
    args_.push_back(args_of(op));
  }
  for (const auto& of_stream : ops_of_stream_) most_threads_ = std::max(most_threads_, of_stream.size());
  threads_.resize(dp_size_ * ops_of_stream_.size());
  thread_of_op_.resize(dp_size_ * ops.size());
  for (std::size_t dp_rank = 0; dp_rank < dp_size_; ++dp_rank) {
    writer_.name_process(dp_rank, fmt::format("dp rank {}", dp_rank));
  }
}

Status OpTracks::write_lane(std::size_t dp_rank, std::int64_t step, std::span<const std::int32_t> ranks,
                            std::span<const OpTimes> times) {
  for (std::size_t stream = 0; stream < ops_of_stream_.size(); ++stream) {
    write_stream(dp_rank, stream, fmt::format(R"("rank":{},"step":{})", ranks[stream / kStreams], step),
                 times);
  }
  return writer_.flush_if_full();
}

void OpTracks::write_stream(std::size_t dp_rank, std::size_t stream, std::string_view args,
                            std::span<const OpTimes> times) {
  slices_.clear();
  for (const std::size_t op : ops_of_stream_[stream]) {
    slices_.push_back({op, times[op].start_ns, std::max(times[op].start_ns, times[op].end_ns), 0});
  }
  assign_threads(slices_);
  auto& threads = threads_[dp_rank * ops_of_stream_.size() + stream];
  for (const Slice& slice : slices_) {
    if (slice.thread == threads.size()) threads.push_back(name_thread(dp_rank, stream, slice.thread));
    thread_of_op_[dp_rank * labels_.size() + slice.op] = static_cast<std::uint32_t>(slice.thread);
    writer_.slice(threads[slice.thread], labels_[slice.op], slice.start_ns, slice.end_ns, args,
                  args_[slice.op]);
  }
}

void OpTracks::write_step(std::int64_t step, std::int64_t start_ns, std::span<const FlowPoint> path) {
  const auto named =
      std::find_if(threads_.begin(), threads_.end(), [](const auto& threads) { return !threads.empty(); });
  if (named == threads_.end()) return;
  writer_.instant(named->front(), fmt::format("step {}", step), start_ns, fmt::format(R"("step":{})", step),
                  ChromeWriter::Scope::kAll);
  const std::int64_t id = steps_++;
  if (path.size() < 2) return;
  for (const FlowPoint& point : path) {
    const auto& threads = threads_[point.dp_rank * ops_of_stream_.size() + stream_of_op_[point.op]];
    const auto phase = &point == &path.front()  ? ChromeWriter::FlowPhase::kStart
                       : &point == &path.back() ? ChromeWriter::FlowPhase::kEnd
                                                : ChromeWriter::FlowPhase::kStep;
    writer_.flow(threads[thread_of_op_[point.dp_rank * labels_.size() + point.op]], phase, "critical path",
                 id, point.at_ns);
  }
}

// Puts every slice on the first thread that is free when it starts, and orders them by start. A slice that
// another follows at once gives up a nanosecond where float64 would make the two overlap.
void OpTracks::assign_threads(std::vector<Slice>& slices) {
  std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return std::tie(a.start_ns, a.end_ns, a.op) < std::tie(b.start_ns, b.end_ns, b.op);
  });
  std::vector<Slice*> last;  // by thread
  for (Slice& slice : slices) {
    const auto free = std::find_if(last.begin(), last.end(),
                                   [&](const Slice* before) { return before->end_ns <= slice.start_ns; });
    slice.thread = static_cast<std::size_t>(free - last.begin());
    if (free == last.end()) {
      last.push_back(&slice);
      continue;
    }
    Slice& before = **free;
    if (before.end_ns == slice.start_ns && before.start_ns < before.end_ns &&
        rounds_past_its_end(before.start_ns, before.end_ns)) {
      --before.end_ns;
    }
    *free = &slice;
  }
}

ChromeWriter::Thread OpTracks::name_thread(std::size_t dp_rank, std::size_t stream, std::size_t number) {
  const std::size_t sort_index = stream * most_threads_ + number;
  const std::string suffix = number == 0 ? "" : fmt::format(" ({})", number + 1);
  return writer_.name_thread(
      dp_rank, dp_size_ + sort_index,
      fmt::format("stage {} {}{}", stream / kStreams, kStreamNames[stream % kStreams], suffix), sort_index);
}

Status check_timeline_length(double seconds, std::string_view final_path) {
  if (seconds <= kLongestTimelineS) return Ok{};
  return Error{
      fmt::format("the steps take {:.4g} s, but a timeline can show at most {:g} s; select fewer steps",
                  seconds, kLongestTimelineS),
      {.file = std::string(final_path)}};
}

}  // namespace goodput
