#include "sim/cleaning/findings.h"

#include <fmt/format.h>

namespace goodput {

Findings::Findings(const std::vector<CleaningFinding>& found) {
  for (const CleaningFinding& finding : found) {
    Found& entry = found_[finding.rule];
    entry.count += finding.count;
    entry.steps.insert(finding.steps.begin(), finding.steps.end());
    if (entry.detail.empty()) entry.detail = finding.detail;
  }
}

void Findings::add(CleaningRule rule, std::size_t count, std::int64_t step, const std::string& detail) {
  Found& entry = found_[rule];
  entry.count += count;
  entry.steps.insert(step);
  if (entry.detail.empty()) entry.detail = detail;
}

void Findings::set_detail(CleaningRule rule, const std::string& detail) {
  found_[rule].detail = detail;
}

std::vector<CleaningFinding> Findings::take() && {
  std::vector<CleaningFinding> all;
  for (auto& [rule, entry] : found_) {
    all.push_back({rule, entry.count, {entry.steps.begin(), entry.steps.end()}, std::move(entry.detail)});
  }
  return all;
}

Status refuse_strictly(const std::vector<CleaningFinding>& findings) {
  for (const CleaningFinding& finding : findings) {
    const CleaningRuleInfo& rule = info(finding.rule);
    if (!rule.strict) continue;
    return Error{fmt::format("{} {}{}{}; fix the trace or omit {}", finding.count, rule.found,
                             finding.detail.empty() ? "" : ": ", finding.detail, kOption),
                 {},
                 "strict"};
  }
  return Ok{};
}

}  // namespace goodput
