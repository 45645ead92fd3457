// What is said about an incident that opens, changes or closes, in the words of each receiver.
// docs/formats/incidents.md.
#pragma once

#include <string>
#include <vector>

#include "sim/live/incident.h"
#include "sim/live/open_incidents.h"
#include "tools/alerting/alerting_config.h"

namespace goodput {

// Sent once or, after a failure whose outcome is unknown, several times: receivers tell by message_key().
struct AlertMessage {
  Incident incident;
  IncidentEvent event = IncidentEvent::kOpens;
};

// Of one message: the incident's key and "-opens", "-changes-..." or "-closes".
[[nodiscard]] std::string message_key(const AlertMessage& message);

// JSON. Invalid UTF-8 in names becomes U+FFFD. `routing_key`: of PagerDuty.
[[nodiscard]] std::string payload_of(const AlertMessage& message, WebhookShape shape,
                                     const std::string& routing_key);
// For people, without a line feed, safe on a terminal.
[[nodiscard]] std::string line_of(const AlertMessage& message);
// NAME=VALUE, without control characters: GOODPUT_ALERT_EVENT and so on.
[[nodiscard]] std::vector<std::string> environment_of(const AlertMessage& message);

}  // namespace goodput
