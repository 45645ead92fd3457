#include "tests/simt/nccl_rendezvous.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

namespace simt {

namespace {

constexpr char kIdPrefix[] = "simt-nccl-";
constexpr int kIdDigits = 32;

Descriptor new_socket() {
  return Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// Calls bind() or connect() with the abstract name of a rank.
template <class Call>
int with_address(Call call, const Descriptor& socket, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const std::size_t bytes = offsetof(sockaddr_un, sun_path) + 1 + name.size();
  return call(socket.number(), reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(bytes));
}

NcclFailure system_failure(const std::string& what) {
  return {ncclSystemError, what + ": " + std::strerror(errno)};
}

NcclFailure mismatch(const std::string& what) {
  return {ncclInvalidUsage, what};
}

std::string rank_name(int rank) {
  return "rank " + std::to_string(rank);
}

}  // namespace

ncclUniqueId make_nccl_id() {
  std::random_device random;
  std::uniform_int_distribution<std::size_t> digit(0, 15);
  std::string name = kIdPrefix;
  for (int d = 0; d < kIdDigits; ++d) name += "0123456789abcdef"[digit(random)];
  ncclUniqueId id{};
  name.copy(id.internal, sizeof id.internal);
  return id;
}

bool is_nccl_id(const ncclUniqueId& id) {
  const std::size_t length = sizeof kIdPrefix - 1 + kIdDigits;
  return std::strncmp(id.internal, kIdPrefix, sizeof kIdPrefix - 1) == 0 &&
         strnlen(id.internal, sizeof id.internal) == length;
}

std::string nccl_address(const ncclUniqueId& id, int rank) {
  return std::string(id.internal) + "-" + std::to_string(rank);
}

Rendezvous::Rendezvous(const NcclHello& own)
    : own_(own),
      missing_(own.ranks - 1),
      unconnected_(static_cast<std::size_t>(own.rank)),
      channels_(static_cast<std::size_t>(own.ranks)) {
  const char* const host = std::getenv("NCCL_HOSTID");
  if (host != nullptr) std::strncpy(own_.host, host, sizeof own_.host - 1);
  std::iota(unconnected_.begin(), unconnected_.end(), 0);
}

NcclFailure Rendezvous::step() {
  NcclFailure failure = listen();
  if (!failure.happened()) failure = connect_to_lower();
  if (!failure.happened()) failure = accept_all();
  for (Handshake& handshake : handshakes_)
    if (!failure.happened() && !complete()) failure = shake(handshake);
  if (!failure.happened() && !complete()) failure = check_joined();
  const bool all_over = complete();
  const auto is_over = [=](const Handshake& one) { return all_over || one.channel == nullptr; };
  handshakes_.erase(std::remove_if(handshakes_.begin(), handshakes_.end(), is_over), handshakes_.end());
  return failure;
}

NcclFailure Rendezvous::listen() {
  if (listener_.number() >= 0) return {};
  Descriptor socket = new_socket();
  if (socket.number() < 0) return system_failure("socket");
  if (with_address(bind, socket, nccl_address(own_.id, own_.rank)) != 0)
    return errno == EADDRINUSE ? mismatch("another process is " + rank_name(own_.rank) + " already")
                               : system_failure("bind");
  if (::listen(socket.number(), own_.ranks) != 0) return system_failure("listen");
  listener_ = std::move(socket);
  return {};
}

NcclFailure Rendezvous::connect_to_lower() {
  std::vector<int> still;
  for (const int peer : unconnected_) {
    Descriptor socket = new_socket();
    if (socket.number() < 0) return system_failure("socket");
    if (with_address(connect, socket, nccl_address(own_.id, peer)) == 0) {
      greet(std::move(socket), peer);
    } else if (errno == ECONNREFUSED || errno == EAGAIN || errno == EINTR) {
      still.push_back(peer);
    } else {
      return system_failure("connect");
    }
  }
  unconnected_ = std::move(still);
  return {};
}

NcclFailure Rendezvous::accept_all() {
  while (true) {
    Descriptor socket(accept4(listener_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.number() < 0)
      return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED ? NcclFailure{}
                                                                        : system_failure("accept");
    greet(std::move(socket), -1);
  }
}

// A new socket takes a greeting at once, so that the peer has it whatever becomes of this side.
void Rendezvous::greet(Descriptor socket, int peer) {
  Handshake handshake;
  handshake.channel = std::make_unique<Channel>(std::move(socket));
  handshake.peer = peer;
  handshake.channel->start(MessageKind::kHello, 0, &own_, sizeof own_);
  handshake.channel->send();
  if (!complete()) handshakes_.push_back(std::move(handshake));
}

NcclFailure Rendezvous::shake(Handshake& handshake) {
  const std::string name = handshake.peer < 0 ? "a rank" : rank_name(handshake.peer);
  Transmission came = handshake.channel->receive_header();
  if (came == Transmission::kDone) {
    const MessageHeader& header = handshake.channel->header();
    if (header.kind != MessageKind::kHello || header.bytes != sizeof handshake.theirs)
      return mismatch(name + " does not begin with a handshake");
    came = handshake.channel->receive_data(&handshake.theirs);
  }
  if (came == Transmission::kBlocked) return {};
  if (came == Transmission::kGone) return {ncclRemoteError, name + " is gone"};
  NcclFailure failure = check(handshake);
  if (failure.happened()) return failure;
  channels_[static_cast<std::size_t>(handshake.theirs.rank)] = std::move(handshake.channel);
  --missing_;
  return {};
}

NcclFailure Rendezvous::check(const Handshake& handshake) const {
  const NcclHello& theirs = handshake.theirs;
  const std::string name = rank_name(theirs.rank);
  if (std::memcmp(&theirs.id, &own_.id, sizeof own_.id) != 0)
    return mismatch(name + " of another communicator came to " + rank_name(own_.rank));
  if (theirs.ranks != own_.ranks)
    return mismatch(name + " has a communicator of " + std::to_string(theirs.ranks) + " ranks, " +
                    rank_name(own_.rank) + " of " + std::to_string(own_.ranks));
  const bool is_expected = handshake.peer < 0 ? theirs.rank > own_.rank && theirs.rank < own_.ranks
                                              : theirs.rank == handshake.peer;
  if (!is_expected || channels_[static_cast<std::size_t>(theirs.rank)] != nullptr)
    return mismatch(rank_name(own_.rank) + " did not expect a process that says it is " + name);
  // As NCCL until 2.29: of the same host and the same GPU are two ranks too many.
  if (std::getenv("SIMT_NCCL_ONE_GPU") != nullptr && std::strcmp(theirs.host, own_.host) == 0)
    return mismatch("Duplicate GPU detected: " + rank_name(own_.rank) + " and " + name + " have the same");
  return {};
}

NcclFailure Rendezvous::check_joined() const {
  for (std::size_t peer = 0; peer < channels_.size(); ++peer)
    if (channels_[peer] != nullptr && channels_[peer]->is_gone())
      return {ncclRemoteError, rank_name(static_cast<int>(peer)) + " is gone"};
  return {};
}

std::vector<pollfd> Rendezvous::waits_for() const {
  std::vector<pollfd> sockets = {{listener_.number(), POLLIN, 0}};
  for (const Handshake& handshake : handshakes_) sockets.push_back(handshake.channel->wait_for(POLLIN));
  return sockets;
}

}  // namespace simt
