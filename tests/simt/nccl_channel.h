// A socket to another rank: messages of a header and data, moved piece by piece without blocking.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace simt {

// Owns a file descriptor; -1: none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;

  int number() const { return number_; }

 private:
  int number_;
};

// What a message belongs to: the handshake, or the call that sends it.
enum class MessageKind : std::uint32_t {
  kHello,
  kFinalize,
  kSplit,
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kSendReceive,
};

struct MessageHeader {
  MessageKind kind = MessageKind::kHello;
  std::uint32_t type = 0;    // ncclDataType_t
  std::uint64_t number = 0;  // of the sender's messages to this receiver, from 0
  std::uint64_t bytes = 0;   // of data that follow
};

enum class Transmission : std::uint8_t { kDone, kBlocked, kGone };

class Channel {
 public:
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

  // Puts a message on its way, whose data must stay until send() is done. REQUIRES: no other is.
  void start(MessageKind kind, std::uint32_t type, const void* data, std::size_t bytes);
  bool is_sending() const { return sending_; }
  Transmission send();

  // Of the next message first its header, then its data.
  Transmission receive_header();
  const MessageHeader& header() const { return incoming_; }  // REQUIRES: receive_header() is done
  std::uint64_t expected_number() const { return received_; }
  Transmission receive_data(void* to);

  // The other side has closed and nothing of it is left to be received.
  bool is_gone() const;

  pollfd wait_for(short events) const { return {socket_.number(), events, 0}; }

 private:
  Transmission receive_piece(char* to, std::size_t bytes, std::size_t& done);

  Descriptor socket_;

  bool sending_ = false;
  MessageHeader outgoing_;
  const char* data_ = nullptr;
  std::size_t sent_ = 0;  // of header and data
  std::uint64_t started_ = 0;

  MessageHeader incoming_;
  std::size_t header_received_ = 0;
  std::size_t data_received_ = 0;
  std::uint64_t received_ = 0;
};

}  // namespace simt
