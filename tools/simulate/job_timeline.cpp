#include "tools/simulate/job_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "sim/job/time_bucket.h"
#include "traces/io/byte_sink.h"

namespace goodput {
namespace {

constexpr std::size_t kFlushBytes = 1 << 18;

// Viewers read times as float64, which is exact for whole microseconds.
std::int64_t microseconds(SimTime time) {
  return time.time_since_epoch().count() / 1000;
}

std::string_view slice_name(TimeBucket bucket) {
  return bucket == TimeBucket::kProductive ? "training" : info(bucket).name;
}

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

struct NodeSlice {
  SimTime begin{};
  SimTime end{};
  TimeBucket bucket = TimeBucket::kIdleNode;
};

struct NodeTrack {
  std::vector<NodeSlice> slices;      // what it takes part in; ascending
  std::vector<NodeSlice> held;        // ascending
  std::vector<NodeEvent> happenings;  // after time 0
};

void extend(std::vector<NodeSlice>& slices, const NodeSlice& slice) {
  if (!slices.empty() && slices.back().end == slice.begin && slices.back().bucket == slice.bucket) {
    slices.back().end = slice.end;
  } else {
    slices.push_back(slice);
  }
}

void add_events(const RecordedRun& run, std::map<NodeId, NodeTrack>& tracks) {
  for (const NodeEvent& event : run.events) {
    NodeTrack& track = tracks[event.node];
    // Who comes back at the moment of its loss is held all the time.
    if (event.kind == NodeEvent::Kind::kAdd) extend(track.held, {event.time, run.end});
    if (event.kind == NodeEvent::Kind::kRemove) track.held.back().end = event.time;
    if (event.time > SimTime{} || event.kind == NodeEvent::Kind::kSpeed) track.happenings.push_back(event);
  }
}

std::map<NodeId, NodeTrack> tracks_of(const RecordedRun& run) {
  std::map<NodeId, NodeTrack> tracks;
  add_events(run, tracks);
  for (const JobSpan& span : run.log.spans) {
    for (const NodeId node : run.log.node_sets[span.nodes])
      extend(tracks[node].slices, {span.begin, span.end, span.bucket});
  }
  return tracks;
}

// With idle time where the node is held and takes part in nothing.
std::vector<NodeSlice> with_idle(const NodeTrack& track) {
  std::vector<NodeSlice> all;
  auto next = track.slices.begin();
  for (const NodeSlice& held : track.held) {
    SimTime at = held.begin;
    for (; next != track.slices.end() && next->begin < held.end; ++next) {
      if (at < next->begin) all.push_back({at, next->begin, TimeBucket::kIdleNode});
      all.push_back(*next);
      at = next->end;
    }
    if (at < held.end) all.push_back({at, held.end, TimeBucket::kIdleNode});
  }
  return all;
}

class JobTimelineWriter {
 public:
  JobTimelineWriter(std::span<const RecordedRun> runs, const std::function<std::string(NodeId)>& node_name,
                    ByteSink sink)
      : runs_(runs), node_name_(node_name), sink_(std::move(sink)) {}

  Status write() {
    text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    for (pid_ = 0; pid_ < runs_.size(); ++pid_) {
      name_process();
      GOODPUT_TRY_STATUS(write_job());
      for (const auto& [node, track] : tracks_of(runs_[pid_])) GOODPUT_TRY_STATUS(write_node(node, track));
    }
    text_ += "\n]}\n";
    GOODPUT_TRY_STATUS(sink_.write(text_));
    return sink_.close();
  }

 private:
  // ---- Threads. Their ids are above all process ids: viewers take thread n of process n for its main one.

  [[nodiscard]] std::size_t job_thread() const { return runs_.size(); }
  [[nodiscard]] std::size_t thread_of(NodeId node) const {
    return runs_.size() + 1 + static_cast<std::size_t>(node);
  }

