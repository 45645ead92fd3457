// What the cleaning pass finds, rule by rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/ops/cleaning_finding.h"

namespace goodput {

class Findings {
 public:
  Findings() = default;
  explicit Findings(const std::vector<CleaningFinding>& found);

  // `count` more of what the rule finds, in a step. The first detail stays.
  void add(CleaningRule rule, std::size_t count, std::int64_t step, const std::string& detail = "");
  void set_detail(CleaningRule rule, const std::string& detail);

  // In the order of the rules.
  [[nodiscard]] std::vector<CleaningFinding> take() &&;

 private:
  struct Found {
    std::size_t count = 0;
    std::set<std::int64_t> steps;
    std::string detail;
  };
  std::map<CleaningRule, Found> found_;
};

// Fails on the first finding of a strict rule.
Status refuse_strictly(const std::vector<CleaningFinding>& findings);

}  // namespace goodput
