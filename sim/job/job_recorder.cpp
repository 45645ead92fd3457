#include "sim/job/job_recorder.h"

#include <utility>
#include <vector>

namespace goodput {

void JobRecorder::add_span(JobSpan span, SimTime began, SimTime ended) {
  span.begin = began;
  span.end = ended;
  span.nodes = static_cast<std::uint32_t>(log_->node_sets.size()) - 1;
  log_->spans.push_back(span);
}

void JobRecorder::record_spent(TimeBucket bucket, SimTime began, SimTime ended) {
  JobSpan span;
  span.bucket = bucket;
  add_span(span, began, ended);
}

void JobRecorder::record_trained(const TrainedStretch& stretch, const Progress& before) {
  JobSpan span;
  span.first_step = before.step;
  span.steps = stretch.steps;
  span.samples = before.samples;
  span.samples_per_step = stretch.samples_per_step;
  span.step = stretch.training.step;
  span.saving = stretch.saving;
  add_span(span, stretch.began, stretch.ended);
}

void JobRecorder::record_nodes_changed(const NodeChange& change, const Membership& members, SimTime now) {
  const auto add = [&](JobInstant::Kind kind, const std::vector<NodeId>& nodes) {
    for (const NodeId node : nodes) {
      JobInstant instant{kind, now, node};
      if (kind == JobInstant::Kind::kSpeed) instant.speed = members.speed(node);
      log_->instants.push_back(std::move(instant));
    }
  };
  add(JobInstant::Kind::kLost, change.lost);
  add(JobInstant::Kind::kJoined, change.joined);
  add(JobInstant::Kind::kSpeed, change.changed_speed);
  for (const NodeId node : change.joined) {
    if (const double speed = members.speed(node); speed != 1)
      log_->instants.push_back({JobInstant::Kind::kSpeed, now, node, speed});
  }
}

void JobRecorder::record_course_taken(const Course& course, std::int64_t lost_steps, SimTime now) {
  const bool waits = course.kind != Course::Kind::kTrain;
  log_->node_sets.emplace_back(course.nodes.begin(), waits ? course.nodes.begin() : course.nodes.end());
  if (course.cause == Cause::kNone && !waits) return;
  JobInstant instant{JobInstant::Kind::kCourse, now};
  instant.cause = course.cause;
  instant.lost_steps = lost_steps;
  instant.text = course.reason;
  log_->instants.push_back(std::move(instant));
}

void JobRecorder::record_ended(const std::string& stopped, SimTime now) {
  JobInstant end{JobInstant::Kind::kEnd, now};
  end.text = stopped;
  log_->instants.push_back(std::move(end));
}

}  // namespace goodput
