#include "models/failure/failure_merge.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "models/failure/failure_draws.h"
#include "sim/base/errors.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

class MergedFailures final : public FailureModel {
 public:
  explicit MergedFailures(std::vector<std::unique_ptr<FailureModel>> models);

  [[nodiscard]] NodeId nodes() const override { return static_cast<NodeId>(nodes_.size()); }
  [[nodiscard]] NodeId most_held() const override;
  [[nodiscard]] std::optional<NodeEvent> next() override;
  [[nodiscard]] std::optional<SimTime> end() const override;

 private:
  using Kind = NodeEvent::Kind;
  struct Input {
    std::unique_ptr<FailureModel> model;
    std::optional<NodeEvent> head;
    std::vector<double> speeds;  // by node, what counts of what it said
    NodeId present = 0;          // nodes that it has

    // Whatever the others say, nobody will be there any more.
    [[nodiscard]] bool is_over(std::size_t all_nodes) const {
      return !head && present == 0 && speeds.size() == all_nodes;
    }
  };
  struct Node {
    std::int32_t absent_for = 0;  // models that know it and do not have it
    bool was_there = false;       // before this moment
    bool is_lost = false;         // some model lost it at this moment
    bool is_touched = false;
    double speed = 1;  // as told
  };

  [[nodiscard]] bool gather_moment();
  void touch(NodeId node);
  void note_presence(const NodeEvent& event);
  void tell_presence(SimTime time);
  void note_and_tell_speeds(SimTime time);

  std::vector<Input> inputs_;
  std::vector<Node> nodes_;
  SimTime last_ = SimTime::max();  // end(): nobody asks what happens afterwards
  // Of the moment at hand; reused.
  std::vector<std::pair<std::size_t, NodeEvent>> speed_events_;  // with their input
  std::vector<NodeId> touched_;
  std::vector<NodeEvent> told_;
  std::size_t next_told_ = 0;
};

MergedFailures::MergedFailures(std::vector<std::unique_ptr<FailureModel>> models) {
  NodeId nodes = 0;
  for (const auto& model : models) nodes = std::max(nodes, model->nodes());
  nodes_.resize(static_cast<std::size_t>(nodes));
  for (auto& model : models) {
    const auto known = static_cast<std::size_t>(model->nodes());
    for (std::size_t n = 0; n < known; ++n) ++nodes_[n].absent_for;
    auto head = model->next();
    inputs_.push_back({std::move(model), head, std::vector<double>(known, 1.0), 0});
  }
  last_ = end().value_or(SimTime::max());
}

// Of the nodes that a model knows, no more than it says; of the others, all.
NodeId MergedFailures::most_held() const {
  NodeId most = nodes();
  for (const Input& input : inputs_)
    most = std::min(most, input.model->most_held() + nodes() - input.model->nodes());
  return most;
}

std::optional<NodeEvent> MergedFailures::next() {
  while (next_told_ == told_.size()) {
    if (!gather_moment()) return std::nullopt;
  }
  return told_[next_told_++];
}

std::optional<SimTime> MergedFailures::end() const {
  std::optional<SimTime> first;
  for (const Input& input : inputs_) {
    const auto end = input.model->end();
    if (end && (!first || *end < *first)) first = end;
  }
  return first;
}

// Takes all that the models say of the next moment; what it comes to is in told_. False: there is no next
// one.
bool MergedFailures::gather_moment() {
  std::optional<SimTime> time;
  for (const Input& input : inputs_) {
    if (input.is_over(nodes_.size())) return false;
    if (input.head && (!time || input.head->time < *time)) time = input.head->time;
  }
  if (!time || *time > last_) return false;
  told_.clear();
  next_told_ = 0;
  touched_.clear();
  speed_events_.clear();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Input& input = inputs_[i];
    for (; input.head && input.head->time == *time; input.head = input.model->next()) {
      touch(input.head->node);
      if (input.head->kind == Kind::kSpeed) {
        speed_events_.emplace_back(i, *input.head);
      } else {
        note_presence(*input.head);
        input.present += input.head->kind == Kind::kAdd ? 1 : -1;
      }
    }
  }
  tell_presence(*time);
  note_and_tell_speeds(*time);
  return true;
}

void MergedFailures::touch(NodeId node) {
  Node& state = nodes_[index(node)];
  if (std::exchange(state.is_touched, true)) return;
  state.was_there = state.absent_for == 0;
  state.is_lost = false;
  touched_.push_back(node);
}

void MergedFailures::note_presence(const NodeEvent& event) {
  Node& state = nodes_[index(event.node)];
  if (event.kind == Kind::kAdd) {
    --state.absent_for;
  } else {
    ++state.absent_for;
    state.is_lost = state.was_there;
  }
}

void MergedFailures::tell_presence(SimTime time) {
  for (const NodeId node : touched_) {
    Node& state = nodes_[index(node)];
    if (!state.is_lost) continue;
    told_.push_back({time, Kind::kRemove, node, 1});
    state.speed = 1;
    for (Input& input : inputs_) {
      if (index(node) < input.speeds.size()) input.speeds[index(node)] = 1;
    }
  }
  for (const NodeId node : touched_) {
    const Node& state = nodes_[index(node)];
    const bool is_new = !state.was_there || state.is_lost;
    if (is_new && state.absent_for == 0) told_.push_back({time, Kind::kAdd, node, 1});
  }
}

void MergedFailures::note_and_tell_speeds(SimTime time) {
  for (const auto& [input, event] : speed_events_) {
    if (nodes_[index(event.node)].absent_for == 0) inputs_[input].speeds[index(event.node)] = event.speed;
  }
  for (const NodeId node : touched_) {
    Node& state = nodes_[index(node)];
    state.is_touched = false;
    double speed = 1;
    for (const Input& input : inputs_) {
      if (index(node) < input.speeds.size()) speed *= input.speeds[index(node)];
    }
    speed = std::max(speed, kLeastSpeed);
    if (std::exchange(state.speed, speed) != speed) told_.push_back({time, Kind::kSpeed, node, speed});
  }
}

}  // namespace

std::unique_ptr<FailureModel> merge_failures(std::vector<std::unique_ptr<FailureModel>> models) {
  GOODPUT_CHECK(!models.empty(), "at least one failure model is needed");
  if (models.size() == 1) return std::move(models.front());
  return std::make_unique<MergedFailures>(std::move(models));
}

}  // namespace goodput
