// What a launcher and a rank that it forked say to each other.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace goodput::gpu {

enum class RankWord : char {
  // From a rank.
  kSharing = 's',      // has called share()
  kDone = 'd',         // its body has returned
  kFailed = 'f',       // text: what it threw
  kConsequence = 'c',  // text: the LostRank that it threw
  // From the launcher.
  kLost = 'l',      // text: which rank failed, and why
  kUnshared = 'u',  // text: which rank ended without share()
  // From rank 0, and on to all others.
  kId = 'i',  // text: the bytes of the UniqueId
};

struct RankMessage {
  RankWord word;
  std::string text;
};

// An end of a pair of sockets that keep messages apart; closed with this object, and by exec().
class RankChannel {
 public:
  // Nothing where there is no socket for it: errno says why.
  static std::optional<std::pair<RankChannel, RankChannel>> make_pair();
  RankChannel(RankChannel&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), is_closed_(other.is_closed_) {}
  RankChannel& operator=(RankChannel&&) = delete;
  ~RankChannel();

  // Whether there is somebody at the other end. A text longer than kMaxText is cut.
  static constexpr std::size_t kMaxText = 8192;
  bool send(RankWord word, std::string_view text = {});

  // The next message, if there is one.
  std::optional<RankMessage> receive();
  // Until there is a message, or nobody at the other end; at most so long.
  void wait(std::chrono::milliseconds most) const;
  // Nobody is at the other end, and all that was sent was received.
  [[nodiscard]] bool is_closed() const { return is_closed_; }
  [[nodiscard]] int socket() const { return socket_; }

 private:
  explicit RankChannel(int socket) : socket_(socket) {}

  int socket_;
  bool is_closed_ = false;
};

}  // namespace goodput::gpu
