// Which page of a monitor a path means.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/live/step_result.h"
#include "tools/monitor_store/incident_action.h"

namespace goodput {

struct PageRoute {
  enum class Kind : std::uint8_t {
    kNone,  // no page
    kJobs,  // / or /jobs
    kJob,   // /jobs/NAME
    kSteps,
    kStep,  // /jobs/NAME/steps/RUN/STEP
    kMap,
    kTimeline,
    kRows,
    kWorker,          // /jobs/NAME/workers/DP/STAGE
    kIncidents,       // /incidents
    kIncident,        // /incidents/KEY
    kIncidentAction,  // /api/v1/incidents/KEY/ACTION
    kMetrics,
    kHealth,
    kReady,
    kEvents,
    kAsset,  // /static/NAME
    kIndex,  // /api/v1
  };
  Kind kind = Kind::kNone;
  bool is_api = false;  // below /api/v1
  std::string job;      // any text, slashes too: what stands behind it is told from the right
  StepId step;
  std::int32_t dp_rank = 0;
  std::int32_t stage = 0;
  std::string incident;  // its key
  IncidentAction::Kind action = IncidentAction::Kind::kAcknowledge;
  std::string asset;
};

// `path` is decoded and begins with a slash.
[[nodiscard]] PageRoute route_of(std::string_view path);

// Whether the links of a job of this name and of its steps lead to their pages: not of one with empty or
// dotted parts, a backslash, what is no UTF-8, or with an end that means a page of another job ("a/steps").
[[nodiscard]] bool has_job_page(std::string_view name);

// Links, percent-encoded: as attributes they need no further escaping.
[[nodiscard]] std::string job_link(std::string_view job);
[[nodiscard]] std::string step_link(std::string_view job, StepId step);
[[nodiscard]] std::string worker_link(std::string_view job, std::int32_t dp_rank, std::int32_t stage);
[[nodiscard]] std::string incident_link(std::string_view key);

}  // namespace goodput
