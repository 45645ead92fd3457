// A fault-tolerance policy made of functions, for tests that script what it does.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/job/recovery_policy.h"

namespace goodput::testing {

class FunctionPolicy final : public RecoveryPolicy {
 public:
  std::function<Course(const JobState&)> decides;
  std::function<Pace(std::int64_t)> paces = [](std::int64_t) { return Pace{SimDuration{1}}; };
  std::function<Response(const JobView&, const NodeChange&)> changes = [](const JobView&, const NodeChange&) {
    return Response::kInterrupt;
  };
  std::function<Response(const JobView&)> wakes = [](const JobView&) { return Response::kIgnore; };
  SimTime wake = kNoTime;

  [[nodiscard]] Response on_change(const JobView& job, const NodeChange& change) override {
    return changes(job, change);
  }
  [[nodiscard]] Response on_wake(const JobView& job) override {
    wake = kNoTime;
    return wakes(job);
  }
  [[nodiscard]] SimTime wake_at() const override { return wake; }
  [[nodiscard]] Course decide(const JobState& job) override { return decides(job); }
  [[nodiscard]] Pace pace(std::int64_t step) override { return paces(step); }

  // With all nodes that are there.
  [[nodiscard]] Course train(const JobState& job, std::int64_t samples_per_step = 1) {
    nodes_.assign(job.members->nodes().begin(), job.members->nodes().end());
    Course course;
    course.nodes = nodes_;
    course.samples_per_step = samples_per_step;
    return course;
  }

 private:
  std::vector<NodeId> nodes_;
};

[[nodiscard]] inline Course wait(std::string reason) {
  Course course;
  course.kind = Course::Kind::kWait;
  course.reason = std::move(reason);
  return course;
}

}  // namespace goodput::testing
