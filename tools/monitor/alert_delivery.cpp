#include "tools/monitor/alert_delivery.h"

#include <chrono>
#include <thread>

namespace goodput {
namespace {

constexpr std::chrono::milliseconds kLookEvery{20};  // at the end, for what is on its way

// What waits in the store.
class StoredDeliveries final : public DeliveryQueue {
 public:
  explicit StoredDeliveries(MonitorStore& store) : store_(store) {}

  [[nodiscard]] Result<std::vector<Delivery>> waiting() override { return store_.deliveries(); }
  [[nodiscard]] Result<std::optional<Alert>> alert(std::int64_t id) override { return store_.alert(id); }
  Status retried(const Delivery& delivery) override { return store_.update_delivery(delivery); }
  Status finished(std::int64_t delivery) override { return store_.finish_delivery(delivery); }

 private:
  MonitorStore& store_;
};

}  // namespace

Result<std::unique_ptr<AlertDelivery>> AlertDelivery::start(const AlertingConfig& config, Tell tell) {
  std::unique_ptr<AlertDelivery> delivery(new AlertDelivery(std::move(tell)));
  GOODPUT_TRY(AlertSender sender, AlertSender::start(config, delivery->lines_, [] {}));
  delivery->sender_.emplace(std::move(sender));
  return delivery;
}

Result<SendReport> AlertDelivery::pump(MonitorStore& store, double now_s) {
  StoredDeliveries queue(store);
  Result<SendReport> report = sender_->pump(queue, now_s);
  std::string lines = lines_.str();
  lines_.str({});
  if (report) {
    for (const std::string& problem : report->problems) lines += "note: " + problem + "\n";
  }
  if (!lines.empty()) tell_(lines);
  return report;
}

Status AlertDelivery::finish(MonitorStore& store, const std::function<double()>& now_s, double until_s) {
  while (true) {
    GOODPUT_TRY(const SendReport report, pump(store, now_s()));
    const bool is_done = report.handed_out == 0 && !sender_->is_busy();
    if (is_done || now_s() >= until_s) return Ok{};
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace goodput
