#include "traces/op/ndtimeline_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "sim/base/text.h"

namespace goodput {
namespace {

struct Spelling {
  std::string_view name;  // lower case, with hyphens
  OpType type;
};

// Sources: veScale (ndtimeline/predefined.py and the local timeline handler), the timers of Megatron-LM's
// schedules, optimizer and finalize_model_grads, and the published traces. Both numbers of "grad" and "param"
// occur.
constexpr Spelling kSpellings[] = {
    {"forward-compute", OpType::kForwardCompute},
    {"backward-compute", OpType::kBackwardCompute},
    // Zero-bubble schedules: gradients of the input, then of the weights.
    {"backward-input", OpType::kBackwardCompute},
    {"backward-input-compute", OpType::kBackwardCompute},
    {"backward-dgrad-compute", OpType::kBackwardCompute},
    {"backward-weight", OpType::kBackwardWeight},
    {"backward-weight-compute", OpType::kBackwardWeight},
    {"backward-wgrad-compute", OpType::kBackwardWeight},
    {"wgrad-compute", OpType::kBackwardWeight},
    {"forward-send", OpType::kForwardSend},
    {"send-forward", OpType::kForwardSend},
    {"forward-recv", OpType::kForwardRecv},
    {"recv-forward", OpType::kForwardRecv},
    {"backward-send", OpType::kBackwardSend},
    {"send-backward", OpType::kBackwardSend},
    {"backward-recv", OpType::kBackwardRecv},
    {"recv-backward", OpType::kBackwardRecv},
    {"params-all-gather", OpType::kParamsAllGather},
    {"param-all-gather", OpType::kParamsAllGather},
    {"params-all-gather-nonoverlapping", OpType::kParamsAllGather},
    {"param-all-gather-nonoverlapping", OpType::kParamsAllGather},
    {"unshard-all-gather", OpType::kParamsAllGather},
    {"grads-reduce-scatter", OpType::kGradsReduceScatter},
    {"grad-reduce-scatter", OpType::kGradsReduceScatter},
    {"grads-reduce-scatter-nonoverlapping", OpType::kGradsReduceScatter},
    {"grad-reduce-scatter-nonoverlapping", OpType::kGradsReduceScatter},
    // Without a distributed optimizer the same place in the step is an all-reduce.
    {"grads-all-reduce", OpType::kGradsReduceScatter},
    {"grad-all-reduce", OpType::kGradsReduceScatter},
    {"separate-grads-all-reduce", OpType::kSeparateGradsAllReduce},
    {"separate-grad-all-reduce", OpType::kSeparateGradsAllReduce},
    {"layernorm-grads-all-reduce", OpType::kLayernormGradsAllReduce},
    {"layernorm-grad-all-reduce", OpType::kLayernormGradsAllReduce},
    {"non-tensor-parallel-grads-all-reduce",
     OpType::kLayernormGradsAllReduce},  // newer releases of Megatron Core
    {"embedding-grads-all-reduce", OpType::kEmbeddingGradsAllReduce},
    {"embedding-grad-all-reduce", OpType::kEmbeddingGradsAllReduce},
    {"optimizer-clip-main-grad", OpType::kOptimizerClipMainGrad},
    {"optimizer-clip-main-grads", OpType::kOptimizerClipMainGrad},
    {"optimizer", OpType::kOptimizer},
    {"gc", OpType::kGc},
};

constexpr std::string_view kIgnored[] = {
    // Inside an optimizer op.
    "optimizer-inner-step",
    "optimizer-copy-to-main-grad",
    "optimizer-copy-main-to-model-params",
    "optimizer-unscale-and-check-inf",
    "optimizer-count-zeros",
    // Inside a compute op.
    "tp-allreduce",
    "tp-allgather",
    "tp-reducescatter",
    "batch-generator",
    // Around many ops, or before the step.
    "forward-backward",
    "interval-time",
    "data-load",
    "data-sync",
    // NDTimeline's marker "flushed up to here".
    "special",
};

struct Unsupported {
  std::string_view name;
  std::string_view why;
};

constexpr std::string_view kBatched =
    "moves several tensors in one op, which the dependency model does not support; record every send and "
    "receive as a separate metric";
constexpr Unsupported kUnsupported[] = {
    {"forward-send-forward-recv", kBatched},
    {"forward-send-backward-recv", kBatched},
    {"backward-send-forward-recv", kBatched},
    {"backward-send-backward-recv", kBatched},
    {"forward-backward-send-forward-backward-recv", kBatched},
    {"cross-mesh-send", "does not give a direction; it must be forward-send or backward-send"},
    {"cross-mesh-recv", "has no direction; record forward-recv or backward-recv"},
};
// An unknown name with one of these may be a pass, and a step without some of its passes has other answers.
constexpr std::string_view kWordsOfPasses[] = {"backward", "wgrad", "weight"};
constexpr std::string_view kMayBePass =
    "may be a backward pass; rename it to backward-compute or backward-weight, or remove its rows if it is "
    "neither";

constexpr std::size_t kLongestName = 64;  // longer than any known name

constexpr char normalised(char c) {
  if (c == '_' || c == ' ') return '-';
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_metric(std::string_view known, std::string_view name) {
  return std::ranges::equal(known, name, {}, {}, normalised);
}

bool names_a_pass(std::string_view name) {
  return std::ranges::any_of(kWordsOfPasses, [name](std::string_view word) {
    const auto same = [](char c, char known) { return normalised(c) == known; };
    return std::search(name.begin(), name.end(), word.begin(), word.end(), same) != name.end();
  });
}

template <typename Table>
auto find_named(const Table& table, std::string_view name) {
  return std::ranges::find_if(table, [name](const auto& entry) { return same_metric(entry.name, name); });
}

constexpr auto all_spellings() {
  std::array<std::string_view, std::size(kSpellings)> names;
  std::ranges::transform(kSpellings, names.begin(), &Spelling::name);
  return names;
}

}  // namespace

std::optional<OpType> find_metric(std::string_view name) {
  if (const auto type = find_op_type(name)) return type;  // nearly always
  if (name.size() > kLongestName) return std::nullopt;
  const auto found = find_named(kSpellings, name);
  return found == std::end(kSpellings) ? std::nullopt : std::optional(found->type);
}

bool is_ignored_metric(std::string_view name) {
  return std::ranges::any_of(kIgnored, [name](std::string_view known) { return same_metric(known, name); });
}

bool is_unsupported_metric(std::string_view name) {
  return find_named(kUnsupported, name) != std::end(kUnsupported) || names_a_pass(name);
}

std::string suggest_metric(std::string_view name) {
  static constexpr auto kNames = all_spellings();
  std::string plain(name.substr(0, kLongestName + 1));
  std::ranges::transform(plain, plain.begin(), normalised);
  return did_you_mean(plain, kNames);
}

std::string unknown_metric(std::string_view name) {
  if (const auto found = find_named(kUnsupported, name); found != std::end(kUnsupported)) {
    return fmt::format("metric {} {}", in_quotes(name), found->why);
  }
  if (names_a_pass(name)) return fmt::format("metric {} {}", in_quotes(name), kMayBePass);
  const std::string suggestion = suggest_metric(name);
  return fmt::format("metric {} is unknown{}", in_quotes(name),
                     suggestion.empty() ? "; it is not an NDTimeline metric of a training step" : suggestion);
}

}  // namespace goodput
