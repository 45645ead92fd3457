// A program that is told of alerts: JSON on its standard input, the same in short in its environment.
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "sim/base/text.h"
#include "sim/process/watched_process.h"
#include "tools/alerting/alert_sink.h"

namespace goodput {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kKeptBytes = 4096;  // of what it writes to standard error
constexpr int kLongestPollMs = 100;       // for whoever wants us to stop

// One run of the program.
class ProgramRun {
 public:
  ProgramRun(WatchedProcess process, std::string input, Clock::time_point deadline)
      : process_(std::move(process)), input_(std::move(input)), deadline_(deadline) {}

  // It has ended when its standard output and error are closed.
  [[nodiscard]] SinkAnswer wait(const std::atomic<bool>& stop, double limit_s) {
    while (has_output_ || has_errors_) {
      if (stop) return {"the program was stopped because the monitor stopped"};
      if (Clock::now() >= deadline_) return {fmt::format("the program took longer than {} s", limit_s)};
      move_bytes();
    }
    const ProcessEnd end = process_.finish();
    if (!end.was_running && end.status == 0) return {};
    std::string problem =
        end.was_running ? "the program closed its standard output but kept running" : end.text();
    if (!complaint_.empty()) problem += ": " + in_quotes(last_line());
    return {std::move(problem)};
  }

 private:
  void move_bytes() {
    const bool writes = written_ < input_.size();
    std::array<pollfd, 3> files = {pollfd{has_output_ ? process_.output() : -1, POLLIN, 0},
                                   pollfd{has_errors_ ? process_.errors() : -1, POLLIN, 0},
                                   pollfd{writes ? process_.input() : -1, POLLOUT, 0}};
    if (poll(files.data(), files.size(), kLongestPollMs) <= 0) return;
    std::string nobody_reads_it;
    if (files[0].revents != 0) has_output_ = read_some(process_.output(), nobody_reads_it);
    if (files[1].revents != 0) has_errors_ = read_some(process_.errors(), complaint_);
    if (complaint_.size() > kKeptBytes) complaint_.erase(0, complaint_.size() - kKeptBytes);
    if (files[2].revents != 0) write_some();
  }

  // False at the end. There is something to read, so it does not block.
  static bool read_some(int descriptor, std::string& into) {
    std::array<char, kKeptBytes> buffer;
    const ssize_t got = read(descriptor, buffer.data(), buffer.size());
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    into.append(buffer.data(), static_cast<std::size_t>(got));
    return got > 0;
  }

  void write_some() {
    const ssize_t sent = send(process_.input(), input_.data() + written_, input_.size() - written_,
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    written_ = sent < 0 ? input_.size() : written_ + static_cast<std::size_t>(sent);  // it need not read it
    if (written_ == input_.size()) process_.close_input();
  }

  [[nodiscard]] std::string_view last_line() const {
    std::string_view last;
    for (const std::string_view line : split(complaint_, '\n')) {
      if (line.find_first_not_of(" \t\r") != std::string_view::npos) last = line;
    }
    return last;
  }

  WatchedProcess process_;
  std::string input_;
  Clock::time_point deadline_;
  std::size_t written_ = 0;
  bool has_output_ = true;
  bool has_errors_ = true;
  std::string complaint_;
};

class Program final : public AlertSink {
 public:
  explicit Program(ExecSink config) : config_(std::move(config)) {}

  [[nodiscard]] SinkAnswer deliver(const AlertMessage& message, const std::atomic<bool>& stop) override {
    Result<WatchedProcess> process = WatchedProcess::start(config_.command, environment_of(message));
    if (!process) return {process.error().message()};
    const auto limit =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(config_.timeout_s));
    std::string input = payload_of(message, WebhookShape::kJson, "") + '\n';
    return ProgramRun(*std::move(process), std::move(input), Clock::now() + limit)
        .wait(stop, config_.timeout_s);
  }

 private:
  ExecSink config_;
};

}  // namespace

std::unique_ptr<AlertSink> make_exec_sink(const ExecSink& config) {
  return std::make_unique<Program>(config);
}

}  // namespace goodput
