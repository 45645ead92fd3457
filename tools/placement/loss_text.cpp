#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/placement/loss_report.h"

namespace goodput {
namespace {

constexpr std::size_t kMaxShown = 32;  // nodes or experts

std::string count_of(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string seconds_range(const TimeRange& time) {
  if (time.is_fixed()) return fmt::format("{:.1f}", to_seconds(time.least));
  return fmt::format("{:.1f} to {:.1f}", to_seconds(time.least), to_seconds(time.most));
}

std::string lost_nodes(const LossReport& report) {
  const std::vector<std::int32_t>& lost = report.request.lost;
  return fmt::format("{} {}", lost.size() == 1 ? "node" : "nodes", fmt::join(lost, ", "));
}

std::string lost_experts(const LossReport& report) {
  std::map<std::pair<std::int32_t, std::int32_t>, int> lost;  // by layer and expert
  for (const ExpertRestore& restore : report.migration->moves.from_checkpoint)
    ++lost[{restore.layer, restore.expert}];
  std::string text =
      fmt::format("Losing {} loses all replicas of {}: the job must restart from a checkpoint.\n",
                  lost_nodes(report), count_of(std::ssize(lost), "expert"));
  std::size_t shown = 0;
  for (const auto& [expert, places] : lost) {
    if (++shown > kMaxShown) return text + fmt::format("  ... {} more\n", lost.size() - kMaxShown);
    const auto layer = static_cast<std::size_t>(expert.first);
    text += fmt::format("  layer {}: expert {}\n", report.layers[layer],
                        report.experts[layer][static_cast<std::size_t>(expert.second)]);
  }
  return text;
}

// Who sends what to each node.
std::string moves_text(const Migration& migration) {
  std::map<std::int32_t, std::map<std::int32_t, std::int64_t>> received;  // experts, by receiver and sender
  for (const ExpertTransfer& move : migration.moves.transfers) ++received[move.to][move.from];
  std::map<std::int32_t, std::int32_t> dense;  // sender, by receiver
  for (const DenseTransfer& move : migration.dense) dense[move.to] = move.from;
  std::string text;
  std::size_t shown = 0;
  for (const auto& [to, senders] : received) {
    if (++shown > kMaxShown) return text + fmt::format("  ... {} more nodes\n", received.size() - kMaxShown);
    std::int64_t sum = 0;
    std::string from;
    for (const auto& [sender, experts] : senders) {
      sum += experts;
      from += fmt::format("{}{} from node {}", from.empty() ? "" : ", ", experts, sender);
    }
    text += fmt::format("  node {} receives {}: {}", to, count_of(sum, "expert"), from);
    if (dense.contains(to)) text += fmt::format("; all other state from node {}", dense.at(to));
    text += '\n';
  }
  return text;
}

std::string times_text(const LossReport& report, const TimeRange& transfer) {
  const ReconfigurationTiming& timing = report.request.timing;
  const TimeRange total =
      until_regrouped(timing) + TimeRange{timing.moves.plan, timing.moves.plan} + transfer;
  return fmt::format("\n{:>9} {:>14}\n", "", "seconds") +
         fmt::format("{:>9} {:>14}\n", "detect", seconds_range(timing.detect)) +
         fmt::format("{:>9} {:>14}{}\n", "regroup", seconds_range(timing.regroup),
                     timing.overlap ? "  (while the loss is being detected)" : "") +
         fmt::format("{:>9} {:>14}\n", "plan", seconds_range({timing.moves.plan, timing.moves.plan})) +
         fmt::format("{:>9} {:>14}\n", "transfer", seconds_range(transfer)) +
         fmt::format("{:>9} {:>14}\n", "total", seconds_range(total));
}

std::string no_times() {
  return "Give --model or --expert-bytes to see how long this takes.\n";
}

std::string one_loss(const LossReport& report) {
  const Migration& migration = *report.migration;
  if (!migration.moves.from_checkpoint.empty()) return lost_experts(report);
  std::string text = fmt::format(
      "Every expert survives the loss of {}. {} to other nodes; {} can train.\n", lost_nodes(report),
      migration.newly_assigned == 1 ? "1 expert moves"
                                    : fmt::format("{} experts move", migration.newly_assigned),
      count_of(report.nodes_after, "node"));
  text += moves_text(migration);
  return text + (report.request.bytes ? times_text(report, {report.transfer, report.transfer}) : no_times());
}

std::string row_of(std::string_view name, const LossSpread::Range& range, int digits) {
  return fmt::format("{:>14} {:>9.{}f} {:>9.1f} {:>9.{}f}\n", name, range.least, digits, range.mean,
                     range.most, digits);
}

std::string many_losses(const LossReport& report) {
  const LossSpread& spread = *report.spread;
  std::string text =
      fmt::format("Losing {} of {} nodes: every expert survives in {} of {} {}cases.\n", report.request.lose,
                  report.nodes_before, spread.survived, spread.sets, spread.is_sampled ? "random " : "");
  if (spread.is_sampled) text += fmt::format("The cases are drawn with --seed {}.\n", report.seed);
  if (spread.survived == 0) return text;
  text += fmt::format("\n{:>14} {:>9} {:>9} {:>9}\n", "", "min", "mean", "max") +
          row_of("experts moved", spread.experts, 0);
  if (!report.request.bytes) return text + no_times();
  return text + row_of("transfer (s)", spread.transfer_s, 1) + row_of("total (s)", total_seconds(report), 1);
}

}  // namespace

LossSpread::Range total_seconds(const LossReport& report) {
  const ReconfigurationTiming& timing = report.request.timing;
  const TimeRange regrouped = until_regrouped(timing);
  const LossSpread::Range& transfer = report.spread->transfer_s;
  const double plan = to_seconds(timing.moves.plan);
  return {to_seconds(regrouped.least) + plan + transfer.least,
          mean_s_until_regrouped(timing) + plan + transfer.mean,
          to_seconds(regrouped.most) + plan + transfer.most};
}

std::string loss_text(const LossReport& report) {
  std::string text = report.migration ? one_loss(report) : many_losses(report);
  if (report.min_replicas < report.min_replicas_before)
    text += fmt::format("On {} nodes experts have at least {} replica{}, not {}: more do not fit.\n",
                        report.nodes_after, report.min_replicas, report.min_replicas == 1 ? "" : "s",
                        report.min_replicas_before);
  return text;
}

}  // namespace goodput
