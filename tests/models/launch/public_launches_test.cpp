// Launch scripts and model configs that people published, with facts that were read off them by hand, under
// the rules of the frameworks. The files were written anew: their sources are in public/cases.json.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/launch/import_launch.h"
#include "models/shape/model_shape.h"
#include "sim/base/json.h"
#include "sim/config/config.h"
#include "sim/config/json_file.h"

namespace goodput {
namespace {

using launch::ImportedLaunch;
using launch::ImportRequest;

const std::string kPublic = GOODPUT_CONFIGS "/../tests/models/launch/public/";

config::Library shipped_library() {
  config::Library library;
  library.folders = {GOODPUT_CONFIGS};
  return library;
}

std::string found(const config::Kind& kind, const std::string& name) {
  const auto source = config::find(shipped_library(), kind, name);
  REQUIRE_MESSAGE(source, source.error().message());
  return source->file;
}

ImportRequest request_of(const Json& one) {
  ImportRequest request;
  for (const Json& file : one.at("files")) request.files.push_back(kPublic + file.get<std::string>());
  for (const auto& [key, value] : one.at("options").items()) {
    if (key == "gpus") request.gpus = value.get<std::int64_t>();
    if (key == "batch") request.global_batch = value.get<std::int64_t>();
    if (key == "sequence_length") request.sequence_length = value.get<std::int64_t>();
    if (key == "approximate") request.approximated = {value.get<std::string>()};
    if (key == "recipe") {
      request.recipe_name = value.get<std::string>();
      request.recipe_file = found(kRecipeFiles, request.recipe_name);
    }
    if (key == "set") {
      for (const auto& [pointer, to] : value.items()) request.changes.push_back({pointer, to.dump()});
    }
    if (key == "env") {
      for (const auto& [name, to] : value.items()) request.environment[name] = to.get<std::string>();
    }
  }
  return request;
}

// Every key of the model and its layout, with the values that the keys which are not written have.
Json settled_values(const ImportedLaunch& imported) {
  ModelShape model = imported.plan.model;
  ParallelPlan parallel = imported.plan.parallel;
  Json all = Json::object();
  all["model"] = Json::parse(config::write(config_fields(model)).dump());
  all["parallel"] = Json::parse(config::write(config_fields(parallel)).dump());
  all["parameters"] = model_parameters(imported.plan.model).total;
  return all;
}

TEST_CASE("launch: public scripts and configs import with the parallelism, model and batch that they have") {
  const auto cases = config::parse_file(kPublic + "cases.json");
  REQUIRE(cases);
  CHECK(cases->size() >= 50);
  for (const Json& one : *cases) {
    CAPTURE(one.at("name").get<std::string>());
    const auto imported = launch::import_launch(request_of(one), shipped_library());
    REQUIRE_MESSAGE(imported, imported.error().message());
    REQUIRE_MESSAGE(imported->missing.empty(), imported->missing.front().what);
    const Json values = settled_values(*imported);
    for (const auto& [key, wanted] : one.at("expect").items()) {
      const std::string shown = key;  // no structured binding can be captured
      CAPTURE(shown);
      const JsonPointer pointer(key.starts_with('/') ? key : "/" + key);
      // Keys without effect are not written: they have the value that changes nothing.
      const Json nothing = wanted.is_boolean()  ? Json(false)
                           : wanted.is_string() ? Json("none")
                           : key.ends_with("p") ? Json(1)
                                                : Json(0);
      CHECK((values.contains(pointer) ? values.at(pointer) : nothing) == wanted);
    }
  }
}

TEST_CASE("launch: the parameters of Hugging Face models are the published numbers") {
  const auto cases = config::parse_file(kPublic + "cases.json");
  REQUIRE(cases);
  int compared = 0;
  for (const Json& one : *cases) {
    if (!one.at("expect").contains("parameters")) continue;
    CAPTURE(one.at("name").get<std::string>());
    const auto imported = launch::import_launch(request_of(one), shipped_library());
    REQUIRE_MESSAGE(imported, imported.error().message());
    CHECK(model_parameters(imported->plan.model).total ==
          one.at("expect").at("parameters").get<std::int64_t>());
    ++compared;
  }
  CHECK(compared >= 12);
}

TEST_CASE("launch: models of the library that Hugging Face publishes are equal to their configs") {
  // Published sizes, as transformers counts them (docs/formats/launch-files.md).
  const std::vector<std::pair<std::string, std::int64_t>> published = {
      {"llama2-7b", 6'738'415'616},         {"llama2-13b", 13'015'864'320},
      {"llama2-70b", 68'976'648'192},       {"qwen3-0.6b", 596'049'920},
      {"qwen3-1.7b", 1'720'574'976},        {"qwen3-4b", 4'022'468'096},
      {"qwen3-8b", 8'190'735'360},          {"qwen3-14b", 14'768'307'200},
      {"qwen3-32b", 32'762'123'264},        {"qwen3-30b-a3b", 30'532'122'624},
      {"deepseek-v2-lite", 15'706'484'224}, {"deepseek-v2", 235'741'434'880},
      {"gpt-oss-20b", 20'914'757'184},      {"gpt-oss-120b", 116'829'156'672}};
  for (const auto& [name, parameters] : published) {
    const std::string shown = name;
    CAPTURE(shown);
    const auto model = config::read<ModelShape>(GOODPUT_CONFIGS "/models/" + name + ".json");
    REQUIRE(model);
    CHECK(model_parameters(*model).total == parameters);
  }
}

}  // namespace
}  // namespace goodput
