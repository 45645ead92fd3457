// Topics of the event streams (/events?topic=...), which pages of a running monitor listen to.
#pragma once

#include <string>
#include <string_view>

namespace goodput {

// Of whatever happens in any job.
[[nodiscard]] inline std::string all_jobs_topic() {
  return "all";
}

[[nodiscard]] inline std::string job_topic(std::string_view job) {
  return "job/" + std::string(job);
}

// Names of events: a step has a result; an incident opened, changed or closed. Their data is the name of the
// job.
inline constexpr std::string_view kStepEvent = "step";
inline constexpr std::string_view kIncidentEvent = "incident";

}  // namespace goodput
