// `goodput plan`: which parallel plan, policy, spares and checkpoint interval for a job, by when, at what
// cost.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "models/planner/plan_question.h"
#include "models/planner/question_scenario.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/cli/command.h"
#include "tools/cli/config_files.h"
#include "tools/cli/json_result.h"
#include "tools/cli/key_notes.h"
#include "tools/cli/live_progress.h"
#include "tools/plan/plan_answer.h"
#include "tools/plan/plan_report.h"
#include "tools/plan_step/plan_provenance.h"

namespace goodput {
namespace {

constexpr double kMostBudget = 1e6;  // seconds

// A key of the question that an option sets.
struct QuestionOption {
  std::string_view option;
  std::string_view value_name;
  std::string_view help;
  std::string_view former_option{};  // its name before
};
constexpr QuestionOption kQuestionOptions[] = {
    {"--model", "MODEL", "Model to train: a name from 'goodput list models', or a file"},
    {"--cluster", "CLUSTER", "Cluster to train on: a name from 'goodput list clusters', or a file"},
    {"--stack", "STACK", "Software stack: a name from 'goodput list stacks', or a file"},
    {"--gpus", "N", "Exact number of GPUs that train; spares are extra"},
    {"--tokens", "N", "Number of tokens to train on, for example 1e12 or 15T"},
    {"--batch", "N", "Number of sequences per step (global batch size)"},
    {"--sequence-length", "N", "Number of tokens per sequence"},
    {"--usd-per-node-hour", "USD", "Price in USD per node-hour of each billed node"},
    {"--billing", "held|reserved",
     "Which nodes are billed: all nodes and spares from start to end (reserved, default), or nodes only "
     "while the job holds them (held)"},
    {"--failures", "NAME", "Node failures: a name from 'goodput list failure-presets', or a JSON object"},
    {"--storage-gb-per-s", "N", "Rate at which all nodes together write and read checkpoints, in GB/s"},
    {"--storage-duty", "SHARE",
     "Maximum fraction of the time that storage may be busy with checkpoints (default 25%)"},
    {"--usd-per-tb-written", "USD",
     "Price in USD per terabyte that checkpoints write to storage (default 0)"},
    {"--detect-s", "S", "Seconds until the loss of a node is detected"},
    {"--startup-s", "S", "Seconds to start all processes, before state is loaded"},
    {"--swap-s", "S", "Seconds for a running spare to replace a lost node"},
    {"--deadline", "TIME@P", "Deadline and the probability of meeting it, for example 14d@95%"},
    {"--budget", "USD[@P]",
     "Budget in USD: a limit on the mean cost, for example 700k, or a limit that a share of runs must keep, "
     "for example 700k@95%"},
    {"--objective", "NAME",
     "What to optimize: cost (default), jct (job completion time), goodput or usd_per_token"},
    {"--memory-margin", "SHARE", "Share of GPU memory that plans must leave free (default 10%)"},
    {"--spares", "LIST", "List of numbers of spare nodes to try (default 0,1,2,3,4,6,8)"},
    {"--plans", "N",
     "Number of plans to simulate for each policy: its fastest ones whose replicas use different numbers of "
     "GPUs"},
    {"--max-trials", "N", "Maximum number of trials for choices that are hard to tell apart (default 1024)",
     "--most-trials"},
};

// --usd-per-node-hour is /usd_per_node_hour.
std::string key_of(std::string_view option) {
  std::string key = "/" + std::string(option.substr(2));
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

// The value as it stands in the question: a path is seen from here, a list is an array.
std::string value_of_option(std::string_view option, const std::string& value) {
  if (option == "--spares") return "[" + value + "]";
  const bool is_config = option == "--model" || option == "--cluster" || option == "--stack";
  if (is_config && !config::is_name(value)) return std::filesystem::absolute(value).string();
  return value;
}

// Of an error about a key that an option sets, or would: the option is what to mend. `given`: whether it is.
Error as_option(const Error& error, const std::function<bool(std::string_view)>& given) {
  const auto said_by = [&](std::string_view option, const std::string& key) -> std::optional<Error> {
    if (error.where.pointer != key && !error.where.pointer.starts_with(key + "/")) return std::nullopt;
    if (!error.where.file.empty() && !given(option)) return std::nullopt;
    const std::string below = error.where.pointer.substr(key.size());
    return Error{fmt::format("{}{}{} {}", option, below.empty() ? "" : " ", below, error.what)};
  };
  for (const QuestionOption& known : kQuestionOptions) {
    if (auto said = said_by(known.option, key_of(known.option))) return *std::move(said);
  }
  return said_by("--policy", "/policies").value_or(error);
}

std::string_view phase_name(PlanPhase phase) {
  switch (phase) {
    case PlanPhase::kPlans:
      return "searching for parallel plans";
    case PlanPhase::kContest:
      return "simulating";
    case PlanPhase::kSensitivity:
      break;
  }
  return "testing how sensitive the answer is to the inputs";
}

class PlanCommand final : public Command {
 public:
  void configure(Options& options) override {
    options
        .add("question", file_, "QUESTION",
             "Question to answer: a name from 'goodput list questions', or a file (default: a question made "
             "from the options); options override the values in the question")
        .listed("questions");
    values_.resize(std::size(kQuestionOptions));
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const QuestionOption& known = kQuestionOptions[i];
      const std::string former = known.former_option.empty() ? "" : fmt::format(",{}", known.former_option);
      Option option = options.add(std::string(known.option) + former, values_[i],
                                  std::string(known.value_name), std::string(known.help));
      if (known.option == "--model") option.listed("models");
      if (known.option == "--cluster") option.listed("clusters");
      if (known.option == "--stack") option.listed("stacks");
      if (known.option == "--objective") option.one_of(kObjectiveNames);
      if (known.option == "--billing") option.one_of(kBillingNames);
    }
    options.add("--policy", policies_, "NAME", "Consider only this policy; repeatable").one_value_each();
    options
        .add("--set", changes_, "POINTER=VALUE",
             "Override a value of the question, for example /search/tp=[4,8]; repeatable, applied in order")
        .one_value_each();
    options.add_flag("--no-sensitivity", no_sensitivity_, "Skip the sensitivity analysis of the answer");
    options.add("--budget-s", budget_s_, "S",
                "Stop after about S seconds and use the trials run so far; the result then depends on how "
                "fast the machine is");

    options
        .add("--out", folder_, "DIR",
             "Write the best plan, a scenario for it and launch files of training frameworks to this folder; "
             "'goodput plan-step' and 'goodput simulate' read the first two")
        .folder();
  }

  Result<ExitCode> run(const CommandContext& context) override {
    if (!(budget_s_ >= 0 && budget_s_ <= kMostBudget))
      return Error{fmt::format("--budget-s must be more than 0 and at most {} seconds, not {}", kMostBudget,
                               budget_s_)};
    GOODPUT_TRY(const PlanQuestion question, read(context));
    GOODPUT_TRY(const std::vector<config::Source> sources, plan_sources(question.plan));
    note_shadowed(sources, context);
    GOODPUT_TRY_STATUS(check_file_roles(files_of(sources), {}, context));
    for (const std::string& line : key_note_lines(question.unused, question.file)) context.note(line);
    GOODPUT_TRY_STATUS(make_folder());
    PlanRunOptions options;
    options.seed = context.options.seed;
    options.jobs = static_cast<unsigned>(context.options.jobs);
    options.has_sensitivity = !no_sensitivity_;
    const bool shows = context.terminal.shows_progress && !context.options.quiet;
    if (shows) {
      options.on_phase = [&context](PlanPhase phase) { context.note(phase_name(phase)); };
      options.on_input = [&context](const std::string& input, std::size_t number, std::size_t inputs) {
        context.note(fmt::format("  {} of {}: {}", number, inputs, input));
      };
    }
    if (budget_s_ > 0) {
      options.is_out_of_time = [began = std::chrono::steady_clock::now(), this] {
        return std::chrono::steady_clock::now() - began > std::chrono::duration<double>(budget_s_);
      };
    }
    GOODPUT_TRY(const PlanAnswer answer, answer_question(question, options));
    const PlanReport report{question, answer};
    if (context.options.wants_result()) GOODPUT_TRY_STATUS(write_json(report, context));
    context.print(plan_text(report));
    return write_configs(report, context);
  }

 private:
  [[nodiscard]] bool is_given(std::string_view option) const {
    if (option == "--policy") return !policies_.empty();
    const auto known = std::find_if(std::begin(kQuestionOptions), std::end(kQuestionOptions),
                                    [option](const QuestionOption& one) { return one.option == option; });
    return !values_[static_cast<std::size_t>(known - std::begin(kQuestionOptions))].empty();
  }

  [[nodiscard]] Result<PlanQuestion> read(const CommandContext& context) const {
    std::vector<config::Change> changes;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::string_view option = kQuestionOptions[i].option;
      if (!values_[i].empty()) changes.push_back({key_of(option), value_of_option(option, values_[i])});
    }
    if (!policies_.empty()) {
      Json chosen = Json::object();
      for (const std::string& policy : policies_) chosen[policy] = Json::object();
      changes.push_back({"/policies", chosen.dump()});
    }
    for (const std::string& change : changes_) {
      const auto equals = change.find('=');
      if (equals == std::string::npos)
        return Error{
            fmt::format("--set {}: must be POINTER=VALUE, for example --set /search/tp=[4,8]", change)};
      changes.push_back({change.substr(0, equals), change.substr(equals + 1)});
    }
    GOODPUT_TRY(const config::Library library, config_library(context));
    std::string file = file_;
    if (!file.empty()) {
      GOODPUT_TRY(const std::string found, config_file(file_, kPlanQuestionFiles, library, context));
      file = found;
    }
    Result<PlanQuestion> question = read_plan_question(file, changes, library);
    const auto given = [this](std::string_view option) { return is_given(option); };
    if (!question) return as_option(question.error(), given);
    const auto policies = competing_policies(*question);
    if (!policies) return as_option(policies.error(), given);
    return question;
  }

