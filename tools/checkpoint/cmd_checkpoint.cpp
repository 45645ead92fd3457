// `goodput checkpoint`: what a checkpoint of a model holds, how much smaller partial and sharded ones are,
// and what they cost a run with faults.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "models/checkpoint/checkpointed_run.h"
#include "models/plan/parallel_plan.h"
#include "models/shape/model_file.h"
#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "tools/checkpoint/checkpoint_options.h"
#include "tools/checkpoint/checkpoint_report.h"
#include "tools/cli/command.h"
#include "tools/cli/config_files.h"
#include "tools/cli/json_result.h"
#include "tools/cli/named_choice.h"

namespace goodput {
namespace {

constexpr std::int64_t kMostRanks = 100'000;
constexpr std::int64_t kMostBytesPerParameter = 64;

// Everything that moves a number of the result but the seed.
std::uint64_t hash_of(const CheckpointReport& report, const CheckpointRunOptions& options) {
  Hash hash;
  for (const DenseModule& module : report.model.dense) {
    hash.add(module.name);
    hash.add(module.parameters);
    hash.add(module.buffers.value);
  }
  for (const ExpertLayer& layer : report.model.expert_layers) {
    hash.add(layer.name);
    hash.add(layer.parameters);
  }
  const PartialCheckpoint& checkpoint = report.checkpoint;
  for (const std::int32_t number : {report.model.experts, report.model.top_k, report.bytes_per_parameter,
                                    checkpoint.k.snapshot, checkpoint.k.persist, checkpoint.ranks})
    hash.add(number);
  hash.add(static_cast<int>(checkpoint.selection));
  hash.add(static_cast<int>(checkpoint.sharding));
  options.add_to(hash);
  return hash.value();
}

class CheckpointCommand final : public Command {
 public:
  void configure(Options& options) override {
    options.add("model", model_path_, "MODEL", "Model: a name from 'goodput list models', or a file")
        .listed("models")
        .required();
    options.add("--pec-k", pec_k_, "K",
                "Number of experts per MoE layer that a checkpoint saves (default: all)");
    options.add("--snapshot-k", snapshot_k_, "K",
                "Number of experts per MoE layer to copy to CPU memory; --pec-k of them are written to "
                "storage (default: the value of --pec-k)");
    options
        .add("--selection", selection_, "NAME",
             "Which experts to save: \"sequential\" (default): in rotation; \"load-aware\": those with the "
             "most tokens since their last save")
        .one_of(kExpertSelectionNames);
    options.add("--ranks", ranks_, "R", "Number of ranks that share the experts (default: one per expert)");
    options
        .add("--sharding", sharding_, "NAME",
             "How ranks write everything except experts: \"none\" (default): each rank writes all of it; "
             "\"edps\": a fixed split among ranks; \"adps\": a new split per checkpoint that also evens out "
             "the experts that each rank writes")
        .one_of(kShardingNames);
    options.add("--bytes-per-param", bytes_per_parameter_, "B",
                fmt::format("Bytes per parameter, with optimizer state (default {}: bf16 weights, fp32 copy "
                            "and Adam moments; 12: fp32 weights and Adam moments)",
                            bytes_per_parameter_));
    options_.configure(options);
  }

  Result<ExitCode> run(const CommandContext& context) override {
    GOODPUT_TRY_STATUS(options_.check());
    GOODPUT_TRY(const config::Library library, config_library(context));
    GOODPUT_TRY(model_path_, config_file(model_path_, kModelFiles, library, context));
    GOODPUT_TRY_STATUS(check_file_roles({model_path_}, {}, context));
    GOODPUT_TRY(const AnyModel shape, read_any_model(model_path_, library));
    Result<CheckpointModel> table = checkpoint_model(shape);
    if (!table) return std::move(table).error().in_file(model_path_);
    GOODPUT_TRY(const PartialCheckpoint checkpoint, partial_checkpoint(*table));
    const ModuleBytes bytes = module_bytes(*table, static_cast<std::int32_t>(bytes_per_parameter_));
    GOODPUT_TRY(const CheckpointReport report, make_report(*table, bytes, checkpoint, context));
    if (context.options.wants_result()) GOODPUT_TRY_STATUS(write_json(report, context));
    context.print(checkpoint_text(report));
    return ExitCode::kOk;
  }

 private:
  // What the options say, of this model.
  [[nodiscard]] Result<PartialCheckpoint> partial_checkpoint(const CheckpointModel& model) const {
    PartialCheckpoint checkpoint;
    GOODPUT_TRY(checkpoint.sharding, choose<Sharding>("sharding", "sharding", sharding_, kShardingNames));
    GOODPUT_TRY(checkpoint.selection,
                choose<ExpertSelection>("selection", "selection", selection_, kExpertSelectionNames));
    if (model.experts == 0) GOODPUT_TRY_STATUS(check_without_experts(model));
    if (!options_.is_wanted()) GOODPUT_TRY_STATUS(check_without_run(checkpoint.selection));
    GOODPUT_TRY(checkpoint.k.persist, k_of("--pec-k", pec_k_, model.experts, model));
    GOODPUT_TRY(checkpoint.k.snapshot, k_of("--snapshot-k", snapshot_k_, checkpoint.k.persist, model));
    if (checkpoint.k.snapshot < checkpoint.k.persist) {
      return Error{fmt::format(
          "--snapshot-k is {}, but --pec-k writes {} experts to storage; --snapshot-k must be from {} to {}",
          checkpoint.k.snapshot, checkpoint.k.persist, checkpoint.k.persist, model.experts)};
    }
    const std::int64_t ranks = ranks_.value_or(std::max(1, model.experts));
    if (ranks < 1 || ranks > kMostRanks)
      return Error{fmt::format("--ranks must be a whole number from 1 to {}, not {}", kMostRanks, ranks)};
    checkpoint.ranks = static_cast<std::int32_t>(ranks);
    if (bytes_per_parameter_ < 1 || bytes_per_parameter_ > kMostBytesPerParameter) {
      return Error{fmt::format("--bytes-per-param must be a whole number from 1 to {}, not {}",
                               kMostBytesPerParameter, bytes_per_parameter_)};
    }
    return checkpoint;
  }

