// A failure model before it runs: the options that a scenario gives it, what else it wants to know, and how
// the model is made of both.
//
// Adding a failure model (sim/base/registry.h) is a line in models/failure/failure_models.def and a file
// models/failure/<name>.cpp with
//   a struct of its options, and beside it the functions that FailureSetupOf names,
//   a FailureModel (sim/nodes/failure_model.h) that its make_failures() returns,
//   `FailureModelInfo failure_<name>()`.
// Scenarios, `goodput list failures` and the table of options in docs/formats/scenarios.md (which a test
// compares) then have it. models/failure/exponential.cpp is the shortest.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "models/failure/failure_draws.h"
#include "sim/base/errors.h"
#include "sim/base/units.h"
#include "sim/config/config.h"
#include "sim/nodes/failure_model.h"
#include "sim/nodes/spot_trace.h"

namespace goodput {

// A file that the options name. Others read it, for this folder knows no formats.
struct FailureFile {
  enum class Content : std::uint8_t {
    kRecording,  // of spot nodes, or a failure log
    kSlowdowns,  // of workers, as `goodput whatif --json` writes them
  };
  Content content = Content::kRecording;
  std::string_view key{};  // of the options: what a message points at
  std::string path{};      // as seen from here
  std::string fallback{};  // read where there is no `path`; empty: none
  // Of a recording: what its numbers mean, where the options say so.
  std::optional<SpotPolarity> polarity{};
  std::optional<SpotMeaning> meaning{};
  NodeId nodes = 0;  // of the cluster of a failure log; 0: as logged
};

// What is in that file, empty where there is none. Must outlive the models made of it.
struct FailureSource {
  const SpotTrace* trace = nullptr;
  std::span<const double> slowdowns{};  // above 1
  SimDuration window{};                 // of a recording that a run of the job may take; 0: unknown
};

// A recording has to be this many times as long as the window for trials to start at random moments by
// default.
inline constexpr int kWindowsForRandomStarts = 4;

// How a trial replays a recording.
struct RecordingReplay {
  enum class Starts : std::uint8_t {
    kRandom,    // every trial but trial 0 starts at a random moment
    kChosen,    // every trial starts at `from_s`, because the options say so
    kTooShort,  // every trial starts at `from_s`, because the recording is short or the window is unknown
  };
  Starts starts = Starts::kTooShort;
  SimDuration length{};  // from `from_s` to `to_s`
  SimDuration start{};   // of this trial, since the beginning of the recording
};

// What a model is made of beside its options.
struct FailureInputs {
  FailureSource source{};
  FailureKey key{};
  NodeId cluster_nodes = 0;  // of the models that say which nodes there are; 0: none does
};

// How often, in the long run, something happens to some node that a job uses, per second: of a job on so many
// nodes, those with the lowest ids. Empty: the model does not say.
using InterruptionRate = std::function<double(NodeId)>;

// The options of one failure model, whichever it is, and what can be asked of them.
class FailureSetup {
 public:
  virtual ~FailureSetup() = default;
  [[nodiscard]] virtual std::unique_ptr<FailureSetup> copy() const = 0;

  // The options, keys of a JSON object, and rules between them (Error::where: a pointer from the object).
  // Fields refer to this object.
  [[nodiscard]] virtual config::Fields fields() = 0;
  [[nodiscard]] virtual Status finish() = 0;

  // The model. Errors, Error::where as above, are about the inputs only.
  [[nodiscard]] virtual Result<std::unique_ptr<FailureModel>> make(const FailureInputs& inputs) const = 0;

  // How many nodes there are where the options leave that open. finish() again afterwards: more may be wrong.
  virtual void set_default_nodes(NodeId nodes) = 0;

  // How often it takes a node from a job. REQUIRES: make() of these inputs succeeds.
  [[nodiscard]] virtual InterruptionRate interruptions(const FailureInputs& inputs) const = 0;

  // Of a model that acts on nodes that others say are there: on how many; 0: on all. Nothing: it says itself
  // which nodes there are.
  [[nodiscard]] virtual std::optional<NodeId> nodes_acted_on() const = 0;

  // How it replays its recording. None: it does not replay one. REQUIRES: make() of these inputs succeeds.
  [[nodiscard]] virtual std::optional<RecordingReplay> replay(const FailureInputs& inputs) const = 0;
  // Caps a recording to the `nodes` that a job holds, if it is not capped to fewer. `others_wait`: further
  // nodes step in when one leaves; else they are turned away. REQUIRES: nodes > 0.
  virtual void cap_nodes(NodeId nodes, bool others_wait) = 0;

