// Work that was queued and not yet executed: operations with what must precede them.
//
// Nothing runs before somebody waits for something; then one operation after another does. Of those that
// could run the machine's schedule chooses: of the lowest rank (stream) in ascending order, of the highest
// in descending, any in random order. An operation that throws takes all that is queued with it, as a
// failed kernel ends its context's work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace simt {

using OpId = std::uint64_t;  // 0: none, never pending

class OpQueue {
 public:
  // Of the operation that is added next.
  OpId next_id() const { return next_id_; }

  OpId add(int rank, const std::vector<OpId>& after, std::function<void()> run);

  bool pending(OpId op) const { return ops_.count(op) != 0; }
  void run_until_done(OpId op);
  void run_all();
  void run_one();  // if there is one

 private:
  struct Op {
    int rank = 0;
    std::size_t awaited = 0;
    std::vector<OpId> dependents;
    std::function<void()> run;
  };

  std::pair<int, OpId> choose() const;

  OpId next_id_ = 1;
  std::unordered_map<OpId, Op> ops_;
  std::set<std::pair<int, OpId>> ready_;  // rank, operation
};

}  // namespace simt
