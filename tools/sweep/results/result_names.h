// What the columns of a sweep's results are called.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// Of results.csv, in order, but for the parameters behind kPoint and the figures of trials at the end.
inline constexpr std::string_view kPoint = "point";
inline constexpr std::array<std::string_view, 10> kTrialFields = {
    "policy", "trial", "seed", "status", "reason", "config_hash", "version", "tier", "finished", "stopped"};
// And of summary.csv: estimates stand between these and kSummaryRemarks.
inline constexpr std::array<std::string_view, 8> kSummaryFields = {
    "policy", "status", "reason", "config_hash", "version", "tier", "trials", "finished"};
inline constexpr std::array<std::string_view, 2> kSummaryRemarks = {"doubtful", "warnings"};

struct ResultNames {
  std::vector<std::string> parameters{};
  std::vector<std::string> columns{};                 // figures of trials
  std::vector<std::array<std::string, 3>> metrics{};  // estimates: value, low, high
};

// No two columns of a table are called the same, whatever the case of letters, for SQL does not tell them
// apart: a figure that has the name of another column becomes "metric:NAME", a parameter "vary:NAME". A
// parameter is called the same in all tables.
[[nodiscard]] ResultNames result_names(const std::vector<std::string>& parameters,
                                       const std::vector<std::string>& columns,
                                       const std::vector<std::string>& metrics);

}  // namespace goodput
