#include "models/failure/failure_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "models/failure/failure_merge.h"
#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "sim/config/json_file.h"

namespace goodput {
namespace {

std::string one_of_all() {
  return fmt::format("one of {}", fmt::join(names_of(failure_models()), ", "));
}

// A config with the defaults of the model that the object names.
Result<FailureConfig> of_model(const Json& value, const config::Place& place) {
  if (!value.is_object()) return place.error("must be a failure model: {\"model\": ..., ...}");
  const auto model = value.find("model");
  if (model == value.end()) return place.at("model").error("is missing; it must be " + one_of_all());
  if (!model->is_string()) return place.at("model").not_wanted(*model, one_of_all());
  const auto found = find_named(failure_models(), "failure model", model->get_ref<const std::string&>());
  if (!found) return place.at("model").error(found.error().what);
  return FailureConfig(*found);
}

void lower(std::optional<Tier>& tier, std::optional<Tier> other) {
  if (other) tier = lowest(tier.value_or(*other), *other);
}

// Reads `value` at `place`; of its keys those that may move nothing go to whoever wants to know.
Result<FailureConfig> read_model(const Json& value, config::Place& place) {
  GOODPUT_TRY(FailureConfig config, of_model(value, place));
  GOODPUT_TRY_STATUS(config::object(config).read(value, place));
  return config;
}

// Leaves the keys of `value`, which stands at `pointer`.
void keep_keys_of(const Json& value, const std::string& pointer, std::vector<config::GivenKey>& keys) {
  std::erase_if(keys, [&](const config::GivenKey& key) {
    const std::string below = key.pointer.substr(pointer.size() + 1);
    return !value.contains(below.substr(0, below.find('/')));
  });
}

// What is read at `place` of a preset and the keys beside it.
Result<FailureConfig> read_over_preset(FailurePreset preset, const Json& given, config::Place& place) {
  config::Place at = place;
  std::vector<config::GivenKey> keys;
  at.given = &keys;
  Result<FailureConfig> config = read_model(with_preset(preset, given), at);
  if (!config) {
    Error error = std::move(config).error();
    error.what += fmt::format(" (with the other keys from the preset {})", preset.source.file);
    return error;
  }
  place.tier = at.tier;
  keep_keys_of(given, place.pointer, keys);
  keys.push_back(
      {place.file, place.pointer + "/preset", [preset, given] { return useless_preset(preset, given); }});
  if (place.given != nullptr) place.given->insert(place.given->end(), keys.begin(), keys.end());
  config->set_preset(std::move(preset));
  return config;
}

Result<FailureConfig> read_named_preset(const Json& given, config::Place& place) {
  const Json& name = given.at("preset");
  config::Place at = place.at("preset");
  if (!name.is_string()) return at.not_wanted(name, "the name of a file in failures/");
  GOODPUT_TRY(config::Source source,
              config::source_named(name.get_ref<const std::string&>(), at, kFailurePresetFiles));
  GOODPUT_TRY(const FailureConfig preset, read_failure_preset(std::move(source), place.library));
  GOODPUT_TRY(FailureConfig config, read_over_preset(*preset.preset(), given, place));
  lower(place.tier, preset.preset()->tier);
  return config;
}

Status read_one(const Json& value, config::Place& place, std::vector<FailureConfig>& failures) {
  const bool is_preset = value.is_object() && value.contains("preset");
  GOODPUT_TRY(FailureConfig config, is_preset ? read_named_preset(value, place) : read_model(value, place));
  config.set_text(value.dump());
  failures.push_back(std::move(config));
  return Ok{};
}

Status read_failures(const Json& value, config::Place& place, std::vector<FailureConfig>& failures) {
  failures.clear();
  if (!value.is_array()) return read_one(value, place, failures);
  if (value.empty()) return place.error("must have at least one failure model");
  for (std::size_t i = 0; i < value.size(); ++i) {
    config::Place at = place.at(std::to_string(i));
    GOODPUT_TRY_STATUS(read_one(value[i], at, failures));
    lower(place.tier, at.tier);
  }
  return Ok{};
}

// Makes the models of a list, those first that say which nodes there are.
class FailureMaker {
 public:
  FailureMaker(std::span<const FailureConfig> configs, std::span<const FailureSource> sources, FailureKey key)
      : configs_(configs), sources_(sources), key_(key), models_(configs.size()) {}

