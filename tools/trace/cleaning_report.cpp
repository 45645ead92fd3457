#include "tools/trace/cleaning_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/cleaning/step_list.h"

namespace goodput {

std::string cleaning_text(std::span<const CleaningFinding> findings) {
  if (findings.empty()) return "";
  constexpr std::string_view kHeading = "found in the trace";
  std::size_t width = kHeading.size();
  for (const CleaningFinding& finding : findings) width = std::max(width, info(finding.rule).found.size());
  std::string text = fmt::format("{:<{}} {:>8}  {}\n", kHeading, width + 2, "count", "action");
  for (const CleaningFinding& finding : findings) {
    const CleaningRuleInfo& rule = info(finding.rule);
    const std::string steps = finding.steps.empty() ? "" : fmt::format(" ({})", named_steps(finding.steps));
    text += fmt::format("  {:<{}} {:>8}  {}{}\n", rule.found, width, finding.count, rule.done, steps);
    if (!finding.detail.empty()) text += fmt::format("    {}\n", on_one_line(finding.detail));
  }
  return text;
}

OrderedJson cleaning_json(std::span<const CleaningFinding> findings) {
  OrderedJson list = OrderedJson::array();
  for (const CleaningFinding& finding : findings) {
    const CleaningRuleInfo& rule = info(finding.rule);
    list.push_back({{"rule", rule.name},
                    {"found", rule.found},
                    {"done", rule.done},
                    {"count", finding.count},
                    {"steps", finding.steps},
                    {"detail", finding.detail}});
  }
  return list;
}

}  // namespace goodput
