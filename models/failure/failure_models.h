// The failure models a scenario can name, how they are read, and how several become one.
//
// Adding one is a struct in models/failure/failure_configs.h, a file models/failure/<name>.cpp and a line in
// models/failure/failure_models.def.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "models/failure/failure_configs.h"
#include "models/failure/failure_draws.h"
#include "sim/base/errors.h"
#include "sim/config/config.h"
#include "sim/nodes/failure_model.h"
#include "sim/nodes/spot_trace.h"

namespace goodput {

// What is in the files that a config names. Must outlive the models made of it.
struct FailureSource {
  const SpotTrace* trace = nullptr;     // of a "trace"
  std::span<const double> slowdowns{};  // `slowdown_by_worker` of the "whatif" file of a "fail_slow"
};
using FailureSources =
    std::vector<FailureSource>;  // by config; those at the end that name none may be missing

// What a model is made of beside its config.
struct FailureInputs {
  FailureSource source{};
  FailureKey key{};
  NodeId cluster_nodes = 0;  // of the models that say which nodes there are; 0: none does
};

// Each model's file defines, for its config:
//   the keys of the config's JSON object besides "model",
//   rules between them (Error::where: a pointer from the object),
//   the model. Errors, Error::where as above, are about the inputs only.
#define GOODPUT_FAILURE_MODEL(Config, name, summary, example)   \
  [[nodiscard]] config::Fields config_fields(Config& failures); \
  [[nodiscard]] Status config_finish(Config& failures);         \
  Result<std::unique_ptr<FailureModel>> make_failures(const Config& failures, const FailureInputs& inputs);
#include "models/failure/failure_models.def"
#undef GOODPUT_FAILURE_MODEL

template <typename, typename... Configs>
struct FailureVariant {
  using Type = std::variant<Configs...>;
};
// clang-format off
using FailureConfig = FailureVariant<void
#define GOODPUT_FAILURE_MODEL(Config, name, summary, example) , Config
#include "models/failure/failure_models.def"
#undef GOODPUT_FAILURE_MODEL
>::Type;
// clang-format on

struct FailureModelInfo {
  std::string_view name;
  std::string_view summary;
  std::string_view example;  // the JSON object
  FailureConfig (*config)();
};
[[nodiscard]] std::span<const FailureModelInfo> failure_models();
[[nodiscard]] std::string_view name_of(const FailureConfig& failures);

[[nodiscard]] config::Fields config_fields(FailureConfig& failures);
[[nodiscard]] Status config_finish(FailureConfig& failures);

// An object with a "model" of failure_models(), or an array of such.
[[nodiscard]] config::Value failures_value(std::vector<FailureConfig>& failures);

// One model of all: a node is there while all models that know it say so, and runs at the product of their
// speeds. Draws depend on seed, trial, node, and each model's name and index in the list alone.
// Error::where is a pointer: from its config where there is one, else from the list.
// REQUIRES: configs; `sources` outlive the model.
Result<std::unique_ptr<FailureModel>> make_failure_model(std::span<const FailureConfig> configs,
                                                         const FailureSources& sources, std::uint64_t seed,
                                                         std::uint64_t trial);

}  // namespace goodput