  Result<std::unique_ptr<FailureModel>> make() {
    GOODPUT_TRY_STATUS(make_all());
    return merge_failures(std::move(models_));
  }

  // Empty where one of the models does not say.
  Result<InterruptionRate> interruptions() {
    GOODPUT_TRY_STATUS(make_all());
    std::vector<InterruptionRate> rates;
    for (std::size_t i = 0; i < configs_.size(); ++i) {
      rates.push_back(configs_[i].setup().interruptions(inputs_of(i)));
      if (!rates.back()) return InterruptionRate{};
    }
    return InterruptionRate{[rates = std::move(rates)](NodeId used) {
      return std::accumulate(rates.begin(), rates.end(), 0.0,
                             [used](double sum, const InterruptionRate& rate) { return sum + rate(used); });
    }};
  }

  [[nodiscard]] RecordingReplays replays() const {
    RecordingReplays replays;
    for (std::size_t i = 0; i < configs_.size(); ++i)
      replays.push_back(configs_[i].setup().replay(inputs_of(i)));
    return replays;
  }

 private:
  enum class Nodes : std::uint8_t { kOwn, kOfOthers };  // what a model is about

  Status make_all() {
    GOODPUT_TRY_STATUS(make_those(Nodes::kOwn));
    for (const auto& model : models_) {
      if (model) cluster_nodes_ = std::max(cluster_nodes_, model->nodes());
    }
    if (cluster_nodes_ == 0) {
      for (const FailureConfig& config : configs_) {
        cluster_nodes_ = std::max(cluster_nodes_, config.setup().nodes_acted_on().value_or(0));
      }
    }
    return make_those(Nodes::kOfOthers);
  }

  Status make_those(Nodes nodes) {
    for (std::size_t i = 0; i < configs_.size(); ++i) {
      if (configs_[i].setup().nodes_acted_on().has_value() != (nodes == Nodes::kOfOthers)) continue;
      auto made = make_one(i);
      if (!made) {
        return configs_.size() == 1 ? made.error() : made.error().inside(fmt::format("/{}", i));
      }
      models_[i] = *std::move(made);
    }
    return Ok{};
  }

  [[nodiscard]] FailureInputs inputs_of(std::size_t i) const {
    FailureInputs inputs{i < sources_.size() ? sources_[i] : FailureSource{}, key_, cluster_nodes_};
    inputs.key.model = configs_[i].model().name;
    inputs.key.index = i;
    return inputs;
  }

  [[nodiscard]] Result<std::unique_ptr<FailureModel>> make_one(std::size_t i) const {
    const FailureConfig& config = configs_[i];
    if (const auto nodes = config.setup().nodes_acted_on()) GOODPUT_TRY_STATUS(check_nodes(*nodes));
    return config.setup().make(inputs_of(i));
  }

  [[nodiscard]] Status check_nodes(NodeId acted_on) const {
    if (cluster_nodes_ == 0) {
      return Error{"is missing, and no other failure model sets the number of nodes", {.pointer = "/nodes"}};
    }
    if (acted_on <= cluster_nodes_) return Ok{};
    return Error{
        fmt::format("is {}, but the other failure models have only {} nodes", acted_on, cluster_nodes_),
        {.pointer = "/nodes"}};
  }

