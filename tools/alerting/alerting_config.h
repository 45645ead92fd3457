// The rules file of a monitor: when somebody is told of a job, and where that is sent. Strict JSON,
// docs/formats/alert-rules.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/errors.h"
#include "sim/config/config.h"
#include "sim/config/library.h"
#include "sim/live/alert_rules.h"

namespace goodput {

inline constexpr config::Kind kAlertRuleFiles = {"alerts", "alert rules"};
inline constexpr std::string_view kDefaultAlertRules = "default";

// What a webhook is sent: our own JSON, or that of others.
enum class WebhookShape : std::uint8_t { kJson, kSlack, kPagerDuty, kAlertmanager };
inline constexpr std::string_view kWebhookShapes[] = {"json", "slack", "pagerduty", "alertmanager"};

// An HTTP POST. What must not be read by everybody who may read the rules is in files of its own.
struct WebhookSink {
  WebhookShape shape = WebhookShape::kJson;
  std::string url{};       // http or https
  std::string url_file{};  // or the file whose one line it is
  std::vector<std::pair<std::string, std::string>> headers{};
  double timeout_s = 10;            // of a try, from the connection to the end of the answer
  std::string secret_file{};        // signs bodies; empty: they are not signed
  std::string bearer_token_file{};  // of the header Authorization; empty: it has none
  std::string routing_key_file{};   // of PagerDuty's service
};

// A line on standard error.
struct StderrSink {};

// A program, started once an alert that opens or closes.
struct ExecSink {
  std::vector<std::string> command;  // the program and its arguments; no shell reads them
  double timeout_s = 30;             // then it is ended, with all it started
};

using SinkTarget = std::variant<WebhookSink, StderrSink, ExecSink>;
// In the order of the alternatives.
inline constexpr std::string_view kSinkKinds[] = {"webhook", "stderr", "exec"};

struct SinkConfig {
  std::string name{};
  SinkTarget target{};
  double retry_s = 5;        // after the first failure; twice as much after each further one
  double max_retry_s = 600;  // but no more than that; tries never end

  [[nodiscard]] std::string_view kind() const { return kSinkKinds[target.index()]; }
};

struct AlertingConfig {
  AlertRules rules{};
  std::vector<SinkConfig> sinks{};
  config::KeyNotes notes{};
};

// Errors name file and JSON pointer.
[[nodiscard]] Result<AlertingConfig> read_alerting_config(const std::string& file);

// The sink of an option instead of a file: program and arguments, split at spaces; quotes and backslashes
// keep spaces, nothing else means anything.
[[nodiscard]] Result<ExecSink> exec_sink_of(std::string_view command);

// What is wrong with it; empty: nothing is.
[[nodiscard]] std::string fault_of_url(std::string_view url);

[[nodiscard]] config::Fields config_fields(AlertingConfig& config);
[[nodiscard]] config::Fields config_fields(AlertRule& rule);
[[nodiscard]] config::Fields config_fields(SinkConfig& sink);
[[nodiscard]] Status config_finish(AlertRule& rule);
[[nodiscard]] Status config_finish(SinkConfig& sink);

}  // namespace goodput