  Status write_job() {
    name_thread(job_thread(), "job");
    const JobLog& log = runs_[pid_].log;
    for (const JobSpan& span : log.spans) {
      slice(job_thread(), {span.begin, span.end, span.bucket}, args_of(span, log));
      GOODPUT_TRY_STATUS(sink_.write_if_full(text_, kFlushBytes));
    }
    for (const JobInstant& moment : log.instants) {
      if (moment.kind == JobInstant::Kind::kCourse) {
        instant(job_thread(), moment.time, course_name(moment),
                fmt::format(R"({{"steps_lost":{}}})", moment.lost_steps));
      } else if (moment.kind == JobInstant::Kind::kEnd) {
        instant(job_thread(), moment.time, moment.text.empty() ? "end" : moment.text, "{}");
      }
    }
    return Ok{};
  }

  Status write_node(NodeId node, const NodeTrack& track) {
    name_thread(thread_of(node), node_name_(node));
    for (const NodeSlice& one : with_idle(track)) {
      slice(thread_of(node), one, "{}");
      GOODPUT_TRY_STATUS(sink_.write_if_full(text_, kFlushBytes));
    }
    for (const NodeEvent& happening : track.happenings)
      instant(thread_of(node), happening.time, happening_name(happening), "{}");
    return Ok{};
  }

  static std::string course_name(const JobInstant& moment) {
    if (moment.cause == Cause::kNone) return "the job " + moment.text;
    return std::string(kCauseNames[static_cast<std::size_t>(moment.cause)]);
  }

  static std::string happening_name(const NodeEvent& event) {
    if (event.kind == NodeEvent::Kind::kAdd) return "joins";
    if (event.kind == NodeEvent::Kind::kRemove) return "lost";
    return fmt::format("speed {:.3g}", event.speed);
  }

  static std::string args_of(const JobSpan& span, const JobLog& log) {
    const std::size_t nodes = log.node_sets[span.nodes].size();
    if (span.bucket != TimeBucket::kProductive) return fmt::format(R"({{"nodes":{}}})", nodes);
    return fmt::format(R"({{"nodes":{},"first_step":{},"steps":{},"step_s":{},"samples":{},"saving_s":{}}})",
                       nodes, span.first_step, span.steps, to_seconds(span.step),
                       span.steps * span.samples_per_step, to_seconds(span.saving));
  }

  // ---- Events.

  template <typename... Arguments>
  void event(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_ += is_first_event_ ? "\n" : ",\n";
    is_first_event_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  void name_process() {
    event(R"({{"name":"process_name","ph":"M","pid":{},"args":{{"name":{}}}}})", pid_,
          json_text(runs_[pid_].policy));
    event(R"({{"name":"process_sort_index","ph":"M","pid":{0},"args":{{"sort_index":{0}}}}})", pid_);
  }
  void name_thread(std::size_t thread, const std::string& name) {
    event(R"({{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})", pid_, thread,
          json_text(name));
    event(R"({{"name":"thread_sort_index","ph":"M","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", pid_,
          thread, thread - job_thread());
  }
  void slice(std::size_t thread, const NodeSlice& of, std::string_view args) {
    const std::int64_t begin = microseconds(of.begin);
    const std::int64_t end = microseconds(of.end);
    if (end == begin) return;
    event(R"({{"name":"{}","ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"args":{}}})", slice_name(of.bucket),
          pid_, thread, begin, end - begin, args);
  }
  void instant(std::size_t thread, SimTime time, const std::string& name, std::string_view args) {
    event(R"({{"name":{},"ph":"i","s":"t","pid":{},"tid":{},"ts":{},"args":{}}})", json_text(name), pid_,
          thread, microseconds(time), args);
  }

  std::span<const RecordedRun> runs_;
  const std::function<std::string(NodeId)>& node_name_;
  ByteSink sink_;
  std::size_t pid_ = 0;
  std::string text_;
  bool is_first_event_ = true;
};

}  // namespace

Status write_job_timeline(std::span<const RecordedRun> runs,
                          const std::function<std::string(NodeId)>& node_name, const std::string& path,
                          std::string_view final_path) {
  GOODPUT_TRY(ByteSink sink, ByteSink::open(path, final_path, ByteSink::Compression::kFast));
  return JobTimelineWriter(runs, node_name, std::move(sink)).write();
}

}  // namespace goodput
