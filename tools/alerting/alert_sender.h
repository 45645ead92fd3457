// Brings messages about incidents to their sinks: each sink has a thread of its own, so that one that is dead
// or slow holds up neither the others nor whoever analyses steps.
//
// What is to be told waits in a queue that outlives the process (the monitor's database), and is taken out of
// it once the sink has taken it: each message gets there at least once. A sink is told one thing at a time,
// in the order of the queue; while it fails, what is behind waits. A message that is refused for what it is
// (status 4xx) lets the next ones pass, but not later ones about the same incident: nobody hears of its end
// before its beginning.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/alerting/alert_sink.h"
#include "tools/alerting/alerting_config.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput {

// Where what is to be told waits; called on one thread.
class DeliveryQueue {
 public:
  virtual ~DeliveryQueue() = default;

  // As MonitorStore::deliveries().
  [[nodiscard]] virtual Result<std::vector<Delivery>> waiting() = 0;
  [[nodiscard]] virtual Result<std::optional<Incident>> incident(const std::string& key) = 0;
  virtual Status retried(const Delivery& delivery) = 0;
  virtual Status finished(std::int64_t delivery) = 0;
};

// What there is to say after a look at the queue.
struct SendReport {
  std::vector<std::string> problems;  // one line each, for people
  std::optional<double> next_s;       // when there is something to do again, whatever comes in between
  std::size_t handed_out = 0;         // messages
  std::size_t waiting = 0;            // messages that no sink has taken yet
};

class AlertSender {
 public:
  // Fails when a file that a sink names cannot be read. `errors`: of sinks that write there, on the thread of
  // pump(); must outlive the sender. `wake` is called on other threads when pump() has something to do.
  static Result<AlertSender> start(const AlertingConfig& config, std::ostream& errors,
                                   const std::function<void()>& wake);

  AlertSender(AlertSender&&) noexcept;
  ~AlertSender();  // ends what is under way; it stays in the queue

  // Takes back what was tried, and hands out what is due. Never waits for a sink.
  Result<SendReport> pump(DeliveryQueue& queue, double now_s);
  // Whether something is on its way.
  [[nodiscard]] bool is_busy() const;
  [[nodiscard]] std::vector<std::string> sinks() const;  // their names

 private:
  class Worker;
  struct Sink {
    SinkConfig config;
    std::unique_ptr<AlertSink> instant;  // or
    std::unique_ptr<Worker> worker;
    double rests_until_s = 0;  // after a failure
  };

  AlertSender() = default;
  void rest_on(const std::vector<Delivery>& waiting);
  // Whether it is out of the queue.
  Result<bool> hand_out(Delivery delivery, DeliveryQueue& queue, double now_s, SendReport& report);
  Status finish_outcomes(DeliveryQueue& queue, double now_s, SendReport& report);
  Status settle(Sink& sink, Delivery delivery, const SinkAnswer& answer, DeliveryQueue& queue, double now_s,
                SendReport& report);

  std::map<std::string, Sink> sinks_;
  bool has_looked_ = false;
};

}  // namespace goodput
