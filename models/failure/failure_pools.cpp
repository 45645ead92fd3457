#include "models/failure/failure_pools.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/base/errors.h"

namespace goodput {
namespace {

class JoinedPools final : public FailureModel {
 public:
  explicit JoinedPools(std::vector<std::unique_ptr<FailureModel>> models) {
    for (auto& model : models) {
      const NodeId first = nodes_;
      nodes_ += model->nodes();
      auto head = model->next();
      pools_.push_back({std::move(model), first, head});
    }
  }

  [[nodiscard]] NodeId nodes() const override { return nodes_; }

  [[nodiscard]] std::optional<SimTime> end() const override {
    std::optional<SimTime> first;
    for (const Pool& pool : pools_) {
      const auto end = pool.model->end();
      if (end && (!first || *end < *first)) first = end;
    }
    return first;
  }

  // Of one moment by kind, then by pool.
  [[nodiscard]] std::optional<NodeEvent> next() override {
    const auto pool = std::min_element(pools_.begin(), pools_.end(), [](const Pool& a, const Pool& b) {
      if (!a.head || !b.head) return a.head.has_value() && !b.head;
      return std::tie(a.head->time, a.head->kind) < std::tie(b.head->time, b.head->kind);
    });
    std::optional<NodeEvent> event = pool->head;
    if (!event) return std::nullopt;
    event->node += pool->first;
    pool->head = pool->model->next();
    return event;
  }

 private:
  struct Pool {
    std::unique_ptr<FailureModel> model;
    NodeId first = 0;               // of its ids
    std::optional<NodeEvent> head;  // what it says next
  };

  std::vector<Pool> pools_;
  NodeId nodes_ = 0;
};

}  // namespace

std::unique_ptr<FailureModel> join_pools(std::vector<std::unique_ptr<FailureModel>> pools) {
  GOODPUT_CHECK(!pools.empty(), "at least one pool of nodes is needed");
  if (pools.size() == 1) return std::move(pools.front());
  return std::make_unique<JoinedPools>(std::move(pools));
}

}  // namespace goodput
