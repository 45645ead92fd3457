// Databases of monitors with made-up jobs, for tests of what is shown of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/live/step_result.h"
#include "tools/monitor_pages/monitor_status.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput::testing {

// Unix time of the first step of every job; the others follow ten seconds apart.
inline constexpr double kFirstStep_s = 1'700'000'000;
inline constexpr double kStepGap_s = 10;

struct MadeUpJob {
  std::string name = "llama-70b";
  std::int32_t dp_size = 4;
  std::int32_t pp_size = 4;
  std::int32_t steps = 40;
  std::int32_t slow_from =
      20;  // step from which worker dp 2 stage 1 is slow, by `slowdown` alone; with an incident
  double slowdown = 1.25;
  std::string host_prefix = "node";
  bool has_incomplete_step = true;  // the last but one
  bool is_data = false;             // in place of one worker a whole replica is slow, another one every step
  bool has_rows = true;             // of the last two steps, generated ones
  std::int32_t every = 1;           // the others are skipped
  bool has_absolute_times = true;   // else op times count from the start of their step
};

// The result of a step as an analysis could come to: worker dp 2 stage 1 slow from job.slow_from on.
[[nodiscard]] StepResult made_up_step(const MadeUpJob& job, std::int64_t step);

// Stores the job. Throws where the store fails.
void add_job(MonitorStore& store, const MadeUpJob& job);

// The key of its incident, which opened two steps after slow_from.
[[nodiscard]] std::string incident_key_of(const MadeUpJob& job);

// As a monitor that follows `job` would say it at the end of its last step.
void follow(MonitorStatus& status, const MadeUpJob& job);
[[nodiscard]] double end_of(const MadeUpJob& job);

// A name with markup, quotes, control and bidirectional characters, and what is no UTF-8.
[[nodiscard]] std::string hostile_name(std::string_view kind);

}  // namespace goodput::testing
