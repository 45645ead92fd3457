// One job of a fleet, as far as its study needs it, whatever it was read from. What is not known is absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/tier.h"
#include "sim/live/step_result.h"

namespace goodput {

// A likely cause of a job's slowdown.
struct LikelyCause {
  std::string name;            // as RootCause::name
  std::optional<double> gain;  // the step over the step without it
};

// A host that a likely cause blames.
struct SlowHost {
  std::string host;
  double slowdown = 1;  // S that its worst worker alone causes
  double pace = 1;      // of that worker's passes over those of peers
};

// What GPU-hours are: those of one kind are not those of another.
enum class HoursOf : std::uint8_t {
  kSteps,  // of the analysed steps only
  kRun,    // from the first step to the last, whatever was between
  kTable,  // as somebody says
};

struct FleetJob {
  std::string name;
  std::string source;      // the file it was read from
  std::uint64_t rows = 0;  // a hash of what was analysed; 0: not known
  std::int64_t steps = 0;  // analysed
  std::int32_t pp_size = 1;
  std::optional<std::int64_t> gpus;
  std::optional<double> gpu_hours;
  HoursOf hours_of = HoursOf::kSteps;
  std::optional<std::int64_t> restarts;

  Tier tier = Tier::kMeasured;              // the lowest that these rest on
  double slowdown = 1;                      // S, as the mean of its steps
  std::optional<double> discrepancy;        // of the replay
  std::vector<double> step_slowdown;        // of each step over that of the job (the paper's Fig. 4)
  std::vector<LabelledSlowdown> by_optype;  // slowdowns that each type alone causes
  std::optional<double> m_w;                // absent also where nothing is lost
  std::optional<double> m_s;
  std::optional<double> correlation;  // of forward and backward passes
  std::vector<LikelyCause> causes;
  std::vector<std::string> hosts;  // by name; empty: not known
  std::vector<SlowHost> slow_hosts;

  [[nodiscard]] double waste() const { return 1 - 1 / slowdown; }
  [[nodiscard]] bool has_gpu_hours() const { return gpu_hours && *gpu_hours > 0; }
  [[nodiscard]] bool has_pipeline() const { return pp_size > 1; }
};

}  // namespace goodput
