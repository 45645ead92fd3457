// What is said of an alert that opens or closes, in the words of each receiver. docs/formats/alerts.md.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/live/alert.h"
#include "tools/alerting/alerting_config.h"

namespace goodput {

// Told once or, after a failure nobody knows the end of, several times: receivers tell by message_key().
struct AlertMessage {
  Alert alert;
  bool closes = false;
};

// The same for both messages of an alert, and another one for each alert of any monitor.
[[nodiscard]] std::string alert_key(const Alert& alert);
// Of one message: alert_key() and "-opens" or "-closes".
[[nodiscard]] std::string message_key(const AlertMessage& message);

// JSON. Names that are no UTF-8 have U+FFFD in place of what is none. `routing_key`: of PagerDuty.
[[nodiscard]] std::string payload_of(const AlertMessage& message, WebhookShape shape,
                                     const std::string& routing_key);
// For people, without a line feed, safe on a terminal.
[[nodiscard]] std::string line_of(const AlertMessage& message);
// NAME=VALUE, without control characters: GOODPUT_ALERT_EVENT and so on.
[[nodiscard]] std::vector<std::string> environment_of(const AlertMessage& message);

}  // namespace goodput
