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

  [[nodiscard]] Result<std::vector<Delivery>> due(double now_s) override {
    return store_.deliveries_due(now_s);
  }
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

Status AlertDelivery::pump(MonitorStore& store, double now_s) {
  StoredDeliveries queue(store);
  const Result<SendReport> report = sender_->pump(queue, now_s);
  std::string lines = lines_.str();
  lines_.str({});
  if (report) {
    for (const std::string& problem : report->problems) lines += "note: " + problem + "\n";
  }
  if (!lines.empty()) tell_(lines);
  return report ? Status(Ok{}) : Status(report.error());
}

Status AlertDelivery::finish(MonitorStore& store, const std::function<double()>& now_s, double until_s) {
  while (true) {
    GOODPUT_TRY_STATUS(pump(store, now_s()));
    GOODPUT_TRY(const std::vector<Delivery> due, store.deliveries_due(now_s()));
    const bool any_due = !due.empty() && due.front().next_try_s <= now_s();
    if ((!sender_->is_busy() && !any_due) || now_s() >= until_s) return Ok{};
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace goodput