  std::span<const FailureConfig> configs_;
  std::span<const FailureSource> sources_;
  FailureKey key_;
  NodeId cluster_nodes_ = 0;
  std::vector<std::unique_ptr<FailureModel>> models_;  // by config; null: not made yet
};

}  // namespace

std::span<const FailureModelInfo> failure_models() {
  static const Registry<FailureModelInfo> all = {
#define GOODPUT_FAILURE_MODEL(name) failure_##name(),
#include "models/failure/failure_models.def"
#undef GOODPUT_FAILURE_MODEL
  };
  return all.infos();
}

config::Fields config_fields(FailureConfig& failures) {
  const config::Value model{
      one_of_all(),
      [](const Json&, config::Place&) -> Status { return Ok{}; },  // which fields there are
      [name = failures.model().name](OrderedJson& into) { into = name; },
      {}};
  config::Fields fields = {
      {"model", config::Need::kRequired, model, "name of the failure model; see `goodput list failures`"}};
  for (config::Field& field : failures.setup().fields()) fields.push_back(std::move(field));
  return fields;
}

Status config_finish(FailureConfig& failures) {
  return failures.setup().finish();
}

config::KeyNotes key_notes(const FailureConfig& failures, config::Place place) {
  if (failures.text().empty()) return {};
  FailureConfig again = failures;
  std::vector<config::GivenKey> given;
  place.given = &given;
  const Json own = Json::parse(failures.text());
  const Json whole = failures.preset() ? with_preset(*failures.preset(), own) : own;
  const Status read = config::object(again).read(whole, place);
  GOODPUT_CHECK(read, "a failure model that was read once must be readable again");
  keep_keys_of(own, place.pointer, given);
  return config::key_notes(given);
}

Result<FailureConfig> read_failure_preset(config::Source source, const config::Library* library) {
  GOODPUT_TRY(const Json value,
              config::parse_file(source.file, library == nullptr ? config::Library{} : *library,
                                 kFailurePresetFiles));
  config::Place place{source.file, {}, {}};
  GOODPUT_TRY(FailureConfig config, read_model(value, place));
  if (const auto file = config.setup().file())
    return place.at(file->key).error(
        "names a file, but a preset must not, because scenarios in other folders use the preset; remove this "
        "key");
  config.set_text(value.dump());
  config.set_preset({std::move(source), value.dump(), place.tier});
  return config;
}

config::Value failures_value(std::vector<FailureConfig>& failures) {
  const auto write = [&failures](OrderedJson& into) {
    auto list = OrderedJson::array();
    for (FailureConfig config : failures) list.push_back(config::write(config_fields(config)));
    if (list.size() == 1) {
      into = list.front();
    } else if (!list.empty()) {
      into = std::move(list);
    }
  };
  return {
      "a failure model or an array of failure models",
      [&failures](const Json& value, config::Place& place) { return read_failures(value, place, failures); },
      write,
      {}};
}

Result<std::unique_ptr<FailureModel>> make_failure_model(std::span<const FailureConfig> configs,
                                                         std::span<const FailureSource> sources,
                                                         std::uint64_t seed, std::uint64_t trial,
                                                         std::string_view pool) {
  const FailureKey key{.model = {}, .seed = seed, .trial = trial, .index = 0, .pool = pool};
  return FailureMaker(configs, sources, key).make();
}

RecordingReplays replays_of(std::span<const FailureConfig> configs, std::span<const FailureSource> sources,
                            std::uint64_t seed, std::uint64_t trial, std::string_view pool) {
  const FailureKey key{.model = {}, .seed = seed, .trial = trial, .index = 0, .pool = pool};
  return FailureMaker(configs, sources, key).replays();
}

Result<InterruptionRate> make_interruption_rate(std::span<const FailureConfig> configs,
                                                std::span<const FailureSource> sources, std::uint64_t seed,
                                                std::string_view pool) {
  const FailureKey key{.model = {}, .seed = seed, .trial = 0, .index = 0, .pool = pool};
  return FailureMaker(configs, sources, key).interruptions();
}

}  // namespace goodput
