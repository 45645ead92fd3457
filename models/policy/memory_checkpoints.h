// Checkpoints in the CPU memory of other nodes (Gemini, SOSP 2023), at every step if there is time, hidden
// behind training. Nodes stand in groups of `replicas`, each of which holds the checkpoint of all its
// members; those left over join the last group, in which the checkpoint of a node is on itself and the next
// ones around the ring (its "mixed placement"). While every checkpoint is on some node the job comes back
// from memory, else from storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "models/policy/checkpoint_store.h"
#include "models/policy/restart_options.h"

namespace goodput {

struct MemorySettings {
  std::int32_t replicas = 2;        // nodes that hold a checkpoint
  std::int64_t interval_steps = 1;  // from one to the next
  SimDuration stall{};              // by which each delays training
  BytesPerSecond node{10e9};        // that a node fetches of its checkpoint from another
};
enum class MemoryUse : std::uint8_t {
  kAlways,        // "replicas", at least 1
  kIfReplicated,  // "memory_replicas", 0: there are no checkpoints in memory
};
// `evicts`: whether nodes that are still there give up their places.
[[nodiscard]] config::Fields memory_fields(MemorySettings& settings, MemoryUse use,
                                           const std::function<bool()>& evicts);

// Storage is filled from the copies in memory, beside the training: every n-th of them.
class MemoryCheckpoints final : public CheckpointStore {
 public:
  // Keeps references.
  MemoryCheckpoints(const RestartJob& job, const MemorySettings& settings)
      : settings_(&settings), storage_(*job.job, job.options.checkpoint) {}

  [[nodiscard]] ResumeFrom resume_level() const override;
  [[nodiscard]] SimDuration restore_time(ResumeFrom from, std::int32_t nodes) const override;
  [[nodiscard]] CheckpointRules rules(const StepTime& step, std::int32_t nodes,
                                      SimDuration restart) const override;
  [[nodiscard]] SimDuration planned_save(std::int32_t nodes) const override {
    return storage_.planned_save(nodes);
  }
  [[nodiscard]] Bytes planned_bytes() const override { return storage_.planned_bytes(); }

  // The first checkpoint in memory is taken to be there at once.
  void note_trained() override;
  void note_loss(const NodeChange& change) override;
  // Nodes that stay keep their places; others fill the places that became free. If the number of nodes
  // changes, each node gets a new part of the state, and there is no copy of it until they train.
  void note_training(const Training& training) override;

 private:
  struct PlaceGroup {
    std::size_t first = 0;
    std::size_t size = 0;
  };
  [[nodiscard]] PlaceGroup group_of(std::size_t place) const;
  [[nodiscard]] bool has_lost(std::size_t first, std::size_t size) const;  // of the places of a group
  void lose_copy(std::size_t place);

  const MemorySettings* settings_;
  StorageCheckpoints storage_;
  std::vector<NodeId> used_;               // ascending
  std::vector<NodeId> places_;             // the same, by group and place in it
  std::vector<bool> has_copy_;             // by place: whether its node holds what it is to
  std::vector<std::size_t> without_copy_;  // places whose node does not
};

// Where storage cannot be filled as often as was asked for.
[[nodiscard]] std::vector<std::string> memory_warnings(const MemorySettings& settings,
                                                       const CheckpointSettings& storage);

}  // namespace goodput
