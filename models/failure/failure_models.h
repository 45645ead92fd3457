// The failure models a scenario can name, how they are read, and how several become one.
//
// How to add one is said in models/failure/failure_setup.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/failure/failure_presets.h"
#include "models/failure/failure_setup.h"
#include "sim/base/errors.h"
#include "sim/config/config.h"
#include "sim/nodes/failure_model.h"

namespace goodput {

[[nodiscard]] std::span<const FailureModelInfo> failure_models();

// What a scenario says of one failure model: which one, and its options. A value: copies are independent.
class FailureConfig {
 public:
  explicit FailureConfig(const FailureModelInfo& model) : model_(model), setup_(model.make()) {}
  FailureConfig(const FailureConfig& other)
      : model_(other.model_), setup_(other.setup_->copy()), text_(other.text_), preset_(other.preset_) {}
  FailureConfig& operator=(const FailureConfig& other) { return *this = FailureConfig(other); }
  FailureConfig(FailureConfig&&) noexcept = default;
  FailureConfig& operator=(FailureConfig&&) noexcept = default;
  ~FailureConfig() = default;

  [[nodiscard]] const FailureModelInfo& model() const { return model_; }
  [[nodiscard]] const FailureSetup& setup() const { return *setup_; }
  [[nodiscard]] FailureSetup& setup() { return *setup_; }

  // The JSON object that it was read from; empty: from none.
  [[nodiscard]] const std::string& text() const { return text_; }
  void set_text(std::string text) { text_ = std::move(text); }

  // The preset whose options it has where that object is silent; none: all are its own.
  [[nodiscard]] const std::optional<FailurePreset>& preset() const { return preset_; }
  void set_preset(FailurePreset preset) { preset_ = std::move(preset); }

 private:
  FailureModelInfo model_;
  std::unique_ptr<FailureSetup> setup_;  // null in what was moved from only
  std::string text_;
  std::optional<FailurePreset> preset_;
};

// "model" and the options.
[[nodiscard]] config::Fields config_fields(FailureConfig& failures);
[[nodiscard]] Status config_finish(FailureConfig& failures);

// Of the keys that it was read from, at `place`, those that move nothing: also for what is in its file
// (FailureSetup::note).
[[nodiscard]] config::KeyNotes key_notes(const FailureConfig& failures, config::Place place);

// An object with a "model" of failure_models(), one with a "preset" (models/failure/failure_presets.h) and
// what is other than there, or an array of such.
[[nodiscard]] config::Value failures_value(std::vector<FailureConfig>& failures);

// The model of a preset's file, with nothing said beside it. Errors name the file. `library`: keeps the file;
// none: it is read.
[[nodiscard]] Result<FailureConfig> read_failure_preset(config::Source source,
                                                        const config::Library* library = nullptr);

// What is in the files that the configs name, by config; those at the end that name none may be missing.
using FailureSources = std::vector<FailureSource>;

// One model of all: a node is there while all models that know it say so, and runs at the product of their
// speeds. Draws depend on seed, trial, node, the name of the pool, and each model's name and index in the
// list alone. Error::where is a pointer: from its config where there is one, else from the list. REQUIRES:
// configs; `sources` and the name of the pool outlive the model.
Result<std::unique_ptr<FailureModel>> make_failure_model(std::span<const FailureConfig> configs,
                                                         std::span<const FailureSource> sources,
                                                         std::uint64_t seed, std::uint64_t trial,
                                                         std::string_view pool = {});

// How each of them replays its recording in that trial; none of a model without one. REQUIRES:
// make_failure_model() of these succeeds.
using RecordingReplays = std::vector<std::optional<RecordingReplay>>;
[[nodiscard]] RecordingReplays replays_of(std::span<const FailureConfig> configs,
                                          std::span<const FailureSource> sources, std::uint64_t seed,
                                          std::uint64_t trial, std::string_view pool = {});

// How often they take a node from a job: the rates of all add. Empty where one does not say. Where a
// recording is thinned out at random, as in trial 0. Errors as above.
Result<InterruptionRate> make_interruption_rate(std::span<const FailureConfig> configs,
                                                std::span<const FailureSource> sources, std::uint64_t seed,
                                                std::string_view pool = {});

}  // namespace goodput
