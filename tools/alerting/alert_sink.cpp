#include "tools/alerting/alert_sink.h"

#include <utility>

namespace goodput {
namespace {

class StderrLines final : public AlertSink {
 public:
  explicit StderrLines(std::ostream& errors) : errors_(errors) {}
  [[nodiscard]] SinkAnswer deliver(const AlertMessage& message, const std::atomic<bool>& /*stop*/) override {
    errors_ << line_of(message) + '\n' << std::flush;
    return {};
  }
  [[nodiscard]] bool is_instant() const override { return true; }

 private:
  std::ostream& errors_;
};

}  // namespace

Result<std::unique_ptr<AlertSink>> make_alert_sink(const SinkConfig& config, std::ostream& errors) {
  if (const auto* webhook = std::get_if<WebhookSink>(&config.target)) return make_webhook_sink(*webhook);
  if (const auto* exec = std::get_if<ExecSink>(&config.target)) return make_exec_sink(*exec);
  return std::unique_ptr<AlertSink>(std::make_unique<StderrLines>(errors));
}

}  // namespace goodput
