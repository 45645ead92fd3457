// `goodput placement`: how many replicas each expert of an MoE model gets, where they go, and what that
// survives.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/hash.h"
#include "tools/cli/command.h"
#include "tools/cli/json_result.h"
#include "tools/cli/output_file.h"
#include "tools/cli/progress_bar.h"
#include "tools/placement/placement_report.h"
#include "tools/placement/placement_request.h"

namespace goodput {
namespace {

std::uint64_t hash_of(const PlacementRequest& request) {
  Hash hash;
  hash.add(request.nodes.nodes);
  hash.add(request.nodes.slots);
  hash.add(request.nodes.gpus);
  hash.add(static_cast<int>(request.choice.allocation));
  hash.add(static_cast<int>(request.choice.plan));
  hash.add(request.choice.min_replicas);
  for (const std::int32_t k : request.failures) hash.add(k);
  for (const RequestedLayer& layer : request.layers) {
    hash.add(layer.layer);
    for (const std::int32_t e : layer.experts) hash.add(e);
    for (const std::int64_t load : layer.loads) hash.add(load);
    for (const std::int32_t replicas : layer.replicas) hash.add(replicas);
  }
  return hash.value();
}

class PlacementCommand final : public Command {
 public:
  void configure(CLI::App& app) override {
    app.add_option("--nodes", options_.nodes, "Nodes; a node fails as a whole")->required()->option_text("N");
    app.add_option("--slots", options_.slots, "Experts that fit on a node, of each layer")
        ->required()
        ->option_text("C");
    app.add_option("--experts", options_.experts,
                   "Experts of a layer; alike, unless --loads or --replicas is given")
        ->option_text("E");
    app.add_option("--gpus-per-node", options_.gpus_per_node,
                   "GPUs that share the slots of a node (default 1)")
        ->option_text("G");
    app.add_option("--loads", options_.loads,
                   "Tokens of each expert: a list such as 400,300,20 or a routing trace (CSV, SmartMoE logs)")
        ->option_text("FILE|LIST");
    app.add_option(
           "--iteration", options_.iteration,
           "Of a routing trace: what was recorded at this iteration or last before it (default: the end)")
        ->option_text("I");
    app.add_option("--layers", options_.layers, "Of a routing trace: these layers only, for example 0-11")
        ->option_text("LIST");
    app.add_option("--top", options_.top, "Of a routing trace: only the E most loaded experts of each layer")
        ->option_text("E");
    app.add_option("--replicas", options_.replicas,
                   "Replicas of each expert, instead of loads and an allocation")
        ->option_text("LIST");
    app.add_option("--min-replicas", options_.min_replicas,
                   "Replicas that every expert gets (default 2; lowered where they do not fit)")
        ->option_text("F");
    app.add_option("--allocation", options_.allocation,
                   "How many replicas: balanced (default), eq1 (Lazarus) or eplb (DeepSeek)")
        ->option_text("NAME");
    app.add_option("--plan", options_.plan,
                   "Where they go: best (default), mro (Lazarus), spread, compact or eplb (DeepSeek)")
        ->option_text("NAME");
    app.add_option("--failures", options_.failures, "How many nodes fail at once (default 1-6)")
        ->option_text("LIST");
  }

  Result<ExitCode> run(const CommandContext& context) override {
    const bool has_file = !options_.loads.empty() && !is_number_list(options_.loads);
    GOODPUT_TRY_STATUS(check_file_roles(has_file ? std::vector{options_.loads} : std::vector<std::string>{},
                                        {{"--json", context.options.json_path}}));
    GOODPUT_TRY(PlacementRequest request, read_placement_request(options_));
    const std::uint64_t hash = hash_of(request);
    const bool shows = context.terminal.shows_progress && !context.options.quiet;
    ProgressBar bar(context.err, shows ? ProgressBar::Show::kWhenSlow : ProgressBar::Show::kNever,
                    "placing experts", 0);
    request.choice.effort.layer_done = [&bar, steps = std::uint64_t{0}]() mutable { bar.update(++steps); };
    GOODPUT_TRY(const PlacementReport report, place_as_requested(std::move(request), context.options.seed));
    for (const std::string& note : report.request.notes) context.note(note);
    context.print(placement_text(report));
    if (context.options.json_path.empty()) return ExitCode::kOk;
    nlohmann::ordered_json json = begin_json_result("placement", context, {hash, {}, {}});
    add_placement_json(report, json);
    GOODPUT_TRY_STATUS(write_json_result(json, context));
    return ExitCode::kOk;
  }

 private:
  PlacementOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_placement_command() {
  return std::make_unique<PlacementCommand>();
}

}  // namespace goodput
