#include "tests/support/tiny_http_server.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "sim/base/text.h"

namespace goodput {
namespace {

// Until the body is whole, by its Content-Length.
TinyRequest read_request(int connection) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const std::size_t head_end = text.find("\r\n\r\n");
    if (head_end != std::string::npos) {
      TinyRequest request{text.substr(0, head_end + 2), text.substr(head_end + 4)};
      const auto length = std::strtoull(request.header("Content-Length").c_str(), nullptr, 10);
      if (request.body.size() >= length) return request;
    }
    const ssize_t got = recv(connection, buffer.data(), buffer.size(), 0);
    if (got <= 0) return {text, {}};
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

void send_all(int connection, const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t put = send(connection, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (put <= 0) return;
    sent += static_cast<std::size_t>(put);
  }
}

}  // namespace

std::string TinyRequest::header(const std::string& name) const {
  const std::string begin = "\r\n" + name + ": ";
  const std::size_t at = head.find(begin);
  if (at == std::string::npos) return "";
  const std::size_t value = at + begin.size();
  return head.substr(value, head.find("\r\n", value) - value);
}

TinyHttpServer::TinyHttpServer(Answer answer)
    : answer_(std::move(answer)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(bind(listener_.get(), generic, size) == 0);
  REQUIRE(listen(listener_.get(), 16) == 0);
  REQUIRE(getsockname(listener_.get(), generic, &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

TinyHttpServer::~TinyHttpServer() {
  stop_ = true;
  shutdown(listener_.get(), SHUT_RDWR);  // wakes accept()
  thread_.join();
}

std::string TinyHttpServer::url(const std::string& path) const {
  return fmt::format("http://127.0.0.1:{}{}", port_, path);
}

std::vector<TinyRequest> TinyHttpServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::string TinyHttpServer::status(int code, const std::string& body) {
  return fmt::format("HTTP/1.1 {} Said\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", code,
                     body.size(), body);
}

void TinyHttpServer::serve() {
  while (!stop_) {
    FileHandle connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.get() < 0) continue;
    TinyRequest request = read_request(connection.get());
    std::size_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      number = requests_.size();
      requests_.push_back(request);
    }
    const std::string answer = answer_(number, request);
    if (answer == "HANG")
      hanging_.push_back(std::move(connection));
    else
      send_all(connection.get(), answer);
  }
}

}  // namespace goodput
