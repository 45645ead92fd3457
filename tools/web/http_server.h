// A small web server for pages, an API and event streams (Boost.Beast and Asio): limits on everything, and
// nobody who is slow or hostile keeps others from being served.
//
// One thread moves bytes; a few others run the handler. When there are as many connections as there may be, a
// newcomer takes the place of whoever is waited for longest, and waits himself while all got theirs just now;
// connections then end with their next response.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "tools/web/http_message.h"

namespace goodput {

struct HttpOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any that is free
  // Names in Host that are taken. None: those of this machine where `address` is the loopback's, else any.
  std::vector<std::string> hosts{};
  // By which people reach this server through a proxy (origin_of()): their names are taken in Host, too, and
  // their pages may send something.
  std::vector<std::string> origins{};
  std::size_t handler_threads = 2;

  // Limits.
  std::size_t header_bytes = std::size_t{16} << 10;
  std::size_t body_bytes = 0;         // of a request; 0: no bodies
  std::size_t connections = 256;      // of all
  std::size_t event_streams = 128;    // of these, half of them at most; further ones get 503
  std::size_t queued_requests = 256;  // that wait for a handler, one a connection; further ones get 503
  std::size_t body_bytes_in_flight = std::size_t{128} << 20;  // of all connections; further ones get 503
  std::size_t stream_bytes = std::size_t{256} << 10;  // not yet sent of an event stream; slower: dropped
  std::chrono::milliseconds header_timeout{
      10'000};                                      // from the first byte of a request to the end of its head
  std::chrono::milliseconds body_timeout{60'000};   // of a whole body
  std::chrono::milliseconds write_timeout{30'000};  // for every 64 KiB
  std::chrono::milliseconds idle_timeout{60'000};   // between requests
  std::chrono::milliseconds least_wait{100};        // for a client, before a newcomer takes his place
  std::chrono::milliseconds heartbeat{15'000};      // a comment line in quiet event streams
};

// Called on the handler threads, several at once.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;
// Called on the thread of all connections, so quick, before the body of a request is read: whom it answers is
// refused.
using HttpGate = std::function<std::optional<HttpResponse>(const HttpRequest& without_body)>;

// What is open at the moment.
struct HttpUse {
  std::size_t connections = 0;  // event streams among them
  std::size_t event_streams = 0;
  std::size_t body_bytes = 0;  // that were read or announced, until the handler is done with them
};

class HttpServer {
 public:
  // Takes the address and the port; clients wait until serve(). Fails when they cannot be had.
  static Result<HttpServer> listen(const HttpOptions& options);
  // REQUIRES: was not called before.
  void serve(HttpHandler handler, HttpGate gate);
  // Both.
  static Result<HttpServer> start(const HttpOptions& options, HttpHandler handler, HttpGate gate);

  HttpServer(HttpServer&&) noexcept;
  HttpServer& operator=(HttpServer&&) noexcept;
  ~HttpServer();  // stop()

  [[nodiscard]] std::uint16_t port() const;
  // From any thread.
  [[nodiscard]] HttpUse use() const;
  // Sends `event: NAME`, `data: DATA` to every stream of this topic. Never blocks. From any thread.
  void publish(std::string_view topic, std::string_view event, std::string_view data);
  // Closes all connections, waits for handlers that run.
  void stop();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace goodput
