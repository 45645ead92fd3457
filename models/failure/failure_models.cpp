#include "models/failure/failure_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "models/failure/failure_merge.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

std::vector<std::string_view> known_names() {
  std::vector<std::string_view> names;
  for (const FailureModelInfo& info : failure_models()) names.push_back(info.name);
  return names;
}

// A config with the defaults of the model that the object names.
Result<FailureConfig> of_model(const nlohmann::json& value, const config::Place& place) {
  if (!value.is_object()) return place.error("is no object, want a failure model: {\"model\": ..., ...}");
  const auto known = known_names();
  const std::string wanted = fmt::format("one of {}", fmt::join(known, ", "));
  const auto model = value.find("model");
  if (model == value.end()) return place.at("model").error("is missing, want " + wanted);
  if (!model->is_string()) return place.at("model").not_wanted(*model, wanted);
  const auto& name = model->get_ref<const std::string&>();
  for (const FailureModelInfo& info : failure_models()) {
    if (info.name == name) return info.config();
  }
  return place.at("model").error(fmt::format("no failure model {}{}; known: {}", in_quotes(name),
                                             did_you_mean(name, known), fmt::join(known, ", ")));
}

Status read_one(const nlohmann::json& value, config::Place& place, std::vector<FailureConfig>& failures) {
  GOODPUT_TRY(FailureConfig config, of_model(value, place));
  GOODPUT_TRY_STATUS(config::object(config).read(value, place));
  failures.push_back(std::move(config));
  return Ok{};
}

Status read_failures(const nlohmann::json& value, config::Place& place,
                     std::vector<FailureConfig>& failures) {
  failures.clear();
  if (!value.is_array()) return read_one(value, place, failures);
  if (value.empty()) return place.error("is empty, want at least one failure model");
  for (std::size_t i = 0; i < value.size(); ++i) {
    config::Place at = place.at(std::to_string(i));
    GOODPUT_TRY_STATUS(read_one(value[i], at, failures));
  }
  return Ok{};
}

FailureScope scope_of(const FailureConfig& failures) {
  return std::visit([](const auto& of) { return of.kScope; }, failures);
}

// How many nodes a model that can do without says there are; 0: it does not say.
NodeId nodes_given(const FailureConfig& failures) {
  const auto nodes = [](const auto& of) -> NodeId {
    if constexpr (std::decay_t<decltype(of)>::kScope == FailureScope::kOthers) {
      return of.nodes;
    } else {
      return 0;
    }
  };
  return std::visit(nodes, failures);
}

// Makes the models of a list, those first that say which nodes there are.
class FailureMaker {
 public:
  FailureMaker(std::span<const FailureConfig> configs, const FailureSources& sources, FailureKey key)
      : configs_(configs), sources_(sources), key_(key), models_(configs.size()) {}

  Result<std::unique_ptr<FailureModel>> make() {
    GOODPUT_TRY_STATUS(make_all(FailureScope::kOwn));
    for (const auto& model : models_) {
      if (model) cluster_nodes_ = std::max(cluster_nodes_, model->nodes());
    }
    if (cluster_nodes_ == 0) {
      for (const FailureConfig& config : configs_) {
        cluster_nodes_ = std::max(cluster_nodes_, nodes_given(config));
      }
    }
    GOODPUT_TRY_STATUS(make_all(FailureScope::kOthers));
    return merge_failures(std::move(models_));
  }

 private:
  Status make_all(FailureScope scope) {
    for (std::size_t i = 0; i < configs_.size(); ++i) {
      if (scope_of(configs_[i]) != scope) continue;
      auto made = make_one(i);
      if (!made) {
        return configs_.size() == 1 ? made.error() : made.error().inside(fmt::format("/{}", i));
      }
      models_[i] = *std::move(made);
    }
    return Ok{};
  }

  [[nodiscard]] Result<std::unique_ptr<FailureModel>> make_one(std::size_t i) const {
    FailureInputs inputs{i < sources_.size() ? sources_[i] : FailureSource{}, key_, cluster_nodes_};
    inputs.key.model = name_of(configs_[i]);
    inputs.key.index = i;
    if (scope_of(configs_[i]) == FailureScope::kOthers) GOODPUT_TRY_STATUS(check_nodes(configs_[i]));
    return std::visit([&](const auto& of) { return make_failures(of, inputs); }, configs_[i]);
  }

  [[nodiscard]] Status check_nodes(const FailureConfig& config) const {
    if (cluster_nodes_ == 0) {
      return Error{"is missing, and no other failure model says how many nodes there are",
                   {.pointer = "/nodes"}};
    }
    if (nodes_given(config) <= cluster_nodes_) return Ok{};
    return Error{
        fmt::format("is {}, but the other failure models have {} nodes", nodes_given(config), cluster_nodes_),
        {.pointer = "/nodes"}};
  }

  std::span<const FailureConfig> configs_;
  const FailureSources& sources_;
  FailureKey key_;
  NodeId cluster_nodes_ = 0;
  std::vector<std::unique_ptr<FailureModel>> models_;  // by config; null: not made yet
};

}  // namespace

std::span<const FailureModelInfo> failure_models() {
  static constexpr std::array kModels = {
#define GOODPUT_FAILURE_MODEL(Config, name, summary, example) \
  FailureModelInfo{name, summary, example, [] { return FailureConfig{Config{}}; }},
#include "models/failure/failure_models.def"
#undef GOODPUT_FAILURE_MODEL
  };
  return kModels;
}

std::string_view name_of(const FailureConfig& failures) {
  return failure_models()[failures.index()].name;
}

config::Fields config_fields(FailureConfig& failures) {
  const std::string_view name = name_of(failures);
  const config::Value model{
      fmt::format("one of {}", fmt::join(known_names(), ", ")),
      [](const nlohmann::json&, config::Place&) -> Status { return Ok{}; },  // which fields there are
      [name](nlohmann::ordered_json& into) { into = name; },
      {}};
  config::Fields fields = {{"model", config::Need::kRequired, model, "what happens to the nodes"}};
  for (config::Field& field : std::visit([](auto& of) { return config_fields(of); }, failures)) {
    fields.push_back(std::move(field));
  }
  return fields;
}

Status config_finish(FailureConfig& failures) {
  return std::visit([](auto& of) { return config_finish(of); }, failures);
}

config::Value failures_value(std::vector<FailureConfig>& failures) {
  const auto write = [&failures](nlohmann::ordered_json& into) {
    auto list = nlohmann::ordered_json::array();
    for (FailureConfig config : failures) list.push_back(config::write(config_fields(config)));
    if (list.size() == 1) {
      into = list.front();
    } else if (!list.empty()) {
      into = std::move(list);
    }
  };
  return {"a failure model or an array of them",
          [&failures](const nlohmann::json& value, config::Place& place) {
            return read_failures(value, place, failures);
          },
          write,
          {}};
}

Result<std::unique_ptr<FailureModel>> make_failure_model(std::span<const FailureConfig> configs,
                                                         const FailureSources& sources, std::uint64_t seed,
                                                         std::uint64_t trial) {
  return FailureMaker(configs, sources, {.model = {}, .seed = seed, .trial = trial, .index = 0}).make();
}

}  // namespace goodput
