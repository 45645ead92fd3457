#include "tests/simt/op_queue.h"

#include <iterator>

#include "tests/simt/machine.h"

namespace simt {

OpId OpQueue::add(int rank, const std::vector<OpId>& after, std::function<void()> run) {
  const OpId id = next_id_++;
  Op op;
  op.rank = rank;
  op.run = std::move(run);
  for (const OpId before : after) {
    const auto found = ops_.find(before);
    if (found == ops_.end()) continue;
    found->second.dependents.push_back(id);
    ++op.awaited;
  }
  if (op.awaited == 0) ready_.emplace(rank, id);
  ops_.emplace(id, std::move(op));
  return id;
}

void OpQueue::run_until_done(OpId op) {
  while (pending(op)) run_one();
}

void OpQueue::run_all() {
  while (!ready_.empty()) run_one();
}

std::pair<int, OpId> OpQueue::choose() const {
  const Order order = machine().schedule().order;
  if (order == Order::kAscending) return *ready_.begin();
  if (order == Order::kDescending) return *ready_.rbegin();
  return *std::next(ready_.begin(), static_cast<std::ptrdiff_t>(machine().random_below(ready_.size())));
}

void OpQueue::run_one() {
  if (ready_.empty()) return;
  const auto chosen = choose();
  try {
    ops_.at(chosen.second).run();
  } catch (...) {
    ops_.clear();
    ready_.clear();
    throw;
  }
  ready_.erase(chosen);
  const auto done = ops_.extract(chosen.second);
  for (const OpId id : done.mapped().dependents) {
    Op& dependent = ops_.at(id);
    if (--dependent.awaited == 0) ready_.emplace(dependent.rank, id);
  }
}

}  // namespace simt