  // Before anything is simulated for it.
  [[nodiscard]] Status make_folder() const {
    if (folder_.empty()) return Ok{};
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    if (!failed) return Ok{};
    return Error{
        fmt::format("--out {}: cannot create the folder: {}", on_one_line(folder_), failed.message())};
  }

  static Status write_json(const PlanReport& report, const CommandContext& context) {
    GOODPUT_TRY(const Provenance provenance, plan_provenance(report));
    OrderedJson json = begin_json_result("plan", context, provenance);
    add_plan_json(report, json);
    return write_json_result(json, context);
  }

  [[nodiscard]] Result<ExitCode> write_configs(const PlanReport& report,
                                               const CommandContext& context) const {
    if (folder_.empty()) return ExitCode::kOk;
    if (!report.answer.best) {
      context.note(fmt::format("no answer was found, so nothing is written to {}", folder_));
      return ExitCode::kOk;
    }
    GOODPUT_TRY(const PlanConfigs files, write_plan_configs(report, folder_));
    context.print(
        fmt::format("\nTo run it again: goodput plan-step {}\n                 goodput simulate {}\n",
                    files.plan, files.scenario));
    if (!files.launch_files.empty())
      context.print(fmt::format("To train: {}\n", fmt::join(files.launch_files, ", ")));
    for (const std::string& why : files.not_exported)
      context.print(fmt::format("No launch file for {}\n", why));
    return ExitCode::kOk;
  }

  std::string file_;
  std::vector<std::string> values_;  // of kQuestionOptions; empty: not given
  std::vector<std::string> policies_;
  std::vector<std::string> changes_;
  std::string folder_;
  bool no_sensitivity_ = false;
  double budget_s_ = 0;  // 0: as long as it takes
};

}  // namespace

CommandInfo command_plan() {
  return {.name = "plan",
          .summary = "Find the best parallel plan, policy, spares and checkpoint interval for a job",
          .example =
              "goodput plan --model llama3-8b --cluster dgx-h100 --gpus 64 --tokens 40e9 --batch 256 \\\n"
              "    --sequence-length 8192 --usd-per-node-hour 20 --failures rsc-1\n"
              "goodput plan llama3-70b-1024 --deadline 12d@95% --out answer",
          .make = make_command<PlanCommand>};
}

}  // namespace goodput
