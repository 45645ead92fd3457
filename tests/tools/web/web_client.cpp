#include "tests/tools/web/web_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace goodput::testing {
namespace {

std::string lower(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return lowered;
}

int number_of(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::string WebAnswer::header(std::string_view name) const {
  const std::string mark = fmt::format("\r\n{}: ", lower(name));
  const std::size_t begin = lower(head).find(mark);
  if (begin == std::string::npos) return {};
  const std::size_t value = begin + mark.size();
  return head.substr(value, head.find("\r\n", value) - value);
}

WebClient::WebClient(std::uint16_t port, Buffers buffers)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (buffers == Buffers::kSmall) {
    const int bytes = 4096;
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(socket_);
    throw std::runtime_error("no server listens");
  }
}

WebClient::WebClient(WebClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      time_(other.time_),
      received_(std::move(other.received_)),
      has_ended_(other.has_ended_) {}

WebClient::~WebClient() {
  if (socket_ >= 0) close(socket_);
}

bool WebClient::wait_for(short events) const {
  pollfd poll_for{socket_, events, 0};
  return poll(&poll_for, 1, static_cast<int>(time_.count())) == 1;
}

bool WebClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!wait_for(POLLOUT)) return false;
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool WebClient::receive_some() {
  std::array<char, 65536> bytes;
  if (has_ended_ || !wait_for(POLLIN)) return false;
  const ssize_t count = recv(socket_, bytes.data(), bytes.size(), 0);
  has_ended_ = count <= 0;
  if (count > 0) received_.append(bytes.data(), static_cast<std::size_t>(count));
  return count > 0;
}

std::optional<WebAnswer> WebClient::receive(Body body) {
  std::size_t end = 0;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
    if (!receive_some()) return std::nullopt;
  }
  WebAnswer answer;
  answer.head = received_.substr(0, end + 4);
  answer.status = number_of(std::string_view(answer.head).substr(std::string_view("HTTP/1.1 ").size()));
  const auto bytes = static_cast<std::size_t>(number_of(answer.header("content-length")));
  const std::size_t whole = answer.head.size() + (body == Body::kPresent ? bytes : 0);
  while (received_.size() < whole) {
    if (!receive_some()) return std::nullopt;
  }
  answer.body = received_.substr(answer.head.size(), whole - answer.head.size());
  received_.erase(0, whole);
  return answer;
}

std::string WebClient::receive_until(std::string_view mark) {
  std::size_t found = 0;
  while ((found = received_.find(mark)) == std::string::npos) {
    if (!receive_some()) return std::exchange(received_, {});
  }
  std::string text = received_.substr(0, found + mark.size());
  received_.erase(0, text.size());
  return text;
}

bool WebClient::is_closed() {
  while (receive_some()) received_.clear();
  return has_ended_;
}

void WebClient::end_sending() {
  shutdown(socket_, SHUT_WR);
}

std::string get(std::string_view target, std::string_view more) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", target, more);
}

std::string post(std::string_view target, std::string_view body, std::string_view more) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n{}\r\n{}", target,
                     body.size(), more, body);
}

std::optional<WebAnswer> ask(std::uint16_t port, std::string_view request) {
  WebClient client(port);
  if (!client.send(request)) return std::nullopt;
  return client.receive();
}

}  // namespace goodput::testing
