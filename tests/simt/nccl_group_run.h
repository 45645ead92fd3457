// A group's operation on its stream: all of its transfers, each lane (a peer, a direction) in order.
//
// Copies begin anew: every launch of a graph runs a copy. A copy of a communicator that has ended is of a
// graph that outlived it, which NCCL's users may not launch: it throws when it runs.
#pragma once

#include <memory>
#include <vector>

#include "tests/simt/nccl_communicator.h"
#include "tests/simt/nccl_transfers.h"
#include "tests/simt/op_queue.h"

namespace simt {

class GroupRun {
 public:
  GroupRun(std::shared_ptr<NcclCommunicator> communicator, std::shared_ptr<const GroupWork> work);
  GroupRun(const GroupRun& other);
  GroupRun(GroupRun&&) = default;
  GroupRun& operator=(const GroupRun&) = delete;
  ~GroupRun();

  Step operator()();

 private:
  struct Lane {
    int peer = 0;
    Direction direction = Direction::kSend;
    std::vector<Transfer> transfers;
    std::size_t next = 0;

    bool done() const { return next == transfers.size(); }
  };
  struct Progress {
    std::vector<Lane> lanes;
    std::vector<std::vector<char>> summands;  // of every sum: of all ranks, one behind the other
  };

  void begin();
  void copy_to_itself();
  void begin_sums();
  void end_sums();
  char* summand(int sum, int rank);
  void advance(Lane& lane);
  void end_with(const Lane& lane);
  Transmission send(Lane& lane);
  Transmission receive(Lane& lane);
  Step end_of_step();

  std::shared_ptr<NcclCommunicator> communicator_;
  std::shared_ptr<const GroupWork> work_;
  bool stale_;
  std::unique_ptr<Progress> progress_;  // from the first step to the last
};

}  // namespace simt
