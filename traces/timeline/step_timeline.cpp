#include "traces/timeline/step_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

#include "traces/io/byte_sink.h"

namespace goodput {
namespace {

enum class Stream : std::uint8_t {
  kCompute,
  kForwardRecv,
  kForwardSend,
  kBackwardRecv,
  kBackwardSend,
  kDp,
  kWithinPass,  // tensor-, context- and expert-parallel communication; planned steps only
};
constexpr std::array<std::string_view, 7> kStreamNames = {
    "compute", "forward-recv", "forward-send", "backward-recv", "backward-send", "dp", "communication"};
constexpr std::size_t kStreams = kStreamNames.size();

constexpr std::size_t kFlushBytes = 1 << 18;
// Viewers read microseconds as doubles; up to here those tell nanoseconds apart.
constexpr double kLongestTimelineS = 9e6;

Stream stream_of(OpType type) {
  switch (type) {
    case OpType::kForwardCompute:
    case OpType::kBackwardCompute:
    case OpType::kBackwardWeight:
    case OpType::kGc:
    case OpType::kOptimizer:
      return Stream::kCompute;
    case OpType::kForwardRecv:
      return Stream::kForwardRecv;
    case OpType::kForwardSend:
      return Stream::kForwardSend;
    case OpType::kBackwardRecv:
      return Stream::kBackwardRecv;
    case OpType::kBackwardSend:
      return Stream::kBackwardSend;
    default:
      return Stream::kDp;
  }
}

std::int64_t to_nanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

struct Slice {
  OpId op = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::size_t thread = 0;  // among the threads of its stream
};

// As a reader sees it who adds up microseconds in float64: the sum may round up past the end.
bool rounds_past_its_end(const Slice& slice) {
  const auto us = [](std::int64_t ns) { return static_cast<double>(ns) / 1000; };
  return us(slice.start_ns) + us(slice.end_ns - slice.start_ns) > us(slice.end_ns);
}

// Puts every slice on the first thread that is free when it starts, and orders them by start. A slice that
// another follows at once gives up a nanosecond where float64 would make the two overlap.
void assign_threads(std::vector<Slice>& slices) {
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
    if (before.end_ns == slice.start_ns && before.start_ns < before.end_ns && rounds_past_its_end(before)) {
      --before.end_ns;
    }
    *free = &slice;
  }
}

// Where a step and its replicas are to be found.
struct LanePlace {
  const StepBlock* block;
  std::size_t step_in_block;
  std::size_t step;  // index into Recording::steps
  std::size_t dp_rank;

  [[nodiscard]] std::size_t lane() const { return block->shape.lane(step_in_block, dp_rank); }
};

// The times of every op in a lane, in seconds from the origin of its step.
class StepClock {
 public:
  virtual ~StepClock() = default;
  [[nodiscard]] virtual std::pair<double, double> times(OpId op, const LanePlace& place) const = 0;
  [[nodiscard]] virtual double step_time_s(std::size_t step) const = 0;
};

class RecordedClock final : public StepClock {
 public:
  explicit RecordedClock(const Recording& recording) : recording_(recording) {}

  [[nodiscard]] std::pair<double, double> times(OpId op, const LanePlace& place) const override {
    const std::size_t at = op * place.block->shape.stride() + place.lane();
    const double origin = recording_.step_origin_s[place.step];
    return {place.block->start_s[at] - origin, place.block->end_s[at] - origin};
  }
  [[nodiscard]] double step_time_s(std::size_t step) const override { return recording_.step_base_s[step]; }

 private:
  const Recording& recording_;
};

class IdealClock final : public StepClock {
 public:
  IdealClock(std::span<const double> start_s, std::span<const double> end_s)
      : start_s_(start_s), end_s_(end_s) {
    if (start_s.empty()) return;
    origin_s_ = *std::min_element(start_s.begin(), start_s.end());
    span_s_ = std::max(0.0, *std::max_element(end_s.begin(), end_s.end()) - origin_s_);
  }

  [[nodiscard]] std::pair<double, double> times(OpId op, const LanePlace& /*place*/) const override {
    return {start_s_[op] - origin_s_, end_s_[op] - origin_s_};
  }
  [[nodiscard]] double step_time_s(std::size_t /*step*/) const override { return span_s_; }