  [[nodiscard]] Status check_without_experts(const CheckpointModel& model) const {
    const std::pair<std::string_view, bool> options[] = {{"--pec-k", pec_k_.has_value()},
                                                         {"--snapshot-k", snapshot_k_.has_value()},
                                                         {"--selection", selection_ != "sequential"},
                                                         {"--dynamic-k", options_.has_dynamic_k()},
                                                         {"--skew", options_.has_skew()}};
    for (const auto& [option, is_given] : options) {
      if (is_given)
        return Error{fmt::format("{} has no experts; leave {} out", model.name, option),
                     {.file = model_path_}};
    }
    return Ok{};
  }

  // What only a run makes a difference to.
  [[nodiscard]] Status check_without_run(ExpertSelection selection) const {
    if (snapshot_k_)
      return Error{"--snapshot-k applies only to a run that saves checkpoints; add --interval STEPS"};
    const std::string_view tokens = options_.given_tokens();
    if (tokens.empty() || selection == ExpertSelection::kLoadAware) return Ok{};
    return Error{fmt::format(
        "{} applies only to a run or to load-aware selection; add --interval STEPS or --selection load-aware",
        tokens)};
  }

  [[nodiscard]] static Result<std::int32_t> k_of(std::string_view option, std::optional<std::int64_t> given,
                                                 std::int32_t preset, const CheckpointModel& model) {
    if (!given) return preset;
    if (*given < 1 || *given > model.experts) {
      return Error{
          fmt::format("{} must be from 1 to {} (the number of experts in an MoE layer of {}), not {}", option,
                      model.experts, model.name, *given)};
    }
    return static_cast<std::int32_t>(*given);
  }

  // Keeps references to the table and its bytes.
  [[nodiscard]] Result<CheckpointReport> make_report(const CheckpointModel& model, const ModuleBytes& bytes,
                                                     const PartialCheckpoint& checkpoint,
                                                     const CommandContext& context) const {
    GOODPUT_TRY_STATUS(check_rotation(bytes, checkpoint));
    if (static_cast<double>(options_.tokens()) * model.top_k > 1e9)
      return Error{fmt::format("--tokens {} times top_k {} is more than 1e9; lower --tokens",
                               options_.tokens(), model.top_k)};
    const ExpertTokens tokens =
        expert_tokens(model, options_.tokens(), options_.skew(), context.options.seed);
    CheckpointReport report{model,
                            bytes,
                            static_cast<std::int32_t>(bytes_per_parameter_),
                            checkpoint,
                            full_rank_writes(bytes, checkpoint.ranks),
                            partial_rank_writes(bytes, checkpoint, PecLevel::kPersist, tokens),
                            {}};
    if (!options_.is_wanted()) return report;
    GOODPUT_TRY(CheckpointedRun run, options_.run(checkpoint.ranks));
    GOODPUT_TRY(RunCosts costs, run_costs(bytes, checkpoint, tokens, run));
    std::optional<PecLevels> recommended;
    if (model.experts > 0 && run.mode == SaveMode::kAsync)
      recommended = recommended_levels(bytes, checkpoint, tokens, run);
    report.run = {std::move(run), std::move(costs), recommended, options_.assumptions()};
    return report;
  }

  [[nodiscard]] Status write_json(const CheckpointReport& report, const CommandContext& context) const {
    Provenance provenance;
    provenance.config_hash = hash_of(report, options_);
    provenance.config_files = {model_path_};
    provenance.lowest_tier = to_string(report.tier());
    OrderedJson json = begin_json_result("checkpoint", context, provenance);
    add_checkpoint_json(report, json);
    return write_json_result(json, context);
  }

  std::string model_path_;
  std::optional<std::int64_t> pec_k_;
  std::optional<std::int64_t> snapshot_k_;
  std::string selection_ = "sequential";
  std::optional<std::int64_t> ranks_;
  std::string sharding_ = "none";
  std::int64_t bytes_per_parameter_ = ParallelPlan{}.saved_bytes();  // of a plan that says nothing else
  CheckpointRunOptions options_;
};

}  // namespace

CommandInfo command_checkpoint() {
  return {.name = "checkpoint",
          .summary = "Compute the size of a model's checkpoints and what they cost a run",
          .example =
              "goodput checkpoint gpt2-moe-small --pec-k 1 --sharding adps\n"
              "goodput checkpoint gpt-s --bytes-per-param 14 --pec-k 2 --interval 50 "
              "--faults 1200,3400:5",
          .make = make_command<CheckpointCommand>};
}

}  // namespace goodput
