#include "tools/alerting/alert_sender.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "sim/base/random.h"
#include "sim/base/text.h"

namespace goodput {

// A thread that tells one sink one thing at a time.
class AlertSender::Worker {
 public:
  struct Outcome {
    Delivery delivery;
    SinkAnswer answer;
  };

  Worker(std::unique_ptr<AlertSink> sink, std::function<void()> wake)
      : sink_(std::move(sink)), wake_(std::move(wake)), thread_([this] { run(); }) {}
  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  [[nodiscard]] bool is_busy() const {
    const std::lock_guard lock(mutex_);
    return work_.has_value() || outcome_.has_value();
  }
  // REQUIRES: !is_busy().
  void hand(const Delivery& delivery, AlertMessage message) {
    {
      const std::lock_guard lock(mutex_);
      work_ = Work{delivery, std::move(message)};
    }
    changed_.notify_all();
  }
  [[nodiscard]] std::optional<Outcome> take_outcome() {
    const std::lock_guard lock(mutex_);
    return std::exchange(outcome_, std::nullopt);
  }

 private:
  struct Work {
    Delivery delivery;
    AlertMessage message;
  };

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stop_ || work_.has_value(); });
      if (stop_) return;
      const Work work = *work_;
      lock.unlock();
      SinkAnswer answer = sink_->deliver(work.message, stop_);
      lock.lock();
      if (stop_) return;
      work_.reset();
      outcome_ = Outcome{work.delivery, std::move(answer)};
      lock.unlock();
      if (wake_) wake_();
      lock.lock();
    }
  }

  std::unique_ptr<AlertSink> sink_;
  std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> stop_ = false;
  std::optional<Work> work_;
  std::optional<Outcome> outcome_;
  std::thread thread_;  // the last: it uses the others
};

namespace {

// Twice as long after each failure, up to a limit; up to a third less, so that many monitors do not come
// back to a receiver at once.
double pause_after(const Delivery& delivery, const SinkConfig& sink) {
  constexpr int kMostDoublings = 40;
  const double grown = std::ldexp(sink.retry_s, std::min(delivery.attempts - 1, kMostDoublings));
  RandomStream random(static_cast<std::uint64_t>(delivery.id), "retry",
                      static_cast<std::uint64_t>(delivery.attempts));
  return std::min(grown, sink.max_retry_s) * random.uniform(2.0 / 3, 1);
}

}  // namespace

Result<AlertSender> AlertSender::start(const AlertingConfig& config, std::ostream& errors,
                                       const std::function<void()>& wake) {
  AlertSender sender;
  for (const SinkConfig& sink : config.sinks) {
    Result<std::unique_ptr<AlertSink>> made = make_alert_sink(sink, errors);
    if (!made) {
      Error error = std::move(made).error();
      error.what = fmt::format("{} (sink {})", error.what, in_quotes(sink.name));
      return error;
    }
    Sink& added = sender.sinks_[sink.name];
    added.config = sink;
    if ((*made)->is_instant())
      added.instant = *std::move(made);
    else
      added.worker = std::make_unique<Worker>(*std::move(made), wake);
  }
  return sender;
}

AlertSender::AlertSender(AlertSender&&) noexcept = default;
AlertSender::~AlertSender() = default;

bool AlertSender::is_busy() const {
  return std::ranges::any_of(
      sinks_, [](const auto& sink) { return sink.second.worker && sink.second.worker->is_busy(); });
}

std::vector<std::string> AlertSender::sinks() const {
  std::vector<std::string> names;
  for (const auto& [name, sink] : sinks_) names.push_back(name);
  return names;
}

