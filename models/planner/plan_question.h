// What a capacity planner asks: a model, machines, tokens to train, how often nodes fail, what it may cost.
//
// A file (docs/formats/plan-questions.md) or options of `goodput plan`. Strict, as all configs are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/failure/failure_models.h"
#include "models/plan/training_plan.h"
#include "models/planner/plan_space.h"
#include "models/scenario/scenario.h"
#include "models/scenario/trial_metrics.h"
#include "sim/base/errors.h"
#include "sim/config/config.h"
#include "sim/config/quantities.h"

namespace goodput {

inline constexpr config::Kind kPlanQuestionFiles{"questions", "question"};

// What is to be best, in the order of kObjectiveNames.
enum class Objective : std::uint8_t { kCost, kJct, kGoodput, kUsdPerToken };
inline constexpr std::array<std::string_view, 4> kObjectiveNames = {"cost", "jct", "goodput",
                                                                    "usd_per_token"};
// By which trials are compared: with the tokens given, a token costs least where the job does.
[[nodiscard]] TrialMetric metric_of(Objective objective);

// GB/s that storage is assumed to read and write at for each node that trains, if the question does not say.
inline constexpr double kAssumedStorageOfNode = 0.5;

// Nodes of a spot market, in place of some that are reserved.
struct SpotOffer {
  std::string failures{};  // JSON: of a failure model, which is told how many nodes there are
  double usd_per_node_hour = 0;
  std::vector<std::int32_t> nodes{};  // so many of those held; 0, none, is always among the choices
};
[[nodiscard]] config::Fields config_fields(SpotOffer& spot);

struct PlanQuestion {
  std::string file{};       // for messages; empty: not from a file
  TrainingPlan plan{};      // model, machines, who prices ops, and of the parallel plan what is not searched
  std::int64_t gpus = 0;    // that train; spares are extra
  std::int64_t tokens = 0;  // to train
  PlanSpace space{};        // what of the parallel plan is searched
  std::vector<FailureConfig> failures{};
  std::optional<SpotOffer> spot{};
  double usd_per_node_hour = 0;
  Billing billing = Billing::kReserved;
  // Nothing: what policies assume themselves.
  std::optional<double> detect_s{}, startup_s{}, swap_s{};
  std::optional<double> storage_gb_per_s{};  // once the question is read, there is one
  bool assumes_storage = false;              // storage_gb_per_s is not given: kAssumedStorageOfNode per node
  double storage_duty = 0.25;                // share of the time that checkpoints may keep storage busy
  double usd_per_tb_written = 0;             // to storage, by checkpoints
  std::optional<Deadline> deadline{};
  std::optional<Budget> budget{};
  Objective objective = Objective::kCost;
  std::vector<ScenarioPolicy> policies{};  // none: all that can run the model
  std::vector<std::int32_t> spares{};      // nodes beyond those that train
  std::vector<double> intervals{};         // between checkpoints, as multiples of the optimal one
  std::int64_t plans = 3;                  // of each policy that are simulated: of different replicas
  std::int64_t max_trials = 1024;
  Tier tier = Tier::kAssumed;
  config::KeyNotes unused{};

  PlanQuestion();
  [[nodiscard]] std::int32_t train_nodes() const;
};
[[nodiscard]] config::Fields config_fields(PlanQuestion& question);
[[nodiscard]] Status config_finish(PlanQuestion& question);

// `file` empty: nothing but `changes`, as users give them.
Result<PlanQuestion> read_plan_question(const std::string& file, const std::vector<config::Change>& changes,
                                        const config::Library& library);

}  // namespace goodput
