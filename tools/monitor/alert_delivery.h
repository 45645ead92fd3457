// Alerts from the store of a monitor to their sinks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/alerting/alert_sender.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput {

class AlertDelivery {
 public:
  // `tell`: prints lines for people, whole; on the thread of pump().
  using Tell = std::function<void(const std::string& lines)>;
  static Result<std::unique_ptr<AlertDelivery>> start(const AlertingConfig& config, Tell tell);

  [[nodiscard]] std::vector<std::string> sinks() const { return sender_->sinks(); }
  // Hands out what is due; what there is to do then. On the thread of the store.
  Result<SendReport> pump(MonitorStore& store, double now_s);
  // Goes on until nothing is due or on its way, or `now_s()` says that it is `until_s`.
  Status finish(MonitorStore& store, const std::function<double()>& now_s, double until_s);

 private:
  explicit AlertDelivery(Tell tell) : tell_(std::move(tell)) {}

  Tell tell_;
  std::ostringstream lines_;  // of sinks that print
  std::optional<AlertSender> sender_;
};

}  // namespace goodput