Result<SendReport> AlertSender::pump(DeliveryQueue& queue, double now_s) {
  SendReport report;
  GOODPUT_TRY_STATUS(finish_outcomes(queue, now_s, report));
  GOODPUT_TRY(const std::vector<Delivery> waiting, queue.waiting());
  if (!std::exchange(has_looked_, true)) rest_on(waiting);
  report.waiting = waiting.size();
  std::set<std::pair<std::string_view, std::string_view>> begun;  // incidents with an earlier message
  for (const Delivery& delivery : waiting) {
    const auto [of_incident, is_first] = begun.emplace(delivery.sink, delivery.incident);
    if (!is_first) continue;
    if (delivery.next_try_s > now_s) {
      report.next_s = std::min(report.next_s.value_or(delivery.next_try_s), delivery.next_try_s);
      continue;
    }
    GOODPUT_TRY(const bool is_out, hand_out(delivery, queue, now_s, report));
    if (!is_out) continue;
    begun.erase(of_incident);
    --report.waiting;
  }
  return report;
}

// A sink that failed before a restart rests on.
void AlertSender::rest_on(const std::vector<Delivery>& waiting) {
  for (const Delivery& delivery : waiting) {
    const auto sink = sinks_.find(delivery.sink);
    if (sink != sinks_.end() && delivery.attempts > 0 && !delivery.is_refused)
      sink->second.rests_until_s = std::max(sink->second.rests_until_s, delivery.next_try_s);
  }
}

Status AlertSender::finish_outcomes(DeliveryQueue& queue, double now_s, SendReport& report) {
  for (auto& [name, sink] : sinks_) {
    if (!sink.worker) continue;
    std::optional<Worker::Outcome> outcome = sink.worker->take_outcome();
    if (outcome) GOODPUT_TRY_STATUS(settle(sink, outcome->delivery, outcome->answer, queue, now_s, report));
  }
  return Ok{};
}

Status AlertSender::settle(Sink& sink, Delivery delivery, const SinkAnswer& answer, DeliveryQueue& queue,
                           double now_s, SendReport& report) {
  if (answer.is_taken()) {
    sink.rests_until_s = 0;
    return queue.finished(delivery.id);
  }
  ++delivery.attempts;
  delivery.is_refused = answer.is_refused;
  const double pause_s = std::max(answer.wait_s, pause_after(delivery, sink.config));
  delivery.next_try_s = now_s + pause_s;
  if (!answer.is_refused) sink.rests_until_s = delivery.next_try_s;
  report.problems.push_back(
      fmt::format("sink {} could not deliver a message about incident {}: {}; attempt {} follows in {:.0f} s",
                  in_quotes(delivery.sink), delivery.incident, on_one_line(answer.problem),
                  delivery.attempts + 1, pause_s));
  return queue.retried(delivery);
}

Result<bool> AlertSender::hand_out(Delivery delivery, DeliveryQueue& queue, double now_s,
                                   SendReport& report) {
  const auto found = sinks_.find(delivery.sink);
  if (found == sinks_.end()) {
    report.problems.push_back(
        fmt::format("sink {} no longer exists; its message about incident {} was dropped",
                    in_quotes(delivery.sink), delivery.incident));
    GOODPUT_TRY_STATUS(queue.finished(delivery.id));
    return true;
  }
  Sink& sink = found->second;
  if (sink.rests_until_s > now_s) {
    report.next_s = std::min(report.next_s.value_or(sink.rests_until_s), sink.rests_until_s);
    return false;
  }
  if (sink.worker && sink.worker->is_busy()) return false;
  GOODPUT_TRY(std::optional<Incident> incident, queue.incident(delivery.incident));
  if (!incident) {  // older than what is kept
    GOODPUT_TRY_STATUS(queue.finished(delivery.id));
    return true;
  }
  ++report.handed_out;
  AlertMessage message{*std::move(incident), delivery.event};
  if (delivery.event != IncidentEvent::kCloses) {  // as it was then
    message.incident.closed_at.reset();
    message.incident.closed_s.reset();
    message.incident.closed_by.clear();
    message.incident.merged_into.clear();
  }
  if (sink.worker) {
    sink.worker->hand(delivery, std::move(message));
    return false;
  }
  const std::atomic<bool> goes_on = false;
  const SinkAnswer answer = sink.instant->deliver(message, goes_on);
  GOODPUT_TRY_STATUS(settle(sink, std::move(delivery), answer, queue, now_s, report));
  return answer.is_taken();
}

}  // namespace goodput
