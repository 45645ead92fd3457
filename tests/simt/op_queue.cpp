#include "tests/simt/op_queue.h"

#include <iterator>

#include "tests/simt/machine.h"

namespace simt {

void wait_briefly(std::vector<pollfd> sockets) {
  poll(sockets.data(), static_cast<nfds_t>(sockets.size()), 1);
}

OpId OpQueue::add(int rank, const std::vector<OpId>& after, Work work) {
  const OpId id = next_id_++;
  Op op;
  op.rank = rank;
  op.work = std::move(work);
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
  while (run_one()) {
  }
}

OpQueue::Key OpQueue::choose() const {
  const Order order = machine().schedule().order;
  if (order == Order::kAscending) return *ready_.begin();
  if (order == Order::kDescending) return *ready_.rbegin();
  return *std::next(ready_.begin(), static_cast<std::ptrdiff_t>(machine().random_below(ready_.size())));
}

bool OpQueue::run_one() {
  if (ready_.empty()) retry_waiting();
  if (ready_.empty()) return false;
  const Key chosen = choose();
  Step result = step(chosen.second);
  ready_.erase(chosen);
  if (result.finished) {
    finish(chosen.second);
  } else {
    waiting_.emplace(chosen, std::move(result.waits_for));
  }
  return true;
}

Step OpQueue::step(OpId op) {
  try {
    return ops_.at(op).work();
  } catch (...) {
    ops_.clear();
    ready_.clear();
    waiting_.clear();
    throw;
  }
}

void OpQueue::finish(OpId op) {
  const auto done = ops_.extract(op);
  for (const OpId id : done.mapped().dependents) {
    Op& dependent = ops_.at(id);
    if (--dependent.awaited == 0) ready_.emplace(dependent.rank, id);
  }
}

void OpQueue::retry_waiting() {
  if (waiting_.empty()) return;
  std::vector<pollfd> sockets;
  for (const auto& [key, waits_for] : waiting_) {
    sockets.insert(sockets.end(), waits_for.begin(), waits_for.end());
    ready_.insert(key);
  }
  waiting_.clear();
  wait_briefly(std::move(sockets));
}

}  // namespace simt
