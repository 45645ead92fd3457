#include "tools/sweep/results/result_names.h"

#include <algorithm>
#include <unordered_set>

namespace goodput {
namespace {

// ASCII alone, as in SQL.
std::string in_small_letters(std::string_view name) {
  std::string small(name);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return small;
}

class TakenNames {
 public:
  TakenNames() {
    add(kPoint);
    for (const std::string_view name : kTrialFields) add(name);
    for (const std::string_view name : kSummaryFields) add(name);
    for (const std::string_view name : kSummaryRemarks) add(name);
  }
  void add(std::string_view name) { names_.insert(in_small_letters(name)); }
  [[nodiscard]] bool has(std::string_view name) const { return names_.contains(in_small_letters(name)); }

  // `name`, with `prefix` before it as often as it takes.
  std::string claim(std::string name, std::string_view prefix) {
    while (has(name)) name.insert(0, prefix);
    add(name);
    return name;
  }

 private:
  std::unordered_set<std::string> names_;  // in small letters
};

}  // namespace

ResultNames result_names(const std::vector<std::string>& parameters, const std::vector<std::string>& columns,
                         const std::vector<std::string>& metrics) {
  constexpr std::string_view kFigure = "metric:";
  ResultNames names;
  TakenNames of_all;
  TakenNames of_trials;
  for (const std::string& column : columns) {
    names.columns.push_back(of_trials.claim(column, kFigure));
    of_all.add(names.columns.back());
  }
  TakenNames of_summary;
  for (const std::string& metric : metrics) {
    std::array<std::string, 3>& claimed = names.metrics.emplace_back();
    for (const std::size_t i : {0U, 1U, 2U}) {
      constexpr std::array<std::string_view, 3> kSuffixes = {"", "_low", "_high"};
      claimed[i] = of_summary.claim(metric + std::string(kSuffixes[i]), kFigure);
      of_all.add(claimed[i]);
    }
  }
  for (const std::string& parameter : parameters)
    names.parameters.push_back(of_all.claim(parameter, "vary:"));
  return names;
}

}  // namespace goodput
