// An incident in JSON, as the monitor's API, exports and messages have it (docs/formats/incidents.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"
#include "sim/live/incident.h"

namespace goodput {

// `now_s` (Unix time): for its state.
[[nodiscard]] OrderedJson incident_json(const Incident& incident, double now_s);

// For storage, and back. Fails on a text that evidence_text() never wrote.
[[nodiscard]] std::string evidence_text(const std::vector<IncidentEvidence>& evidence);
Result<std::vector<IncidentEvidence>> read_evidence(std::string_view text);

}  // namespace goodput
