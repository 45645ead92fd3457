// How ranks of a communicator become communicators of their own: all tell each other their colors and keys
// over the sockets they have, then those of a color join each other by an id that their first rank has made.
#pragma once

#include <memory>
#include <vector>

#include "tests/simt/nccl.h"
#include "tests/simt/nccl_channel.h"
#include "tests/simt/nccl_rendezvous.h"

namespace simt {

class NcclCommunicator;

class NcclSplit {
 public:
  // `parent` must outlive it. REQUIRES: it sends nothing.
  NcclSplit(NcclCommunicator& parent, int color, int key, bool blocking);

  // Goes on; if nothing could, waits for a millisecond at most.
  NcclFailure step();
  bool complete() const { return stage_ == Stage::kComplete; }
  // nullptr: for NCCL_SPLIT_NOCOLOR. REQUIRES: complete().
  std::shared_ptr<NcclCommunicator> take_child() { return std::move(child_); }

 private:
  enum class Stage { kTelling, kJoining, kComplete };

  // What a rank says.
  struct Wish {
    int color = NCCL_SPLIT_NOCOLOR;
    int key = 0;
    ncclUniqueId id{};  // of its communicator, should it be the first
  };

  NcclFailure tell_all();
  NcclFailure tell(int peer, std::vector<pollfd>& waits_for);
  NcclFailure hear(int peer, std::vector<pollfd>& waits_for);
  NcclFailure join();
  void begin_joining();

  NcclCommunicator& parent_;
  bool blocking_;
  Stage stage_ = Stage::kTelling;
  std::vector<Wish> wishes_;  // by rank
  std::vector<bool> heard_;   // by peer
  std::shared_ptr<NcclCommunicator> child_;
};

}  // namespace simt
