// Who is told of alerts: a web hook, a program, standard error.
#pragma once

#include <atomic>
#include <memory>
#include <ostream>
#include <string>

#include "sim/base/errors.h"
#include "tools/alerting/alert_message.h"
#include "tools/alerting/alerting_config.h"

namespace goodput {

// How a try ended.
struct SinkAnswer {
  std::string problem;      // empty: it was taken
  bool is_refused = false;  // of this message: others may be taken, and are not held back
  double wait_s = 0;        // that the receiver asked for before the next try

  [[nodiscard]] bool is_taken() const { return problem.empty(); }
};

class AlertSink {
 public:
  virtual ~AlertSink() = default;

  // Takes as long as its limit says, less when `stop` becomes true.
  [[nodiscard]] virtual SinkAnswer deliver(const AlertMessage& message, const std::atomic<bool>& stop) = 0;
  // Takes no time, and is called on the thread of whoever sends.
  [[nodiscard]] virtual bool is_instant() const { return false; }
};

// Reads the files with secrets that the sink has. `errors`: standard error; must outlive the sink.
[[nodiscard]] Result<std::unique_ptr<AlertSink>> make_alert_sink(const SinkConfig& config,
                                                                 std::ostream& errors);

// "sha256=" and the HMAC-SHA256 (RFC 2104) of `body` in hexadecimal.
[[nodiscard]] std::string body_signature(const std::string& secret, const std::string& body);

// One of each kind; alert_sink.cpp makes them.
[[nodiscard]] Result<std::unique_ptr<AlertSink>> make_webhook_sink(const WebhookSink& config);
[[nodiscard]] std::unique_ptr<AlertSink> make_exec_sink(const ExecSink& config);

}  // namespace goodput
