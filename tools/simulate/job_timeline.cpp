#include "tools/simulate/job_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/job/time_bucket.h"
#include "traces/io/chrome_writer.h"

namespace goodput {
namespace {

std::int64_t nanoseconds(SimTime time) {
  return time.time_since_epoch().count();
}

std::string_view slice_name(TimeBucket bucket) {
  return bucket == TimeBucket::kProductive ? "training" : info(bucket).name;
}

// By bucket.
std::vector<ChromeWriter::Label> bucket_labels() {
  std::vector<ChromeWriter::Label> labels;
  for (std::size_t bucket = 0; bucket < kTimeBucketCount; ++bucket) {
    labels.push_back(ChromeWriter::label(slice_name(static_cast<TimeBucket>(bucket))));
  }
  return labels;
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
                    ChromeWriter writer)
      : runs_(runs), node_name_(node_name), writer_(std::move(writer)) {}

  Status write() {
    for (process_ = 0; process_ < runs_.size(); ++process_) {
      writer_.name_process(process_, runs_[process_].policy);
      GOODPUT_TRY_STATUS(write_job());
      for (const auto& [node, track] : tracks_of(runs_[process_])) {
        GOODPUT_TRY_STATUS(write_node(node, track));
      }
    }
    return writer_.close();
  }

 private:
  // `number`: 0 the job, then the nodes. Ids are above all process ids.
  ChromeWriter::Thread name_thread(std::size_t number, const std::string& name) {
    return writer_.name_thread(process_, runs_.size() + number, name, number);
  }

  Status write_job() {
    const ChromeWriter::Thread thread = name_thread(0, "job");
    const JobLog& log = runs_[process_].log;
    for (const JobSpan& span : log.spans) {
      slice(thread, {span.begin, span.end, span.bucket}, args_of(span, log));
      GOODPUT_TRY_STATUS(writer_.flush_if_full());
    }
    for (const JobInstant& moment : log.instants) {
      if (moment.kind == JobInstant::Kind::kCourse) {
        writer_.instant(thread, course_name(moment), nanoseconds(moment.time),
                        fmt::format(R"("steps_lost":{})", moment.lost_steps));
      } else if (moment.kind == JobInstant::Kind::kEnd) {
        writer_.instant(thread, moment.text.empty() ? "end" : moment.text, nanoseconds(moment.time), {});
      }
    }
    return Ok{};
  }

  Status write_node(NodeId node, const NodeTrack& track) {
    const ChromeWriter::Thread thread = name_thread(1 + static_cast<std::size_t>(node), node_name_(node));
    for (const NodeSlice& one : with_idle(track)) {
      slice(thread, one, {});
      GOODPUT_TRY_STATUS(writer_.flush_if_full());
    }
    for (const NodeEvent& happening : track.happenings) {
      writer_.instant(thread, happening_name(happening), nanoseconds(happening.time), {});
    }
    return Ok{};
  }

  // Those within a microsecond are left out.
  void slice(const ChromeWriter::Thread& thread, const NodeSlice& of, std::string_view args) {
    const std::int64_t begin = nanoseconds(of.begin);
    const std::int64_t end = nanoseconds(of.end);
    if (end / 1000 == begin / 1000) return;
    writer_.slice(thread, labels_[index(of.bucket)], begin, end, args);
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
    if (span.bucket != TimeBucket::kProductive) return fmt::format(R"("nodes":{})", nodes);
    return fmt::format(R"("nodes":{},"first_step":{},"steps":{},"step_s":{},"samples":{},"saving_s":{})",
                       nodes, span.first_step, span.steps, to_seconds(span.step),
                       span.steps * span.samples_per_step, to_seconds(span.saving));
  }

  std::span<const RecordedRun> runs_;
  const std::function<std::string(NodeId)>& node_name_;
  ChromeWriter writer_;
  std::vector<ChromeWriter::Label> labels_ = bucket_labels();
  std::size_t process_ = 0;
};

}  // namespace

Status write_job_timeline(std::span<const RecordedRun> runs,
                          const std::function<std::string(NodeId)>& node_name, const std::string& path,
                          std::string_view final_path) {
  GOODPUT_TRY(ChromeWriter writer,
              ChromeWriter::open(path, final_path, ChromeWriter::Precision::kMicroseconds));
  return JobTimelineWriter(runs, node_name, std::move(writer)).write();
}

}  // namespace goodput
