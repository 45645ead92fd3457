#include "tools/launch/import_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>

#include "models/shape/model_shape.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

using launch::Basis;
using launch::DraftValue;
using launch::ImportedLaunch;

// 70.55 B
std::string parameters_text(std::int64_t parameters) {
  const auto count = static_cast<double>(parameters);
  return count >= 1e9 ? fmt::format("{:.2f} B parameters", count / 1e9)
                      : fmt::format("{:.1f} M parameters", count / 1e6);
}

std::string layout_text(const ParallelPlan& plan) {
  std::string text = fmt::format("DP {} x PP {}{} x TP {}", plan.dp, plan.pp,
                                 plan.vpp > 1 ? fmt::format(" (VPP {})", plan.vpp) : "", plan.tp);
  if (plan.cp > 1) text += fmt::format(" x CP {}", plan.cp);
  if (plan.ep > 1) text += fmt::format(", EP {}", plan.ep);
  if (plan.zero > 0) text += fmt::format(", ZeRO-{}", plan.zero);
  return text;
}

// Values that were assumed, grouped by why.
std::map<std::string, std::vector<std::string>> assumed_by_reason(const ImportedLaunch& imported) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const auto& [pointer, value] : imported.draft.values()) {
    if (value.basis != Basis::kAssumed) continue;
    const std::string key = pointer.substr(pointer.rfind('/') + 1);
    by_reason[value.origin].push_back(fmt::format("{} {}", key, value.json));
  }
  return by_reason;
}

}  // namespace

std::string import_sentence(const ImportedLaunch& imported, const std::vector<std::string>& files) {
  const ModelShape& model = imported.plan.model;
  const std::string what = fmt::format("{} ({})", model.name, parameters_text(model_parameters(model).total));
  if (!imported.describes_plan)
    return fmt::format("{} {} {}.", fmt::join(files, " and "), files.size() == 1 ? "describes" : "describe",
                       what);
  const ParallelPlan& plan = imported.plan.parallel;
  return fmt::format("{} {} {} on {} GPUs with {}: {} sequences of {} tokens per step, {} per micro-batch.",
                     fmt::join(files, " and "), files.size() == 1 ? "trains" : "train", what, plan.gpus(),
                     layout_text(plan), plan.global_batch, plan.sequence_length, plan.micro_batch);
}

std::vector<std::string> warning_lines(const ImportedLaunch& imported) {
  std::vector<std::string> lines;
  for (const launch::LaunchWarning& warning : imported.draft.warnings) {
    const std::string at = warning.where.text();
    lines.push_back(at.empty() ? warning.text : fmt::format("{}: {}", at, warning.text));
  }
  return lines;
}

std::string assumed_line(const ImportedLaunch& imported) {
  std::vector<std::string> parts;
  for (const auto& [reason, values] : assumed_by_reason(imported))
    parts.push_back(fmt::format("{} ({})", fmt::join(values, ", "), reason));
  return fmt::format("assumed: {}", fmt::join(parts, "; "));
}

std::string import_report(const ImportedLaunch& imported, const std::vector<std::string>& files) {
  std::string text = import_sentence(imported, files) + "\n";
  const auto by_reason = assumed_by_reason(imported);
  if (!by_reason.empty()) text += "\nAssumed, since the files do not say:\n";
  for (const auto& [reason, values] : by_reason)
    text += fmt::format("  {} ({})\n", fmt::join(values, ", "), reason);
  const std::vector<std::string> ignored = imported.draft.ignored;
  if (!ignored.empty())
    text += fmt::format("\nIgnored, without effect on a step: {}\n",
                        on_one_line(fmt::format("{}", fmt::join(ignored, ", "))));
  return text;
}

}  // namespace goodput
