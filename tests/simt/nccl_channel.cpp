#include "tests/simt/nccl_channel.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace simt {

namespace {

bool is_temporary(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

void Channel::start(MessageKind kind, std::uint32_t type, const void* data, std::size_t bytes) {
  outgoing_ = {kind, type, started_++, bytes};
  data_ = bytes == 0 ? nullptr : static_cast<const char*>(data);
  sent_ = 0;
  sending_ = true;
}

// Header and data at once: a small message is there as a whole or not at all.
Transmission Channel::send() {
  auto* const header = reinterpret_cast<char*>(&outgoing_);
  const std::size_t all = sizeof outgoing_ + outgoing_.bytes;
  while (sent_ < all) {
    const std::size_t of_header = std::min(sent_, sizeof outgoing_);
    const std::size_t of_data = sent_ - of_header;
    std::array<iovec, 2> pieces = {{{header + of_header, sizeof outgoing_ - of_header},
                                    {const_cast<char*>(data_) + of_data, outgoing_.bytes - of_data}}};
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    const ssize_t sent = sendmsg(socket_.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return is_temporary(errno) ? Transmission::kBlocked : Transmission::kGone;
    sent_ += static_cast<std::size_t>(sent);
  }
  sending_ = false;
  return Transmission::kDone;
}

Transmission Channel::receive_header() {
  return receive_piece(reinterpret_cast<char*>(&incoming_), sizeof incoming_, header_received_);
}

Transmission Channel::receive_data(void* to) {
  const Transmission came = receive_piece(static_cast<char*>(to), incoming_.bytes, data_received_);
  if (came != Transmission::kDone) return came;
  header_received_ = data_received_ = 0;
  ++received_;
  return came;
}

Transmission Channel::receive_piece(char* to, std::size_t bytes, std::size_t& done) {
  while (done < bytes) {
    const ssize_t came = recv(socket_.number(), to + done, bytes - done, MSG_DONTWAIT);
    if (came == 0) return Transmission::kGone;
    if (came < 0) return is_temporary(errno) ? Transmission::kBlocked : Transmission::kGone;
    done += static_cast<std::size_t>(came);
  }
  return Transmission::kDone;
}

bool Channel::is_gone() const {
  char next = 0;
  const ssize_t came = recv(socket_.number(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return came == 0 || (came < 0 && !is_temporary(errno));
}

}  // namespace simt
