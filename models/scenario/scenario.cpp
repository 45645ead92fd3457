#include "models/scenario/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "models/failure/failure_fields.h"
#include "models/policy_process/process_setup.h"
#include "models/routing/synthetic_routing.h"
#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

using config::Need;

constexpr std::int64_t kMostSteps = 1'000'000'000'000;
constexpr std::int64_t kMostTokens = 1'000'000'000'000'000'000;
constexpr std::int64_t kMostTrials = 10'000'000;
constexpr double kLongestYears = 100;

// ---- Policies: an object with a name of one's own for each.

const PolicyCommand* command_named(const std::vector<PolicyCommand>& commands, std::string_view name) {
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [name](const PolicyCommand& command) { return command.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

// "policy" says nothing else than that it is one.
Status read_command(const PolicyCommand& command, const config::Place& place, bool is_named,
                    ScenarioPolicy& policy) {
  if (is_named && policy.policy != kCommandPolicy) {
    return place.at("policy").error(fmt::format(
        "is {}, but a command is given for this policy; remove \"policy\"", in_quotes(policy.policy)));
  }
  policy.policy = kCommandPolicy;
  policy.command = command;
  return Ok{};
}

Status check_kind(const ScenarioPolicy& policy, const config::Place& place, bool is_named) {
  if (policy.policy == kCommandPolicy && is_named) {
    Error error = place.error(
        fmt::format("is an external program; give its command with {} {}='COMMAND'", kOption, policy.name));
    error.option = "policy_command";
    return error;
  }
  const auto found = find_policy(policy.policy);
  if (found) return Ok{};
  return (is_named ? place.at("policy") : place).error(found.error().what);
}

Status read_policy(const std::string& name, const Json& value, const config::Place& place,
                   const PolicyCommand* command, ScenarioPolicy& policy) {
  if (std::string fault = fault_of_name(name); !fault.empty()) return place.error(std::move(fault));
  if (!value.is_object()) return place.not_wanted(value, "an object with the policy's options");
  policy.name = name;
  policy.policy = name;
  Json options = value;
  const auto named = value.find("policy");
  const bool is_named = named != value.end();
  if (is_named) {
    if (!named->is_string()) return place.at("policy").not_wanted(*named, "the name of a policy");
    policy.policy = named->get<std::string>();
    options.erase("policy");
  }
  policy.options = options.dump();
  return command != nullptr ? read_command(*command, place, is_named, policy)
                            : check_kind(policy, place, is_named);
}

// In the order of models/policy/policies.def, those of one kind by name: JSON objects have no order.
std::size_t rank_of(const std::string& policy) {
  const std::span<const PolicyInfo> all = recovery_policies();
  return static_cast<std::size_t>(
      std::find_if(all.begin(), all.end(), [&](const PolicyInfo& info) { return info.name == policy; }) -
      all.begin());
}

}  // namespace

config::Value policies_value(std::vector<ScenarioPolicy>& policies,
                             const std::vector<PolicyCommand>& commands) {
  const auto read = [&policies, commands](const Json& value, config::Place& place) -> Status {
    if (!value.is_object()) return place.not_wanted(value, "an object such as {\"lazarus\": {}, \"ds\": {}}");
    if (value.empty()) return place.error("must have at least one policy, such as {\"lazarus\": {}}");
    policies.clear();
    for (const auto& [name, options] : value.items()) {
      ScenarioPolicy policy;
      GOODPUT_TRY_STATUS(read_policy(name, options, place.at(name), command_named(commands, name), policy));
      policies.push_back(std::move(policy));
    }
    std::stable_sort(policies.begin(), policies.end(),
                     [](const auto& a, const auto& b) { return rank_of(a.policy) < rank_of(b.policy); });
    return Ok{};
  };
  const auto write = [&policies](OrderedJson& into) {
    for (const ScenarioPolicy& policy : policies) {
      OrderedJson options = OrderedJson::parse(policy.options);
      if (policy.policy != policy.name) options["policy"] = policy.policy;
      into[policy.name] = std::move(options);
    }
  };
  return {"an object of options by policy", read, write, {}};
}

std::int64_t Scenario::samples_of_tokens() const {
  const std::int64_t each = plan.parallel.sequence_length;
  return tokens / each + (tokens % each > 0 ? 1 : 0);
}

JobGoal Scenario::goal() const {
  JobGoal goal;
  if (samples > 0) goal.samples = samples;
  if (tokens > 0) goal.samples = std::min(samples_of_tokens(), goal.samples.value_or(kMostTokens));
  if (steps > 0) goal.steps = steps;
  if (duration > SimDuration{}) goal.until = SimTime{duration};
  return goal;
}

std::int32_t Scenario::plan_nodes() const {
  const std::int64_t each = plan.cluster.gpus_per_node;
  return static_cast<std::int32_t>((plan.parallel.gpus() + each - 1) / each);
}

JobTerms Scenario::terms() const {
  JobTerms terms;
  terms.plan = plan;
  terms.most_nodes = most_nodes();
  terms.max_training_nodes = max_training_nodes;
  terms.nodes_where = {file, {}, "/nodes"};
  terms.batch = batch;
  terms.start = start;
  return terms;
}

config::Fields config_fields(RoutingSource& routing) {
  const auto no_trace = [&routing] { return routing.is_constant() ? "neither file nor model is given" : ""; };
  const auto has_hot_load = [&routing] { return routing.hot_load > 0 ? "hot_load is given" : ""; };
  const auto has_trace = [&routing] {
    return routing.is_constant() ? "" : routing.file.empty() ? "model is given" : "file is given";
  };
  return {
      {"file", Need::kOptional, config::path(routing.file), "file with a recorded routing trace"},
      {"model", Need::kOptional, config::path_or_name(routing.model, kRoutingModelFiles),
       "routing model (path or name) that synthesizes the routing if no `file` is given"},
      {"layers", Need::kOptional, config::text(routing.layers),
       "which layers of the trace to use, one for each MoE layer of the model, such as 0-11 (default: "
       "the first layers)",
       no_trace},
      {"top_at_iteration", Need::kOptional, config::integer(routing.top_at_iteration, 0, kMostSteps),
       "iteration of the trace at which the busiest experts are chosen to represent the model's experts",
       no_trace},
      {"after_end", Need::kOptional, config::choice(routing.after_end, kAfterEndNames),
       "loads after the last iteration of the trace. hold: those of the last iteration; loop: the trace "
       "starts again from its first iteration; continue: the later half of the trace is traversed "
       "backward, forward, and so on",
       no_trace},
      {"skew", Need::kOptional, config::number(routing.skew, config::between(0, 10)),
       "without file and model: the r-th busiest expert gets a constant share ~ 1 / r^skew (Zipf)",
       [has_trace, has_hot_load] { return *has_trace() != '\0' ? has_trace() : has_hot_load(); }},
      {"hot_load", Need::kOptional, config::number(routing.hot_load, config::between(0, 65'536)),
       "without file and model: one expert per layer gets this many times an even share of the tokens, and "
       "the other experts share the rest evenly; 0: see skew",
       has_trace},
      {"per_rank", Need::kOptional, config::object(config::access(routing.per_rank)),
       "how an expert's tokens differ from GPU to GPU, which changes what lazarus sends between GPUs; other "
       "policies split tokens evenly (default: evenly)"}};
}

config::Fields config_fields(RankRouting& ranks) {
  const auto has_folder = [&ranks] { return ranks.folder.empty() ? "" : "folder is given"; };
  return {
      {"spread", Need::kOptional, config::number(ranks.spread, config::between(0, 10)),
       "coefficient of variation of an expert's tokens from GPU to GPU before every GPU's total is "
       "made equal again; 0: all GPUs route alike",
       has_folder},
      {"folder", Need::kOptional, config::path(ranks.folder),
       "folder with SmartMoE's raw logs of one iteration, a file table_iter<I>_rank<R>.log per rank. GPU j "
       "differs from the mean as row j does; the rows are the ranks of the first micro-batch, then those of "
       "the second, and so on"}};
}

config::Fields config_fields(Scenario& scenario) {
  const auto has_pools = [&scenario] { return scenario.pools.empty() ? "" : "every pool has its own"; };
  return {
      {"plan", Need::kRequired,
       config::object_or_name(config::access(scenario.plan), kPlanFiles, scenario.sources),
       "model, cluster and parallel layout"},
      {"nodes", Need::kOptional, config::integer(scenario.nodes, 0),
       "maximum number of nodes that the job uses; 0: as many as the plan's GPUs fill. If the plan needs "
       "more nodes than the maximum, the job runs fewer replicas"},
      {"max_training_nodes", Need::kOptional, config::integer(scenario.max_training_nodes, 0),
       "maximum number of nodes that train at the same time; all other nodes are spares; 0: all nodes may "
       "train. It has no effect on lazarus, elastic_dp and oobleck, which can train on any number of nodes"},
      {"batch", Need::kOptional, config::choice(scenario.batch, kBatchRuleNames),
       "number of samples per step. fixed: always that of the plan, whatever the number of nodes, so that "
       "all policies train with the same batch; per_replica: proportional to the number of replicas"},
      {"routing", Need::kOptional, config::object(config::access(scenario.routing)),
       "routing of tokens to experts (default: balanced)"},
      {"failures", Need::kOptional, failures_value(scenario.failures),
       "failure models of the nodes; required unless there are pools"},
      {"pools", Need::kOptional, pools_value(scenario.pools),
       "pools of nodes, each with its own failures and prices; replaces failures, usd_per_node_hour and "
       "billing"},
      {"samples", Need::kOptional, config::integer(scenario.samples, 0, kMostSteps),
       "goal: number of samples to train on; 0: no such goal"},
      {"steps", Need::kOptional, config::integer(scenario.steps, 0, kMostSteps),
       "goal: number of steps to train; 0: no such goal"},
      {"tokens", Need::kOptional, config::integer(scenario.tokens, 0, kMostTokens),
       "goal: number of tokens to train on, rounded up to whole samples of the plan's sequence_length; 0: no "
       "such goal"},
      {"duration_s", Need::kOptional,
       config::number(scenario.duration, config::between(0, kLongestYears * 365 * 86400), from_seconds(1)),
       "time after which the job is stopped; 0: never"},
      {"deadline_s", Need::kOptional,
       config::number(scenario.deadline, config::between(0, kLongestYears * 365 * 86400), from_seconds(1)),
       "deadline, measured from the start; results show in how many trials the goal is reached by the "
       "deadline; 0: none"},
      {"trials", Need::kOptional, config::integer(scenario.trials, 1, kMostTrials),
       "number of trials; each trial has different failures, which are the same for every policy"},
      {"start", Need::kOptional, config::choice(scenario.start, kJobStartNames),
       "how the job starts. cold: processes start first; running: time begins with the first step"},
      {"usd_per_node_hour", Need::kOptional,
       optional_number(scenario.usd_per_node_hour, config::between(0, 1e6)),
       "price per node-hour for each billed node (default: the prices in the recording, if any)"},
      {"billing", Need::kOptional, config::choice(scenario.billing, kBillingNames),
       "which node-hours are billed. held: those of nodes that are present; reserved: those of all nodes "
       "from start to end",
       has_pools},
      {"usd_per_tb_written", Need::kOptional,
       config::number(scenario.usd_per_tb_written, config::between(0, 1e6)),
       "price per terabyte (1e12 bytes) that checkpoints write to storage"},
      {"policies", Need::kRequired, policies_value(scenario.policies, scenario.commands),
       "policies to compare: an object that maps each name to the options of a policy. If the name is not "
       "that of a policy, set the option \"policy\" to the policy"},
      config::tier(scenario.tier)};
}

namespace {

Status check_deadline(const Scenario& scenario) {
  if (scenario.deadline == SimDuration{}) return Ok{};
  const Where where{.pointer = "/deadline_s"};
  if (!scenario.has_goal()) return Error{"needs a goal; give samples, steps or tokens", where};
  if (scenario.duration == SimDuration{} || scenario.deadline <= scenario.duration) return Ok{};
  return Error{fmt::format("is {}, but the job stops earlier, after duration_s {}; set duration_s to 0 or to "
                           "at least the deadline",
                           to_seconds(scenario.deadline), to_seconds(scenario.duration)),
               where};
}

// Where a failure model does not say how many nodes there are, there are as many as the job uses.
Status settle_nodes(Scenario& scenario) {
  if (!scenario.pools.empty()) return Ok{};  // each says how many it has
  for (const PlacedFailures<FailureConfig>& failures : all_failures(scenario)) {
    failures.config->setup().set_default_nodes(scenario.most_nodes());
    const Status finished = config_finish(*failures.config);
    if (!finished) return finished.error().inside(failures.pointer);
  }
  return Ok{};
}

}  // namespace

Status config_finish(Scenario& scenario) {
  const bool has_end = scenario.has_goal() || scenario.duration > SimDuration{};
  if (!has_end) return Error{"has no end; give samples, steps, tokens or duration_s"};
  GOODPUT_TRY_STATUS(check_deadline(scenario));
  GOODPUT_TRY_STATUS(check_pools(scenario));
  return settle_nodes(scenario);
}

PolicyContext policy_context(const Scenario& scenario) {
  PolicyContext context;
  const auto failures = all_failures(scenario);
  context.has_slow_nodes = std::any_of(failures.begin(), failures.end(),
                                       [](const auto& one) { return one.config->setup().slows_nodes(); });
  context.changes_loads = scenario.routing && !scenario.routing->is_constant();
  context.is_dense = !scenario.plan.model.moe;
  if (scenario.plan.model.moe) context.experts = scenario.plan.model.moe->experts;
  context.stages = scenario.plan.parallel.pp;
  return context;
}

namespace {

struct PolicyRead {
  std::unique_ptr<PolicySetup> setup;
  config::KeyNotes unused;
};

// `changes`: of the scenario; none: they have been read before.
Result<PolicyRead> read_options(const Scenario& scenario, const ScenarioPolicy& policy,
                                config::Changes* changes) {
  if (policy.command) return PolicyRead{process_setup(*policy.command, policy.options), {}};
  GOODPUT_TRY(const PolicyInfo info, find_policy(policy.policy));
  std::unique_ptr<PolicySetup> setup = info.make();
  std::vector<config::GivenKey> given;
  config::Place place = config::Place{scenario.file, {}, {}}.at("policies").at(policy.name);
  place.given = &given;
  place.changes = changes;
  const PolicyContext context = policy_context(scenario);
  const config::ObjectAccess access{[] { return true; }, [&] { return setup->fields(context); },
                                    []() -> Status { return Ok{}; }};
  GOODPUT_TRY_STATUS(config::object(access).read(Json::parse(policy.options), place));
  return PolicyRead{std::move(setup), config::key_notes(given)};
}

}  // namespace

namespace {

// Behind the others, in the order of the commands; those that the scenario has no options for have none.
void order_commands(Scenario& scenario) {
  std::vector<ScenarioPolicy>& policies = scenario.policies;
  for (const PolicyCommand& command : scenario.commands) {
    const auto there = std::find_if(policies.begin(), policies.end(), [&](const ScenarioPolicy& policy) {
      return policy.name == command.name;
    });
    if (there != policies.end()) {
      std::rotate(there, there + 1, policies.end());
    } else {
      policies.push_back({command.name, kCommandPolicy, "{}", {}, command});
    }
  }
}

// Only lazarus dispatches to replicas anywhere.
bool ignores_rank_routing(const Scenario& scenario) {
  const auto is_flexible = [](const ScenarioPolicy& policy) { return policy.policy == "lazarus"; };
  return scenario.routing && scenario.routing->per_rank &&
         std::none_of(scenario.policies.begin(), scenario.policies.end(), is_flexible);
}

}  // namespace

Result<Scenario> read_scenario(const std::string& path, const std::vector<config::Change>& changes,
                               const config::Library& library, const std::vector<PolicyCommand>& commands) {
  Scenario scenario;
  scenario.file = path;
  scenario.commands = commands;
  scenario.sources = {{path, {}}};
  scenario.plan.library = library;
  config::Changes made(changes, kScenarioFiles.noun, "set");
  GOODPUT_TRY(scenario.unused, config::read_changed_file(path, config::access(scenario), library, made));
  const bool is_inline = scenario.sources.size() == 1;
  scenario.plan.file = scenario.sources.back().file;
  if (is_inline) scenario.plan.pointer = "/plan";
  order_commands(scenario);
  for (ScenarioPolicy& policy : scenario.policies) {
    GOODPUT_TRY(PolicyRead read, read_options(scenario, policy, &made));
    policy.unused = std::move(read.unused);
  }
  return scenario;
}

Result<std::unique_ptr<PolicySetup>> make_policy(const Scenario& scenario, const ScenarioPolicy& policy) {
  GOODPUT_TRY(PolicyRead read, read_options(scenario, policy, nullptr));
  return std::move(read.setup);
}

config::KeyNotes key_notes(const Scenario& scenario) {
  config::KeyNotes unused = scenario.unused;
  if (ignores_rank_routing(scenario))
    unused.push_back({scenario.file, "/routing/per_rank", "no policy is lazarus", {}});
  for (const ScenarioPolicy& policy : scenario.policies)
    unused.insert(unused.end(), policy.unused.begin(), policy.unused.end());
  return unused;
}

void note_sources(Scenario& scenario, const FailureSources& sources) {
  const auto all = all_failures(scenario);
  const std::size_t models = std::min(all.size(), sources.size());
  for (std::size_t i = 0; i < models; ++i) {
    FailureConfig& failures = *all[i].config;
    failures.setup().note(sources[i]);
    for (config::KeyNote& key : key_notes(failures, {scenario.file, all[i].pointer, {}})) {
      const bool is_known =
          std::any_of(scenario.unused.begin(), scenario.unused.end(), [&key](const config::KeyNote& known) {
            return known.file == key.file && known.pointer == key.pointer;
          });
      if (!is_known) scenario.unused.push_back(std::move(key));
    }
  }
}

}  // namespace goodput
