#include "tests/tools/simulate/key_effect.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "sim/base/json.h"
#include "tests/support/read_json.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/cli/command_line.h"
#include "tools/commands.h"

namespace goodput::testing {
namespace {

// The keys of an object that stands at `pointer` of `scenario`.
struct KeyCase {
  Json scenario;
  std::string pointer;
};

struct NamedField {
  std::string key;
  bool may_be_idle = false;
};

// Of keys within an idle one the outer is known.
void add_leaves(const config::Fields& fields, const std::string& above, bool is_idle,
                std::vector<NamedField>& leaves) {
  for (const config::Field& field : fields) {
    const std::string key = above + std::string(field.key);
    const bool may_be_idle = is_idle || static_cast<bool>(field.idle);
    if (field.value.fields) {
      add_leaves(field.value.fields(), key + '/', may_be_idle, leaves);
    } else {
      leaves.push_back({key, may_be_idle});
    }
  }
}

// What comes out of a scenario, or what is said against it.
struct Outcome {
  Json numbers;
  std::vector<std::string> unused;

  [[nodiscard]] std::string problem() const { return numbers.is_string() ? numbers.get<std::string>() : ""; }
  // Itself, or an object it is in.
  [[nodiscard]] bool names(const std::string& pointer) const {
    return std::any_of(unused.begin(), unused.end(), [&pointer](const std::string& named) {
      return pointer == named || pointer.starts_with(named + '/');
    });
  }
};

Outcome outcome_of(const Json& scenario) {
  const TemporaryFile file("scenario.json", scenario.dump());
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code = run_command_line(
      builtin_commands(),
      {"simulate", file.path(), "--quiet", "--json", "-", "--jobs", "1", "--configs", GOODPUT_CONFIGS}, out,
      err);
  if (code != ExitCode::kOk) {
    std::string problem = err.str();
    for (auto at = problem.find(file.path()); at != std::string::npos; at = problem.find(file.path()))
      problem.erase(at, file.path().size());
    return {problem, {}};
  }
  Outcome outcome{Json::parse(out.str()), {}};
  for (const Json& key : outcome.numbers.at("unused_keys"))
    outcome.unused.push_back(key.at("pointer").get<std::string>());
  for (const char* const echo : {"config_hash", "config_files", "inputs", "unused_keys", "scenario"})
    outcome.numbers.erase(echo);
  return outcome;
}

std::string pointer_of(const KeyCase& of, std::string_view key) {
  return key.starts_with('/') ? std::string(key) : of.pointer + '/' + std::string(key);
}

Outcome outcome_with(const KeyCase& of, const Settings& beside, std::string_view key, const Json& value) {
  Json scenario = of.scenario;
  for (const auto& [pointer, other] : beside) {
    const JsonPointer at(pointer_of(of, pointer));
    if (other.is_null()) {
      scenario[at.parent_pointer()].erase(at.back());
    } else {
      scenario[at] = other;
    }
  }
  scenario[JsonPointer(pointer_of(of, key))] = value;
  return outcome_of(scenario);
}

void check_idle(const NamedField& field, const KeyCase& of, const KeyWitness& witness) {
  const std::string pointer = pointer_of(of, field.key);
  const Outcome idle = outcome_with(of, witness.idle_beside, field.key, witness.values.at(0));
  const Outcome other = outcome_with(of, witness.idle_beside, field.key, witness.values.at(1));
  REQUIRE_MESSAGE(idle.numbers.is_object(), idle.numbers);
  CHECK_MESSAGE(idle.names(pointer), "is not named where it moves nothing");
  if (other.numbers.is_string()) return;  // refused there, so not silent
  CHECK(other.names(pointer));
  CHECK_MESSAGE(idle.numbers == other.numbers, "is named and moves something");
}

void check_key(const NamedField& field, const KeyCase& of, const KeyWitness& witness) {
  if (witness.is_always_idle) return check_idle(field, of, witness);
  const std::string pointer = pointer_of(of, field.key);
  const Outcome one = outcome_with(of, witness.beside, field.key, witness.values.at(0));
  const Outcome other = outcome_with(of, witness.beside, field.key, witness.values.at(1));
  const std::string refusals = one.problem() + other.problem();
  INFO(refusals);
  // A refusal of one of the two is an effect, too.
  REQUIRE((one.numbers.is_object() || other.numbers.is_object()));
  CHECK_MESSAGE(one.numbers != other.numbers, "both values give the same");
  CHECK_FALSE(one.names(pointer));
  CHECK_FALSE(other.names(pointer));
  CHECK(field.may_be_idle == !witness.idle_beside.empty());
  if (!witness.idle_beside.empty()) check_idle(field, of, witness);
}

Json config_of(const std::string& name) {
  return testing::read_json(std::string(GOODPUT_CONFIGS) + name);
}

}  // namespace

Json measured_plan() {
  Json plan = config_of("/plans/lazarus-gpt-s.json");
  plan["cluster"] = config_of("/clusters/rtx3090-10-lazarus.json");
  for (Json& part : plan["cluster"]) {
    if (part.is_object()) part["tier"] = "measured";
  }
  return plan;
}

Json dense_plan() {
  Json plan = measured_plan();
  plan["model"] = config_of("/models/gpt-s.json");
  plan["model"].erase("moe");
  plan["parallel"]["ep"] = 1;
  return plan;
}

KeyWitness::KeyWitness(std::string_view of_key, std::vector<Json> two)
    : KeyWitness(of_key, std::move(two), {}, {}) {}
KeyWitness KeyWitness::of_idle(std::string_view key, std::vector<Json> two) {
  KeyWitness witness(key, std::move(two));
  witness.is_always_idle = true;
  return witness;
}
KeyWitness::KeyWitness(std::string_view of_key, std::vector<Json> two, Settings with)
    : KeyWitness(of_key, std::move(two), std::move(with), {}) {}
KeyWitness::KeyWitness(std::string_view of_key, std::vector<Json> two, Settings with, Settings idle_with)
    : key(of_key), values(std::move(two)), beside(std::move(with)), idle_beside(std::move(idle_with)) {}

void check_keys(const config::Fields& fields, const Json& scenario, const std::string& pointer,
                std::span<const KeyWitness> witnesses) {
  const KeyCase of{scenario, pointer};
  std::vector<NamedField> leaves;
  add_leaves(fields, "", false, leaves);
  for (const NamedField& field : leaves) {
    INFO(pointer_of(of, field.key));
    const auto witness = std::find_if(witnesses.begin(), witnesses.end(),
                                      [&field](const KeyWitness& known) { return known.key == field.key; });
    const bool is_known = witness != witnesses.end();
    CHECK_MESSAGE(is_known, "no witness says what the key is for");
    if (is_known) check_key(field, of, *witness);
  }
}

}  // namespace goodput::testing
