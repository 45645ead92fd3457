#include "gpu/nccl/rank_channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace goodput::gpu {

std::optional<std::pair<RankChannel, RankChannel>> RankChannel::make_pair() {
  std::array<int, 2> sockets{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0) return std::nullopt;
  return std::pair(RankChannel(sockets[0]), RankChannel(sockets[1]));
}

RankChannel::~RankChannel() {
  if (socket_ >= 0) close(socket_);
}

bool RankChannel::send(RankWord word, std::string_view text) {
  std::string message(1, static_cast<char>(word));
  message += text.substr(0, kMaxText);
  ssize_t sent = -1;
  do {
    sent = ::send(socket_, message.data(), message.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;  // all of it: messages are not divided
}

std::optional<RankMessage> RankChannel::receive() {
  std::array<char, 1 + kMaxText> buffer;
  ssize_t bytes = -1;
  // ECONNRESET comes once, before what is still to be read: the other end was closed with messages unread.
  do {
    bytes = recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  } while (bytes < 0 && (errno == EINTR || errno == ECONNRESET));
  if (bytes < 0) return std::nullopt;
  if (bytes == 0) {
    is_closed_ = true;
    return std::nullopt;
  }
  return RankMessage{static_cast<RankWord>(buffer[0]),
                     std::string(buffer.data() + 1, static_cast<std::size_t>(bytes) - 1)};
}

void RankChannel::wait(std::chrono::milliseconds most) const {
  pollfd waited{socket_, POLLIN, 0};
  static_cast<void>(poll(&waited, 1, static_cast<int>(most.count())));
}

}  // namespace goodput::gpu
