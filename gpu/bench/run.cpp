#include "gpu/bench/run.h"

#include <algorithm>
#include <cstdint>
#include <exception>

#include "gpu/bench/run_table.h"

namespace goodput::gpu::bench {
namespace {

// Bytes of a place. 2 GB and 4.4 GB are moved.
std::int64_t place_bytes(const CopyFlow& flow, Sizes sizes) {
  constexpr std::int64_t kPlaceBytes = 491'520'000;  // 15,000 times 32 KiB
  if (sizes == Sizes::kQuick) return 65'536;
  return flow == CopyFlow{1, 1} ? 2 * kPlaceBytes : kPlaceBytes;
}

// Those that a point is held against.
std::vector<CopyFlow> flows_of(const std::vector<Point>& points) {
  std::vector<CopyFlow> flows;
  for (const CopyFlow& flow : {CopyFlow{1, 1}, CopyFlow{1, 8}, CopyFlow{8, 1}}) {
    const bool wanted = std::any_of(points.begin(), points.end(),
                                    [&](const Point& point) { return point.goal.ceiling == flow; });
    if (wanted) flows.push_back(flow);
  }
  return flows;
}

// The deadline ended it before the rule did.
bool is_cut_short(const Measurement& time) {
  return time.events.stop == Stop::kDeadline || !time.graph || time.graph->times.stop == Stop::kDeadline;
}

// What the ceilings at the end may take of the time.
double reserve_s(double deadline_s, const std::vector<CopyFlow>& flows) {
  return flows.empty() ? 0 : std::min(10.0, deadline_s / 10);
}

class RunInParts {
 public:
  RunInParts(const RunPlan& plan, const RunOutput& output, RunReport& report)
      : plan_(plan), output_(output), report_(report) {}

  void save() {
    if (report_.has_result() || !report_.ceilings.empty()) output_.save(report_);
  }

  void measure_ceilings(const std::vector<CopyFlow>& flows, const Measurer& measurer) {
    for (const CopyFlow& flow : flows) {
      try {
        report_.ceilings.push_back(
            measure_copy_ceiling(flow, place_bytes(flow, plan_.sizes), plan_.device, measurer));
      } catch (const DeadlinePassed&) {
        note_late("copy ceiling " + name_of(flow));
      }
      save();
    }
    if (!report_.ceilings.empty()) output_.print("\n" + ceilings_text(report_));
  }

  void measure_points(const Measurer& measurer) {
    const PointTable table(plan_.points);
    output_.print("\n" + table.header());
    for (const Point& point : plan_.points) {
      output_.print(table.begin_of_row(point.name));
      report_.points.push_back(outcome_of(point, measurer));
      const std::optional<PointResult>& result = report_.points.back().result;
      if (result && is_cut_short(result->time)) late_ = true;
      output_.print(table.rest_of_row(report_, report_.points.back()));
      save();
    }
  }

  void measure_ceilings_again(const Measurer& measurer) {
    for (CopyCeiling& ceiling : report_.ceilings) {
      try {
        ceiling.again = measure_again(ceiling, plan_.device, measurer);
      } catch (const DeadlinePassed&) {
        note_late("copy ceiling " + name_of(ceiling.flow) + " at the end");
      }
      save();
    }
    const std::string drift = drift_text(report_);
    if (!drift.empty()) output_.print("\n" + drift);
  }

  void note(const std::string& text) {
    report_.notes.push_back(text);
    output_.print(text + "\n");
  }
  [[nodiscard]] bool late() const { return late_; }

 private:
  PointOutcome outcome_of(const Point& point, const Measurer& measurer) {
    try {
      if (!measurer.deadline().passed()) return {point, point.run(measurer), ""};
    } catch (const DeadlinePassed&) {
      // as if it had not begun
    } catch (const std::exception& error) {
      return {point, {}, std::string("failed: ") + error.what()};
    }
    late_ = true;
    return {point, {}, kDeadlineReason};
  }

  void note_late(const std::string& what) {
    late_ = true;
    note(what + ": skipped: " + kDeadlineReason);
  }

  const RunPlan& plan_;
  const RunOutput& output_;
  RunReport& report_;
  bool late_ = false;  // the deadline left something out, or cut it short
};

}  // namespace

void run_plan(const RunPlan& plan, const RunOutput& output, RunReport& report) {
  const std::vector<CopyFlow> flows = flows_of(plan.points);
  const double end = plan.clock() + plan.deadline_s;
  const Measurer measurer(plan.rule, {plan.clock, end - reserve_s(plan.deadline_s, flows)});
  RunInParts parts(plan, output, report);

  output.print(head_text(report));
  parts.measure_ceilings(flows, measurer);
  parts.measure_points(measurer);
  try {
    parts.measure_ceilings_again(Measurer(plan.rule, {plan.clock, end}));
  } catch (const CudaError& error) {  // of a device that a point has left unusable, say
    parts.note(std::string("copy ceilings at the end: failed: ") + error.what());
  }
  report.ended = parts.late() ? Ended::kDeadline : Ended::kDone;
  parts.save();
}

}  // namespace goodput::gpu::bench
