#include "models/planner/plan_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/failure/failure_fields.h"
#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

using config::Need;

constexpr std::int64_t kMostTokens = 1'000'000'000'000'000'000;
constexpr std::int64_t kMostGpus = 10'000'000;
constexpr std::int32_t kMostSpares = 100'000;

// Of the parallel plan what the question has in a key of its own, or searches.
bool is_searched(std::string_view key) {
  static constexpr std::string_view kSearched[] = {"dp",
                                                   "tp",
                                                   "pp",
                                                   "cp",
                                                   "ep",
                                                   "vpp",
                                                   "zero",
                                                   "recompute",
                                                   "micro_batch",
                                                   "schedule",
                                                   "global_batch",
                                                   "sequence_length",
                                                   "layers_per_stage",
                                                   "within_node"};
  return std::find(std::begin(kSearched), std::end(kSearched), key) != std::end(kSearched);
}

config::Fields settings_of_plan(ParallelPlan& parallel) {
  config::Fields fields = config_fields(parallel);
  std::erase_if(fields, [](const config::Field& field) { return is_searched(field.key); });
  for (config::Field& field : fields)
    field.idle = nullptr;  // whether a key has an effect depends on searched ones
  return fields;
}

// Model, machines and prices of ops, as in plans.
config::Fields plan_fields(TrainingPlan& plan) {
  static constexpr std::string_view kTaken[] = {"model", "cluster",    "stack",
                                                "cost",  "efficiency", "expert_load"};
  config::Fields fields = config_fields(plan);
  std::erase_if(fields, [](const config::Field& field) {
    return std::find(std::begin(kTaken), std::end(kTaken), field.key) == std::end(kTaken);
  });
  return fields;
}

config::ObjectAccess without_rules(std::function<config::Fields()> fields) {
  return {[] { return true; }, std::move(fields), []() -> Status { return Ok{}; }};
}

// A failure model, an array of them, or the name of a preset.
config::Value failures_or_preset(std::vector<FailureConfig>& failures) {
  config::Value value = failures_value(failures);
  value.wanted = "a failure model, an array of failure models, or the name of a preset";
  value.read = [read = std::move(value.read)](const Json& from, config::Place& place) {
    return read(from.is_string() ? Json{{"preset", from}} : from, place);
  };
  return value;
}

config::Value spot_failures(std::string& text) {
  const auto read = [&text](const Json& from, const config::Place& place) -> Status {
    if (!from.is_object()) return place.not_wanted(from, "a failure model");
    text = from.dump();
    return Ok{};
  };
  return {"a failure model", read, [&text](OrderedJson& into) { into = OrderedJson::parse(text); }, {}};
}

}  // namespace

TrialMetric metric_of(Objective objective) {
  switch (objective) {
    case Objective::kJct:
      return TrialMetric::kJct;
    case Objective::kGoodput:
      return TrialMetric::kGoodput;
    case Objective::kCost:
    case Objective::kUsdPerToken:
      break;
  }
  return TrialMetric::kCost;
}

PlanQuestion::PlanQuestion() : spares{0, 1, 2, 3, 4, 6, 8}, intervals{0.5, 0.71, 1, 1.41, 2, 4, 8} {
  plan.parallel.zero = 1;
  plan.parallel.global_batch = 0;
  plan.parallel.sequence_length = 0;
  plan.parallel.overlap_grad_reduce = true;
  plan.parallel.overlap_param_gather = true;
  plan.parallel.overlap_p2p = true;
  plan.memory_margin = 0.1;
}

std::int32_t PlanQuestion::train_nodes() const {
  const std::int64_t each = plan.cluster.gpus_per_node;
  return static_cast<std::int32_t>((gpus + each - 1) / each);
}

config::Fields config_fields(SpotOffer& spot) {
  return {
      {"failures", Need::kRequired, spot_failures(spot.failures),
       "failure model of the spot nodes, without `nodes` and `cap`, which goodput sets"},
      {"usd_per_node_hour", Need::kRequired, config::number(spot.usd_per_node_hour, config::between(0, 1e6)),
       "price per node-hour of a spot node, while the node is held"},
      {"nodes", Need::kRequired, config::integers(spot.nodes, 0, kMostSpares),
       "list of choices to compare: how many of the job's nodes are spot nodes"}};
}