  // The file that it needs, if it needs one; FailureInputs::source has what is in it.
  [[nodiscard]] virtual std::optional<FailureFile> file() const = 0;
  // Empties the options that name files: where a file lies moves no number.
  virtual void clear_paths() = 0;
  // What is in the file, which may leave options without effect (config::Field::idle).
  virtual void note(const FailureSource& source) = 0;
  // Whether nodes may run slower than healthy ones.
  [[nodiscard]] virtual bool slows_nodes() const = 0;
};

// The set-up of a model whose options are a struct `Options`. Beside the struct there are
//   config::Fields config_fields(Options&);
//   Status config_finish(Options&);
//   Result<std::unique_ptr<FailureModel>> make_failures(const Options&, const FailureInputs&);
// and, where the answer is not "nothing",
//   InterruptionRate interruption_rate(const Options&, const FailureInputs&);
//   NodeId& default_nodes(Options&);   // 0: left open
//   NodeId nodes_of_others(const Options&);
//   RecordingReplay replay_of(const Options&, const FailureInputs&);
//   void set_cap(Options&, NodeId, bool others_wait);
//   std::optional<FailureFile> file_of(const Options&);
//   void forget_paths(Options&);
//   void note_source(Options&, const FailureSource&);
//   bool may_slow_nodes(const Options&);
template <typename Options>
class FailureSetupOf final : public FailureSetup {
 public:
  [[nodiscard]] std::unique_ptr<FailureSetup> copy() const override {
    return std::make_unique<FailureSetupOf>(*this);
  }
  [[nodiscard]] config::Fields fields() override { return config_fields(options_); }
  [[nodiscard]] Status finish() override { return config_finish(options_); }
  [[nodiscard]] Result<std::unique_ptr<FailureModel>> make(const FailureInputs& inputs) const override {
    return make_failures(options_, inputs);
  }
  [[nodiscard]] InterruptionRate interruptions(const FailureInputs& inputs) const override {
    if constexpr (requires { interruption_rate(options_, inputs); }) {
      return interruption_rate(options_, inputs);
    } else {
      return {};
    }
  }
  void set_default_nodes(NodeId nodes) override {
    if constexpr (requires { default_nodes(options_); }) {
      if (default_nodes(options_) == 0) default_nodes(options_) = nodes;
    }
  }
  [[nodiscard]] std::optional<NodeId> nodes_acted_on() const override {
    if constexpr (requires { nodes_of_others(options_); }) {
      return nodes_of_others(options_);
    } else {
      return std::nullopt;
    }
  }
  [[nodiscard]] std::optional<RecordingReplay> replay(const FailureInputs& inputs) const override {
    if constexpr (requires { replay_of(options_, inputs); }) {
      return replay_of(options_, inputs);
    } else {
      return std::nullopt;
    }
  }
  void cap_nodes(NodeId nodes, bool others_wait) override {
    if constexpr (requires { set_cap(options_, nodes, others_wait); }) set_cap(options_, nodes, others_wait);
  }
  [[nodiscard]] std::optional<FailureFile> file() const override {
    if constexpr (requires { file_of(options_); }) {
      return file_of(options_);
    } else {
      return std::nullopt;
    }
  }
  void clear_paths() override {
    if constexpr (requires { forget_paths(options_); }) forget_paths(options_);
  }
  void note(const FailureSource& source) override {
    if constexpr (requires { note_source(options_, source); }) note_source(options_, source);
  }
  [[nodiscard]] bool slows_nodes() const override {
    if constexpr (requires { may_slow_nodes(options_); }) {
      return may_slow_nodes(options_);
    } else {
      return false;
    }
  }

 private:
  Options options_{};
};

// Fails if nobody said how many nodes there are.
[[nodiscard]] inline Status check_node_count(NodeId nodes) {
  if (nodes > 0) return Ok{};
  return Error{"is missing; set the number of nodes", {.pointer = "/nodes"}};
}

template <typename Options>
[[nodiscard]] std::unique_ptr<FailureSetup> make_failure_setup() {
  return std::make_unique<FailureSetupOf<Options>>();
}

struct FailureModelInfo {
  std::string_view name;
  std::string_view summary;                 // one line for `goodput list failures`
  std::string_view example;                 // the JSON object
  std::unique_ptr<FailureSetup> (*make)();  // with the defaults: make_failure_setup<Options>
};

#define GOODPUT_FAILURE_MODEL(name) FailureModelInfo failure_##name();
#include "models/failure/failure_models.def"
#undef GOODPUT_FAILURE_MODEL

}  // namespace goodput
