// `goodput placement`: how many replicas each expert of an MoE model gets, where they go, and what that
// survives.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "tools/cli/command.h"
#include "tools/cli/json_result.h"
#include "tools/cli/progress_bar.h"
#include "tools/placement/loss_report.h"
#include "tools/placement/loss_request.h"
#include "tools/placement/placement_report.h"
#include "tools/placement/placement_request.h"

namespace goodput {
namespace {

std::uint64_t hash_of(const PlacementRequest& request, const std::optional<LossRequest>& loss) {
  Hash hash;
  hash.add(request.nodes.nodes);
  hash.add(request.nodes.slots);
  hash.add(request.nodes.gpus);
  hash.add(static_cast<int>(request.choice.allocation));
  hash.add(static_cast<int>(request.choice.rule));
  hash.add(request.choice.min_replicas);
  for (const std::int32_t k : request.failures) hash.add(k);
  for (const RequestedLayer& layer : request.layers) {
    hash.add(layer.layer);
    for (const std::int32_t e : layer.experts) hash.add(e);
    for (const std::int64_t load : layer.loads) hash.add(load);
    for (const std::int32_t replicas : layer.replicas) hash.add(replicas);
  }
  if (request.choice.expert_groups > 1) {
    hash.add("expert groups");
    hash.add(request.choice.expert_groups);
  }
  if (loss) {
    loss->add_to(hash);
    for (const RequestedLayer& layer : request.new_layers) {
      for (const std::int64_t load : layer.loads) hash.add(load);
    }
  }
  return hash.value();
}

class PlacementCommand final : public Command {
 public:
  void configure(Options& options) override {
    options.add("--nodes", options_.nodes, "N", "Number of nodes; a node fails as a whole").required();
    options.add("--slots", options_.slots, "C", "Number of expert slots per node in each layer").required();
    options.add("--experts", options_.experts, "E",
                "Number of experts per layer, equally loaded unless --loads or --replicas is given");
    options.add("--gpus-per-node", options_.gpus_per_node, "G",
                "Number of GPUs that share the slots of a node (default 1)");
    options
        .add("--loads", options_.loads, "FILE|LIST",
             "Number of tokens per expert: a list such as 400,300,20, or a routing trace (CSV or SmartMoE "
             "logs)")
        .input();
    options.add("--iteration", options_.iteration, "I",
                "Iteration of the routing trace to use; if it was not recorded, the latest one before it "
                "(default: the last)");
    options.add("--layers", options_.layers, "LIST",
                "Layers of the routing trace, for example 0-11 (default: all)");
    options.add("--top", options_.top, "E",
                "Use only the E most loaded experts of each layer of the routing trace");
    options.add("--top-iteration", options_.top_iteration, "I",
                "Iteration at which --top chooses the experts (default: that of --iteration)");
    options.add("--replicas", options_.replicas, "LIST",
                "List of the number of replicas of each expert, if they are not derived from loads");
    options.add("--min-replicas", options_.min_replicas, "F",
                "Minimum number of replicas of each expert (default 2, or 1 with --expert-groups; lowered if "
                "they do not fit)");
    options
        .add("--allocation", options_.allocation, "NAME",
             "Rule for the number of replicas: balanced (default), eq1 (Lazarus) or eplb (DeepSeek)")
        .one_of(kAllocationNames);
    options
        .add("--plan", options_.plan, "NAME",
             "Rule for where replicas go: best (default), mro (Lazarus), spread, compact or eplb (DeepSeek)")
        .one_of(kPlacementRuleNames);
    options.add(
        "--expert-groups", options_.expert_groups, "K",
        "With --plan eplb: number of groups of consecutive experts (num_groups of EPLB); each group stays "
        "on one node if N divides K. Implies --allocation eplb");
    options.add("--failures", options_.failures, "LIST",
                "List of numbers of nodes that fail together, for example 1-4,8 (default: 1-6, or 1-N if N "
                "is less than 6)");
    loss_.configure(options);
    options
        .add("--new-iteration", options_.new_iteration, "I",
             "Iteration of the routing trace at which nodes are lost: the new placement is for its loads "
             "(default: that of --iteration)")
        .in_group("Loss of nodes");
    options
        .add("--new-loads", options_.new_loads, "LIST",
             "Number of tokens per expert when nodes are lost, if --loads is a list (default: the same)")
        .in_group("Loss of nodes");
  }

  Result<ExitCode> run(const CommandContext& context) override {
    const bool has_file = !options_.loads.empty() && !is_number_list(options_.loads);
    GOODPUT_TRY_STATUS(
        check_file_roles(has_file ? std::vector{options_.loads} : std::vector<std::string>{}, {}, context));
    GOODPUT_TRY(PlacementRequest request, read_placement_request(options_));
    GOODPUT_TRY(const std::optional<LossRequest> loss, read_loss(request, context));
    const std::uint64_t hash = hash_of(request, loss);
    const bool shows = context.terminal.shows_progress && !context.options.quiet;
    ProgressBar bar(context.err, shows ? ProgressBar::Show::kWhenSlow : ProgressBar::Show::kNever,
                    "placing experts", 0);
    request.choice.effort.layer_done = [&bar, steps = std::uint64_t{0}]() mutable { bar.update(++steps); };
    GOODPUT_TRY(const PlacementReport report, place_as_requested(std::move(request), context.options.seed));
    for (const std::string& note : report.request.notes) context.note(note);
    std::optional<LossReport> lost;
    if (loss) {
      GOODPUT_TRY(lost, report_loss(report, *loss));
    }
    context.print(placement_text(report) + (lost ? "\n" + loss_text(*lost) : ""));
    if (!context.options.wants_result()) return ExitCode::kOk;
    OrderedJson json = begin_json_result("placement", context, {hash, {}, {}});
    add_placement_json(report, json);
    if (lost) json["migration"] = loss_json(*lost);
    GOODPUT_TRY_STATUS(write_json_result(json, context));
    return ExitCode::kOk;
  }

 private:
  [[nodiscard]] Result<std::optional<LossRequest>> read_loss(const PlacementRequest& request,
                                                             const CommandContext& context) const {
    if (loss_.is_wanted()) {
      if (!options_.replicas.empty())
        return Error{"--replicas says nothing about fewer nodes; give --loads to see what a loss moves"};
      const auto experts = static_cast<std::int32_t>(request.layers.front().experts.size());
      GOODPUT_TRY(LossRequest loss, read_loss_request(loss_, request.nodes.nodes, experts, context));
      return std::optional(std::move(loss));
    }
    std::string_view given = loss_.needs_loss();
    if (options_.new_iteration) given = "--new-iteration";
    if (!options_.new_loads.empty()) given = "--new-loads";
    if (given.empty()) return std::optional<LossRequest>();
    return Error{fmt::format("{} applies only to a loss of nodes; give --after-loss or --lose", given)};
  }

  PlacementOptions options_;
  LossOptions loss_;
};

}  // namespace

CommandInfo command_placement() {
  return {.name = "placement",
          .summary = "Place the experts of an MoE model and find how many lost nodes the placement survives",
          .example =
              "goodput placement --nodes 10 --slots 6 --loads 400,300,120,90,50,40,30,20\n"
              "goodput placement --nodes 10 --slots 6 --loads routing.csv.gz --iteration 201 --layers 0-11 "
              "--top 16\n"
              "goodput placement --nodes 10 --slots 6 --loads 400,300,120,90,50,40,30,20 --after-loss 2,5 "
              "--model gpt-s",
          .make = make_command<PlacementCommand>};
}

}  // namespace goodput
