// What the two halves of a calibration have in common: those of one GPU, and the collectives of several. Each
// runs in processes of its own, for a process that has called CUDA cannot fork ranks that do.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "gpu/calibrate/calibrate_options.h"
#include "gpu/calibrate/calibration_session.h"
#include "gpu/calibrate/device_state.h"
#include "gpu/calibrate/run_calibration.h"
#include "gpu/nccl/rank_process.h"

namespace goodput::gpu::calibrate {

struct StageRequest {
  CalibrateOptions options;
  std::string revision;  // of the sources
  std::string nccl;      // its version, "" where there is none
  std::string no_nccl;   // why
  double end_s;          // of bench::steady_clock(), which all processes of a machine share

  // Passed, too, when told to stop.
  [[nodiscard]] bench::Deadline deadline() const;
};

// Exit codes of the program. What is wrong with options or the machine is thrown.
enum class StageStatus : int { kMeasured = 0, kWrong = 2, kSkipped = 77 };

struct StageEnd {
  StageStatus status = StageStatus::kMeasured;
  int gpus = 0;          // of this machine
  bool has_any = false;  // a point was measured, now or before
};

// Of the current device.
[[nodiscard]] JsonValue header_of(const StageRequest& request, int gpus, const DeviceState& state);
// What a reader of the file should know.
void note_machine(const StageRequest& request, const DeviceState& state, CalibrationSession& session);

// Whether collectives are measured where there are GPUs for them: --only may leave them all out.
[[nodiscard]] bool wants_collectives(const CalibrateOptions& options);

// The hooks but the visits. `held_down`: why clocks were, as seen so far; what is seen when the file is made
// is added. All must outlive them.
[[nodiscard]] CalibrationHooks hooks_of(CalibrationSession& session, const DeviceState& state,
                                        std::set<std::string>& held_down);

// Prints how it ended, for sweeps of so many points.
[[nodiscard]] StageEnd end_of_stage(const CalibrationOutcome& outcome, const std::vector<Sweep>& sweeps,
                                    int rounds, const MeasuredPoints& points);

// At once: a run that is killed shall have shown what it knew.
void print_line(const std::string& line);

}  // namespace goodput::gpu::calibrate
