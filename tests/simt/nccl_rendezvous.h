// How the ranks of a communicator find each other, and check that they mean the same communicator.
//
// Every rank listens at a name made of the unique id and its rank. It connects to the lower ranks, again and
// again until they are there, and accepts the higher ones; both sides say who they are.
#pragma once

#include <poll.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tests/simt/nccl.h"
#include "tests/simt/nccl_channel.h"

namespace simt {

struct NcclFailure {
  ncclResult_t result = ncclSuccess;  // none
  std::string text;

  bool happened() const { return result != ncclSuccess; }
};

// What a rank says of itself.
struct NcclHello {
  ncclUniqueId id;
  int rank = 0;
  int ranks = 0;
  char host[64] = {};  // what NCCL_HOSTID says; "": the one that all are on
};

ncclUniqueId make_nccl_id();
bool is_nccl_id(const ncclUniqueId& id);

// The abstract socket name of a rank. REQUIRES: is_nccl_id(id).
std::string nccl_address(const ncclUniqueId& id, int rank);

class Rendezvous {
 public:
  explicit Rendezvous(const NcclHello& own);

  // Goes on as far as it can without waiting. Behind the end it tells those who come late that they do.
  NcclFailure step();
  bool complete() const { return missing_ == 0; }
  std::vector<pollfd> waits_for() const;

  // By rank, the own one empty. REQUIRES: complete().
  std::vector<std::unique_ptr<Channel>> take_channels() { return std::move(channels_); }

 private:
  struct Handshake {
    std::unique_ptr<Channel> channel;
    int peer = -1;  // -1: not known before it says so
    NcclHello theirs;
  };

  NcclFailure listen();
  NcclFailure connect_to_lower();
  NcclFailure accept_all();
  void greet(Descriptor socket, int peer);
  NcclFailure shake(Handshake& handshake);
  NcclFailure check(const Handshake& handshake) const;
  NcclFailure check_joined() const;

  NcclHello own_;
  int missing_;
  Descriptor listener_;
  std::vector<int> unconnected_;  // lower ranks
  std::vector<Handshake> handshakes_;
  std::vector<std::unique_ptr<Channel>> channels_;
};

}  // namespace simt