config::Fields config_fields(PlanQuestion& question) {
  const auto seconds = [](std::optional<double>& value) {
    return optional_number(value, config::between(0, 1e7));
  };
  ParallelPlan& parallel = question.plan.parallel;
  config::Fields fields = plan_fields(question.plan);
  const config::Fields own = {
      {"gpus", Need::kRequired, amount_value(question.gpus, 1, kMostGpus),
       "number of GPUs that train, without spares"},
      {"tokens", Need::kRequired, amount_value(question.tokens, 1, kMostTokens),
       "number of tokens to train on, such as 1e12 or \"15T\""},
      {"batch", Need::kRequired, amount_value(parallel.global_batch, 1, 1'000'000'000),
       "number of sequences per step"},
      {"sequence_length", Need::kRequired, amount_value(parallel.sequence_length, 1, 1'000'000'000),
       "number of tokens per sequence"},
      {"failures", Need::kRequired, failures_or_preset(question.failures),
       "how nodes fail: a failure model as in scenarios, or the name of a preset such as \"rsc-1\""},
      {"usd_per_node_hour", Need::kRequired,
       amount_value(question.usd_per_node_hour, config::between(0, 1e6)),
       "price per node-hour of each node that is paid for"},
      {"billing", Need::kOptional, config::choice(question.billing, kBillingNames),
       "which node-hours are paid. reserved: those of all nodes, including spares, from start to end; held: "
       "only those of nodes that are available, not under repair"},
      {"spot", Need::kOptional, config::object(question.spot),
       "spot nodes that can replace some of the nodes"},
      {"storage_gb_per_s", Need::kOptional, optional_number(question.storage_gb_per_s, config::above(0)),
       "rate at which all nodes together write and read checkpoints (default: 0.5 GB/s per training node)"},
      {"storage_duty", Need::kOptional, positive_share_value(question.storage_duty),
       "maximum fraction of the time during which checkpoints keep storage busy; checkpoint intervals are "
       "increased if needed"},
      {"usd_per_tb_written", Need::kOptional,
       config::number(question.usd_per_tb_written, config::between(0, 1e6)),
       "price per terabyte (1e12 bytes) that checkpoints write to storage"},
      {"detect_s", Need::kOptional, seconds(question.detect_s), "time until the loss of a node is detected"},
      {"startup_s", Need::kOptional, seconds(question.startup_s),
       "time to start all processes, before they load their state"},
      {"swap_s", Need::kOptional, seconds(question.swap_s),
       "time for a running spare to replace a lost node"},
      {"deadline", Need::kOptional, deadline_value(question.deadline),
       "deadline, and the probability of meeting it (default 95%)"},
      {"budget", Need::kOptional, budget_value(question.budget),
       "limit on the mean cost, or on the cost that a given fraction of runs stays below"},
      {"objective", Need::kOptional, config::choice(question.objective, kObjectiveNames), "what to optimize"},
      {"memory_margin", Need::kOptional, share_value(question.plan.memory_margin),
       "fraction of a GPU's memory that plans must leave free"},
      {"search", Need::kOptional, config::object(question.space),
       "which parallel plans are searched (default: all that the model and the machines allow)"},
      {"parallel", Need::kOptional,
       config::object(without_rules([&parallel] { return settings_of_plan(parallel); })),
       "other settings of the parallel plan; same keys as `parallel` in plans"},
      {"plans", Need::kOptional, config::integer(question.plans, 1, 1000),
       "number of parallel plans to simulate for each policy: its fastest ones, at most one for each number "
       "of "
       "GPUs per replica"},
      {"policies", Need::kOptional, policies_value(question.policies),
       "policies to compare, with their options (default: all that can run the model)"},
      {"spares", Need::kOptional, config::integers(question.spares, 0, kMostSpares),
       "list of choices to compare: number of spare nodes"},
      {"intervals", Need::kOptional, config::numbers(question.intervals, config::between(1e-3, 1e3)),
       "list of choices to compare: checkpoint interval, as a multiple of Daly's optimal interval"},
      config::renamed(
          {"max_trials", Need::kOptional, config::integer(question.max_trials, 16, 1'000'000),
           "maximum number of trials per choice; only choices that are hard to distinguish need the maximum"},
          "most_trials"),
      config::tier(question.tier)};
  fields.insert(fields.end(), own.begin(), own.end());
  return fields;
}

Status config_finish(PlanQuestion& question) {
  settle_efficiency(question.plan);
  const auto sort_choices = [](auto& choices) {
    std::sort(choices.begin(), choices.end());
    choices.erase(std::unique(choices.begin(), choices.end()), choices.end());
  };
  if (question.spares.empty())
    return Error{"must not be empty; give choices such as [0, 1, 2]", {.pointer = "/spares"}};
  if (question.intervals.empty())
    return Error{"must not be empty; give choices such as [0.5, 1, 2]", {.pointer = "/intervals"}};
  sort_choices(question.spares);
  sort_choices(question.intervals);
  if (question.spot) sort_choices(question.spot->nodes);
  question.assumes_storage = !question.storage_gb_per_s.has_value();
  if (question.assumes_storage)
    question.storage_gb_per_s = kAssumedStorageOfNode * static_cast<double>(question.train_nodes());
  const std::int64_t each = question.plan.cluster.gpus_per_node;
  if (question.gpus > each && question.gpus % each != 0) {
    return Error{
        fmt::format("must be a multiple of {1} (GPUs per node), such as {2} or {3}, not {0}", question.gpus,
                    each, question.gpus / each * each, (question.gpus / each + 1) * each),
        {.pointer = "/gpus"}};
  }
  if (question.usd_per_node_hour == 0 && metric_of(question.objective) == TrialMetric::kCost) {
    return Error{fmt::format("is {}, but nodes are free; set usd_per_node_hour, or objective jct",
                             in_quotes(kObjectiveNames[static_cast<std::size_t>(question.objective)])),
                 {.pointer = "/objective"}};
  }
  if (question.usd_per_node_hour == 0 && question.budget)
    return Error{"is given, but nodes are free; set usd_per_node_hour", {.pointer = "/budget"}};
  return Ok{};
}

Result<PlanQuestion> read_plan_question(const std::string& file, const std::vector<config::Change>& changes,
                                        const config::Library& library) {
  PlanQuestion question;
  question.file = file;
  question.plan.library = library;
  config::Changes made(changes, "question", "set");
  if (file.empty()) {
    GOODPUT_TRY(question.unused,
                config::read_object(Json{{"search", Json::object()}, {"parallel", Json::object()}},
                                    config::access(question), library, std::move(made)));
  } else {
    question.plan.sources.push_back({file, {}});
    GOODPUT_TRY(question.unused, config::read_file(file, config::access(question), library, std::move(made)));
  }
  question.plan.file = file;
  question.plan.parallel.sequence_parallel = true;
  return question;
}

}  // namespace goodput