 private:
  std::span<const double> start_s_;
  std::span<const double> end_s_;
  double origin_s_ = 0;
  double span_s_ = 0;
};

// The text of an op's events that does not depend on where and when it ran.
struct OpText {
  std::string head;  // up to the process
  std::string tail;  // from the stage
};

OpText text_of(const TraceOp& op, std::string_view name) {
  const std::string mb = op.mb_id == kUnset ? "null" : fmt::to_string(op.mb_id);
  return {fmt::format(R"({{"name":"{}","cat":"{}","ph":"X","pid":)", name, to_string(op.type)),
          fmt::format(R"(,"stage":{},"mb_id":{},"seq_id":{}}}}})", op.stage, mb, op.seq_id)};
}

class TimelineWriter {
 public:
  // `looks`: of planned ops; empty: recorded ops are called after their type.
  TimelineWriter(const Recording& recording, std::span<const SliceLook> looks, const StepClock& clock,
                 ByteSink sink)
      : recording_(recording), clock_(clock), sink_(std::move(sink)) {
    ops_of_stream_.resize(static_cast<std::size_t>(recording.pp_size) * kStreams);
    for (OpId op = 0; op < recording.ops.size(); ++op) {
      const TraceOp& trace_op = recording.ops[op];
      const auto stage = static_cast<std::size_t>(trace_op.stage);
      const Stream stream =
          !looks.empty() && looks[op].is_communication ? Stream::kWithinPass : stream_of(trace_op.type);
      ops_of_stream_[stage * kStreams + static_cast<std::size_t>(stream)].push_back(op);
      op_text_.push_back(text_of(trace_op, looks.empty() ? to_string(trace_op.type) : looks[op].name));
    }
    for (const auto& ops : ops_of_stream_) most_threads_ = std::max(most_threads_, ops.size());
    threads_.resize(static_cast<std::size_t>(recording.dp_size) * ops_of_stream_.size());
  }

  Status write() {
    text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    for (std::size_t dp_rank = 0; dp_rank < static_cast<std::size_t>(recording_.dp_size); ++dp_rank) {
      name_process(dp_rank);
    }
    for (const StepBlock& block : recording_.blocks) {
      for (std::size_t i = 0; i < block.shape.steps; ++i) {
        GOODPUT_TRY_STATUS(write_step(block, i));
      }
    }
    text_ += "\n]}\n";
    GOODPUT_TRY_STATUS(sink_.write(text_));
    return sink_.close();
  }

 private:
  Status write_step(const StepBlock& block, std::size_t step_in_block) {
    LanePlace place = {&block, step_in_block, block.first_step + step_in_block, 0};
    for (; place.dp_rank < block.shape.replicas; ++place.dp_rank) {
      for (std::size_t stream = 0; stream < ops_of_stream_.size(); ++stream) write_stream(place, stream);
      if (text_.size() < kFlushBytes) continue;
      GOODPUT_TRY_STATUS(sink_.write(text_));
      text_.clear();
    }
    origin_ns_ += to_nanoseconds(1.1 * clock_.step_time_s(place.step));
    return Ok{};
  }

  void write_stream(const LanePlace& place, std::size_t stream) {
    slices_.clear();
    for (const OpId op : ops_of_stream_[stream]) {
      const auto [start_s, end_s] = clock_.times(op, place);
      const std::int64_t start_ns = origin_ns_ + to_nanoseconds(start_s);
      slices_.push_back({op, start_ns, std::max(start_ns, origin_ns_ + to_nanoseconds(end_s)), 0});
    }
    assign_threads(slices_);
    const std::size_t worker =
        place.dp_rank * static_cast<std::size_t>(recording_.pp_size) + stream / kStreams;
    const std::string args = fmt::format(R"(,"args":{{"rank":{},"step":{})", recording_.ranks[worker],
                                         recording_.steps[place.step]);
    for (const Slice& slice : slices_) {
      auto& threads = threads_[place.dp_rank * ops_of_stream_.size() + stream];
      if (slice.thread == threads.size()) threads.push_back(name_thread(place.dp_rank, stream, slice.thread));
      append_slice(slice, threads[slice.thread], args);
    }
  }

  void append_slice(const Slice& slice, const std::string& thread, const std::string& args) {
    begin_event();
    text_ += op_text_[slice.op].head;
    text_ += thread;
    text_ += ",\"ts\":";
    append_microseconds(slice.start_ns);
    text_ += ",\"dur\":";
    append_microseconds(slice.end_ns - slice.start_ns);
    text_ += args;
    text_ += op_text_[slice.op].tail;
  }

