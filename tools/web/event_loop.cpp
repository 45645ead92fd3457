#include "tools/web/event_loop.h"

#include <fmt/format.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "sim/base/text.h"

namespace goodput {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

ClientSocket::Outcome outcome_of(error_code code) {
  return code ? ClientSocket::Outcome::kFailed : ClientSocket::Outcome::kDone;
}

}  // namespace

class ClientSocket::Asio {
 public:
  explicit Asio(tcp::socket accepted) : socket(std::move(accepted)) {
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.set_option(tcp::no_delay(true), ignored);
  }
  tcp::socket socket;
};

ClientSocket::ClientSocket(std::unique_ptr<Asio> asio) : asio_(std::move(asio)) {}
ClientSocket::ClientSocket(ClientSocket&&) noexcept = default;
ClientSocket::~ClientSocket() = default;

void ClientSocket::when_readable(OnOutcome then) {
  asio_->socket.async_wait(tcp::socket::wait_read,
                           [then = std::move(then)](error_code code) { then(outcome_of(code)); });
}

std::optional<std::size_t> ClientSocket::read_some(std::span<char> into) {
  error_code code;
  const std::size_t count = asio_->socket.read_some(boost::asio::buffer(into.data(), into.size()), code);
  if (code == boost::asio::error::would_block) return 0;
  if (code) return std::nullopt;
  return count;
}

void ClientSocket::write(std::string_view bytes, OnOutcome then) {
  boost::asio::async_write(
      asio_->socket, boost::asio::buffer(bytes.data(), bytes.size()),
      [then = std::move(then)](error_code code, std::size_t /*all*/) { then(outcome_of(code)); });
}

std::size_t ClientSocket::write_now(std::string_view bytes) {
  error_code ignored;
  return asio_->socket.write_some(boost::asio::buffer(bytes.data(), bytes.size()), ignored);
}

void ClientSocket::limit_send_buffer(int bytes) {
  error_code ignored;
  asio_->socket.set_option(boost::asio::socket_base::send_buffer_size(bytes), ignored);
}

void ClientSocket::end_sending() {
  error_code ignored;
  asio_->socket.shutdown(tcp::socket::shutdown_send, ignored);
}

void ClientSocket::close() {
  error_code ignored;
  asio_->socket.close(ignored);
}

class EventLoop::Asio {
 public:
  boost::asio::io_context context{1};
  tcp::acceptor acceptor{context};
  boost::asio::steady_timer timer{context};
};

EventLoop::EventLoop() : asio_(std::make_unique<Asio>()) {}
EventLoop::~EventLoop() = default;

Result<std::uint16_t> EventLoop::listen(const std::string& address, std::uint16_t port) {
  error_code code;
  const boost::asio::ip::address parsed = boost::asio::ip::make_address(address, code);
  if (code) return Error{fmt::format("{} is not an IP address", in_quotes(address))}.of_option("address");
  const tcp::endpoint endpoint(parsed, port);
  tcp::acceptor& acceptor = asio_->acceptor;
  acceptor.open(endpoint.protocol(), code);
  if (!code) acceptor.set_option(tcp::acceptor::reuse_address(true), code);
  if (!code) acceptor.bind(endpoint, code);
  if (!code) acceptor.listen(boost::asio::socket_base::max_listen_connections, code);
  if (!code) port = acceptor.local_endpoint(code).port();
  if (!code) return port;
  return Error{fmt::format("cannot listen on port {} of {}: {}", port, address, code.message())}.of_option(
      "port");
}

void EventLoop::accept(OnAccept then) {
  asio_->acceptor.async_accept([then = std::move(then)](error_code code, tcp::socket socket) {
    if (code) return then(std::nullopt);
    then(ClientSocket(std::make_unique<ClientSocket::Asio>(std::move(socket))));
  });
}

void EventLoop::close_listener() {
  error_code ignored;
  asio_->acceptor.close(ignored);
}

void EventLoop::after(std::chrono::milliseconds time, std::function<void()> then) {
  asio_->timer.expires_after(time);
  asio_->timer.async_wait([then = std::move(then)](error_code code) {
    if (!code) then();
  });
}

void EventLoop::post(std::function<void()> task) {
  boost::asio::post(asio_->context, std::move(task));
}

void EventLoop::run() {
  asio_->context.run();
}
void EventLoop::stop() {
  asio_->context.stop();
}

}  // namespace goodput
