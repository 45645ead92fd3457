// The sockets and timers of one thread (Boost.Asio, which is too slow to compile for a header).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/errors.h"

namespace goodput {

// A connection that was accepted. Used on the loop's thread only; destroyed before its loop. What was begun
// calls back after this is destroyed or closed, too, with kFailed, unless the loop is stopped.
class ClientSocket {
 public:
  enum class Outcome : std::uint8_t { kDone, kFailed };
  using OnOutcome = std::function<void(Outcome)>;

  class Asio;
  explicit ClientSocket(std::unique_ptr<Asio> asio);
  ClientSocket(ClientSocket&&) noexcept;
  ~ClientSocket();

  // Once there is something to read, or the end.
  void when_readable(OnOutcome then);
  // Into the front of `into`, without waiting: 0 when nothing is there after all. Nothing: it has ended.
  std::optional<std::size_t> read_some(std::span<char> into);
  // Writes all of `bytes`, which stay where they are until then.
  void write(std::string_view bytes, OnOutcome then);
  // As much as fits into the system's buffer: how much that was.
  std::size_t write_now(std::string_view bytes);
  void limit_send_buffer(int bytes);
  void end_sending();
  void close();

 private:
  std::unique_ptr<Asio> asio_;
};

class EventLoop {
 public:
  using OnAccept = std::function<void(std::optional<ClientSocket>)>;  // nothing: it did not work

  EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop();

  // Port 0: any that is free. Returns the port.
  Result<std::uint16_t> listen(const std::string& address, std::uint16_t port);
  // The next connection.
  // REQUIRES: listens.
  void accept(OnAccept then);
  void close_listener();

  // There is one timer: what a call before is still to do is not done.
  void after(std::chrono::milliseconds time, std::function<void()> then);
  // From any thread.
  void post(std::function<void()> task);

  // Until it is stopped, from any thread. What has not run then never does.
  void run();
  void stop();

 private:
  class Asio;
  std::unique_ptr<Asio> asio_;
};

}  // namespace goodput