  void append_microseconds(std::int64_t ns) {
    const auto fraction = static_cast<int>(ns % 1000);
    const fmt::format_int whole(ns / 1000);
    text_.append(whole.data(), whole.size());
    const char digits[] = {'.', static_cast<char>('0' + fraction / 100),
                           static_cast<char>('0' + fraction / 10 % 10),
                           static_cast<char>('0' + fraction % 10)};
    text_.append(digits, sizeof digits);
  }

  void begin_event() {
    text_ += is_first_event_ ? "\n" : ",\n";
    is_first_event_ = false;
  }

  void name_process(std::size_t dp_rank) {
    begin_event();
    fmt::format_to(std::back_inserter(text_),
                   R"({{"name":"process_name","ph":"M","pid":{0},"args":{{"name":"dp rank {0}"}}}})",
                   dp_rank);
    begin_event();
    fmt::format_to(std::back_inserter(text_),
                   R"({{"name":"process_sort_index","ph":"M","pid":{0},"args":{{"sort_index":{0}}}}})",
                   dp_rank);
  }

  // Returns the text that puts an event on the thread. Thread ids are above all process ids: viewers take
  // thread n of process n for its main thread, and some do not tell thread 0 from thread 1.
  std::string name_thread(std::size_t dp_rank, std::size_t stream, std::size_t number) {
    const std::size_t sort_index = stream * most_threads_ + number;
    std::string thread =
        fmt::format(R"({},"tid":{})", dp_rank, static_cast<std::size_t>(recording_.dp_size) + sort_index);
    const std::string suffix = number == 0 ? "" : fmt::format(" ({})", number + 1);
    begin_event();
    fmt::format_to(std::back_inserter(text_),
                   R"({{"name":"thread_name","ph":"M","pid":{},"args":{{"name":"stage {} {}{}"}}}})", thread,
                   stream / kStreams, kStreamNames[stream % kStreams], suffix);
    begin_event();
    fmt::format_to(std::back_inserter(text_),
                   R"({{"name":"thread_sort_index","ph":"M","pid":{},"args":{{"sort_index":{}}}}})", thread,
                   sort_index);
    return thread;
  }

  const Recording& recording_;
  const StepClock& clock_;
  ByteSink sink_;
  std::vector<std::vector<OpId>> ops_of_stream_;   // at stage * kStreams + stream
  std::size_t most_threads_ = 1;                   // that a stream can need
  std::vector<OpText> op_text_;                    // by OpId
  std::vector<std::vector<std::string>> threads_;  // by dp rank and stream: the threads that were named
  std::vector<Slice> slices_;
  std::int64_t origin_ns_ = 0;  // of the step at hand
  std::string text_;
  bool is_first_event_ = true;
};

Status write_timeline(const Recording& recording, std::span<const SliceLook> looks, const StepClock& clock,
                      const std::string& path, std::string_view final_path) {
  double length_s = 0;
  for (std::size_t step = 0; step < recording.steps.size(); ++step) length_s += 1.1 * clock.step_time_s(step);
  if (!(length_s <= kLongestTimelineS)) {
    return Error{fmt::format("the steps take {:.4g} s, a timeline holds at most {:g} s; select fewer steps",
                             length_s, kLongestTimelineS),
                 {.file = std::string(final_path)}};
  }
  GOODPUT_TRY(auto sink, ByteSink::open(path, final_path, ByteSink::Compression::kFast));
  return TimelineWriter(recording, looks, clock, std::move(sink)).write();
}

}  // namespace

Status write_recorded_timeline(const Recording& recording, const std::string& path,
                               std::string_view final_path) {
  return write_timeline(recording, {}, RecordedClock(recording), path, final_path);
}

Status write_ideal_timeline(const Recording& recording, std::span<const double> start_s,
                            std::span<const double> end_s, const std::string& path,
                            std::string_view final_path) {
  GOODPUT_CHECK(start_s.size() == recording.ops.size() && end_s.size() == recording.ops.size(),
                "an ideal timeline needs one start and one end an op");
  return write_timeline(recording, {}, IdealClock(start_s, end_s), path, final_path);
}

Status write_planned_timeline(const Recording& planned, std::span<const SliceLook> looks,
                              const std::string& path, std::string_view final_path) {
  GOODPUT_CHECK(looks.size() == planned.ops.size(), "a planned timeline needs one look an op");
  return write_timeline(planned, looks, RecordedClock(planned), path, final_path);
}

}  // namespace goodput
