// One connection of a web server: reads requests one after the other, has them answered, writes; or an event
// stream. Everything happens on the server's one thread for connections.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/web/event_loop.h"
#include "tools/web/http_message.h"
#include "tools/web/http_server.h"
#include "tools/web/request_parser.h"
#include "tools/web/request_rules.h"
#include "tools/web/response_text.h"

namespace goodput {

// HttpUse, counted on the thread of the connections and read on any.
struct HttpCounters {
  std::atomic<std::size_t> connections = 0;
  std::atomic<std::size_t> event_streams = 0;
  std::atomic<std::size_t> body_bytes = 0;
};

// What the connections of a server have in common.
struct ConnectionShare {
  HttpOptions options;
  RequestRules rules;
  HttpGate gate;
  std::function<bool(std::uint64_t id, HttpRequest)> submit;  // false: too many wait
  std::function<void(std::uint64_t id)> forget;               // once nothing of the connection is under way
  bool newcomer_waits = false;  // for room: every connection ends with its response
  HttpCounters use{};
  std::vector<char> scratch{};  // what is read goes here first, so that one who waits takes no memory
};

class Connection {
 public:
  using Clock = std::chrono::steady_clock;

  // Keeps references. Destroyed by its owner once `forget` was called with its id, or when nothing runs any
  // more.
  Connection(ConnectionShare& share, std::uint64_t id, ClientSocket socket);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start();
  // What was submitted is answered.
  void answer(const HttpResponse& response);
  // To a stream of that topic; nothing otherwise.
  void send_event(std::string_view topic, std::string_view text);
  // To a stream that had nothing to say since the last call.
  void send_heartbeat();
  // Closes it when something takes too long.
  void check_deadline(Clock::time_point now);
  void close();

  // Since when the client has neither asked all of his request nor read of his response, nor sent 16 KiB of
  // his body; nothing: it is for the handler to go on, or a stream, or closed.
  [[nodiscard]] std::optional<Clock::time_point> waits_since() const;

 private:
  enum class Phase : std::uint8_t { kHead, kBody, kHandler, kResponse, kStream, kDrain };

  void wait_to_read();
  void read();
  void take_input(std::string_view bytes);
  // Goes on with what is there of the input.
  void advance();
  void skip_empty_lines();
  void find_head();
  void take_head(std::string_view head);
  void begin_body(const RequestHead& head, bool awaits_continue);
  void send_continue();
  void take_body();
  void submit();
  // Writes, and goes on with the next request.
  void respond(const HttpResponse& response);
  // Writes, and reads no more requests.
  void refuse(const HttpResponse& response);
  void write_piece();
  void after_write();
  void begin_next_request();
  void drain();
  [[nodiscard]] bool reserve_body(std::size_t bytes);
  void release_body();
  // Of an asynchronous operation; false: the connection is closed, do nothing any more.
  [[nodiscard]] bool end_operation();
  void set_deadline(std::chrono::milliseconds from_now) { deadline_ = Clock::now() + from_now; }

  ConnectionShare& share_;
  const std::uint64_t id_;
  ClientSocket socket_;
  Phase phase_ = Phase::kHead;
  bool is_closed_ = false;
  bool waits_to_read_ = false;
  std::size_t operations_ = 0;  // under way; the handler's is one
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point waits_since_;    // for the client
  std::size_t progressed_body_ = 0;  // of the body, at that time

  std::string input_;            // read, not yet used
  std::size_t searched_ = 0;     // of it, for the end of the head
  std::size_t empty_lines_ = 0;  // before the request
  std::size_t drained_ = 0;
  RequestParser parser_;
  HttpRequest request_;
  ResponseFraming framing_;
  bool may_send_on_ = false;  // behind the last response
  std::size_t reserved_body_ = 0;

  std::string outgoing_;
  std::size_t sent_ = 0;  // of outgoing_
  std::string topic_;     // of a stream
  std::string events_;    // to be sent once outgoing_ is
  bool was_quiet_ = true;
};

}  // namespace goodput
