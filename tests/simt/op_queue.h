// Work that was queued and not yet executed: operations with what must precede them.
//
// Nothing runs before somebody waits for something; then one operation after another does. Of those that
// could run the machine's schedule chooses: of the lowest rank (stream) in ascending order, of the highest
// in descending, any in random order. An operation that throws takes all that is queued with it, as a
// failed kernel ends its context's work.
//
// An operation may need several steps: one that waits for sockets says so, and the others that are ready
// run before it does again. When all of them wait the queue waits for their sockets, a millisecond at most.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace simt {

using OpId = std::uint64_t;  // 0: none, never pending

// What a step of an operation came to.
struct Step {
  bool finished = true;
  std::vector<pollfd> waits_for;  // if it is not; none of them: for something that is no socket
};

// Called until it has finished.
using Work = std::function<Step()>;

// Returns as soon as one of `sockets` is ready, or after a millisecond.
void wait_briefly(std::vector<pollfd> sockets);

class OpQueue {
 public:
  // Of the operation that is added next.
  OpId next_id() const { return next_id_; }

  OpId add(int rank, const std::vector<OpId>& after, Work work);

  bool pending(OpId op) const { return ops_.count(op) != 0; }
  void run_until_done(OpId op);
  void run_all();
  bool run_one();  // a step of one; false: there is none

 private:
  using Key = std::pair<int, OpId>;  // rank, operation

  struct Op {
    int rank = 0;
    std::size_t awaited = 0;
    std::vector<OpId> dependents;
    Work work;
  };

  Key choose() const;
  Step step(OpId op);
  void finish(OpId op);
  void retry_waiting();

  OpId next_id_ = 1;
  std::unordered_map<OpId, Op> ops_;
  std::set<Key> ready_;
  std::map<Key, std::vector<pollfd>> waiting_;  // ready too, but for what they wait for
};

}  // namespace simt
