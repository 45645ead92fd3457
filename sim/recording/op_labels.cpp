#include "sim/recording/op_labels.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace goodput {
namespace {

constexpr std::string_view kFirstOp = "first-op";

bool is_first_op(const TraceOp& op) {
  return op.seq_id == 0 && op.type == (op.stage == 0 ? OpType::kForwardCompute : OpType::kForwardRecv);
}

// All instances of the ops that match.
template <typename Matches>
InstanceBox box_of_ops(const Recording& recording, Matches matches) {
  InstanceBox box = InstanceBox::all(recording);
  for (std::size_t op = 0; op < recording.ops.size(); ++op) box.ops[op] = matches(recording.ops[op]) ? 1 : 0;
  return box;
}

InstanceBox box_of_stage(const Recording& recording, std::size_t stage) {
  return box_of_ops(recording,
                    [&](const TraceOp& op) { return static_cast<std::size_t>(op.stage) == stage; });
}

void keep_replica(InstanceBox& box, std::size_t dp_rank) {
  std::fill(box.dp_ranks.begin(), box.dp_ranks.end(), 0);
  box.dp_ranks[dp_rank] = 1;
}

}  // namespace

std::vector<OpLabel> dp_labels(const Recording& recording) {
  std::vector<OpLabel> labels;
  for (std::size_t dp = 0; dp < static_cast<std::size_t>(recording.dp_size); ++dp) {
    labels.push_back({std::to_string(dp), InstanceBox::all(recording)});
    keep_replica(labels.back().box, dp);
  }
  return labels;
}

std::vector<OpLabel> stage_labels(const Recording& recording) {
  std::vector<OpLabel> labels;
  for (std::size_t stage = 0; stage < static_cast<std::size_t>(recording.pp_size); ++stage) {
    labels.push_back({std::to_string(stage), box_of_stage(recording, stage)});
  }
  return labels;
}

std::vector<OpLabel> optype_labels(const Recording& recording, FirstOps first_ops) {
  const auto label_of = [&](const TraceOp& op) {
    return first_ops == FirstOps::kApart && is_first_op(op)
               ? kFirstOp
               : std::string_view(recording.types[op.type].label);
  };
  std::set<std::string_view> present;
  for (const TraceOp& op : recording.ops) present.insert(label_of(op));
  std::vector<OpLabel> labels;
  for (const std::string_view name : present) {
    labels.push_back(
        {std::string(name), box_of_ops(recording, [&](const TraceOp& op) { return label_of(op) == name; })});
  }
  return labels;
}

InstanceBox box_of_worker(const Recording& recording, std::size_t dp_rank, std::size_t stage) {
  InstanceBox box = box_of_stage(recording, stage);
  keep_replica(box, dp_rank);
  return box;
}

InstanceSet set_of_workers(const Recording& recording, std::span<const std::size_t> workers) {
  std::map<std::size_t, InstanceBox> by_stage;
  for (const std::size_t worker : workers) {
    const auto [dp_rank, stage] = recording.worker(worker);
    const auto [entry, is_new] = by_stage.try_emplace(stage);
    if (is_new) entry->second = box_of_worker(recording, dp_rank, stage);
    entry->second.dp_ranks[dp_rank] = 1;
  }
  InstanceSet set;
  for (auto& [stage, box] : by_stage) set.boxes.push_back(std::move(box));
  return set;
}

std::vector<std::string> names(const std::vector<OpLabel>& labels) {
  std::vector<std::string> result;
  for (const OpLabel& label : labels) result.push_back(label.name);
  return result;
}

}  // namespace goodput
