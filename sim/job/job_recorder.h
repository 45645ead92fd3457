// Listens to a running job and writes down what it does (sim/job/job_log.h), if anybody wants to know.
#pragma once

#include <cstdint>
#include <string>

#include "sim/base/units.h"
#include "sim/job/job_books.h"
#include "sim/job/job_log.h"
#include "sim/job/recovery_policy.h"
#include "sim/job/time_bucket.h"
#include "sim/nodes/membership.h"

namespace goodput {

// The engine tells it everything as it happens, in order of time. Without a log that costs a comparison each
// time.
class JobRecorder {
 public:
  // `log` may be null; else it must outlive the recorder.
  explicit JobRecorder(JobLog* log) : log_(log) {}

  // Time in which the job did not train, all of it for one purpose.
  void spent(TimeBucket bucket, SimTime began, SimTime ended) {
    if (log_ != nullptr && ended > began) record_spent(bucket, began, ended);
  }
  // `before`: where the job stood when the stretch began.
  void trained(const TrainedStretch& stretch, const Progress& before) {
    if (log_ != nullptr && stretch.ended > stretch.began) record_trained(stretch, before);
  }
  // `members` are those after the change.
  void nodes_changed(const NodeChange& change, const Membership& members, SimTime now) {
    if (log_ != nullptr) record_nodes_changed(change, members, now);
  }
  // All that follows is done by the nodes of this course.
  void course_taken(const Course& course, std::int64_t lost_steps, SimTime now) {
    if (log_ != nullptr) record_course_taken(course, lost_steps, now);
  }
  // `stopped`: why, or empty if the job got where it was to get.
  void ended(const std::string& stopped, SimTime now) {
    if (log_ != nullptr) record_ended(stopped, now);
  }

 private:
  void record_spent(TimeBucket bucket, SimTime began, SimTime ended);
  void record_trained(const TrainedStretch& stretch, const Progress& before);
  void record_nodes_changed(const NodeChange& change, const Membership& members, SimTime now);
  void record_course_taken(const Course& course, std::int64_t lost_steps, SimTime now);
  void record_ended(const std::string& stopped, SimTime now);
  void add_span(JobSpan span, SimTime began, SimTime ended);

  JobLog* log_;
};

}  // namespace goodput
