// What every worker is at while it may be slowed, stalled or lost, and how fast it goes.
//
// A part of StepEngine (sim/engine/step_engine.h), of runs with disturbances only: without them an op that
// starts ends when its time is over, and nobody has to know what runs meanwhile.
#pragma once

#include <span>
#include <vector>

#include "sim/base/units.h"
#include "sim/engine/step_events.h"
#include "sim/engine/step_work.h"

namespace goodput {

class RunningOps {
 public:
  struct Running {
    OpInstance at;
    bool is_compute;   // goes at its worker's rate; else it moves data, which does not
    double remaining;  // nanoseconds of work at rate 1 when it was last looked at; compute only
    SimTime since;
    SimTime end;  // as things stand; SimTime::max() if it is stalled, lost or has a flow
  };

  // Nothing runs, everyone goes at rate 1.
  void reset(std::size_t workers);

  [[nodiscard]] bool is_lost(WorkerId worker) const { return is_lost_[worker] != 0; }
  [[nodiscard]] bool any_stalled() const;
  [[nodiscard]] std::span<Running> on(WorkerId worker) { return running_[worker]; }
  // Null: it does not run.
  [[nodiscard]] Running* find(OpInstance at, WorkerId worker);

  // Its end becomes an event, at the rate of its worker.
  void start_compute(OpInstance at, WorkerId worker, SimDuration duration, SimTime now, StepQueue& queue);
  // `end`: SimTime::max() if a flow decides.
  void start_transfer(OpInstance at, WorkerId worker, SimTime now, SimTime end) {
    running_[worker].push_back({at, false, 0, now, end});
  }
  // False if it does not end at `end` as things stand.
  [[nodiscard]] bool stop(OpInstance at, WorkerId worker, SimTime end);

  void change_rate(const RateChange& change, SimTime now, StepQueue& queue);
  // False if it was lost before.
  bool lose(WorkerId worker);

 private:
  static void schedule_end(Running& running, double rate, SimTime now, StepQueue& queue);

  std::vector<std::vector<Running>> running_;  // by worker
  std::vector<double> rates_;                  // by worker
  std::vector<char> is_lost_;                  // by worker
};

}  // namespace goodput
