// A suite: commands to run, and which of their figures must not move (docs/formats/suites.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/check/tolerance.h"
#include "sim/base/errors.h"
#include "sim/config/config.h"

namespace goodput {

inline constexpr config::Kind kSuiteFiles{"suites", "suite"};
inline constexpr std::int64_t kMostBaselineTrials = 100'000;

// Which way a figure is better.
enum class Direction : std::uint8_t { kMore, kLess, kSame };
inline constexpr std::string_view kDirectionNames[] = {"more", "less", "same"};

struct MetricRule {
  // A JSON pointer into the result, "/slowdown"; or what trials of `simulate` are measured by, of every
  // policy that runs: "samples_per_hour".
  std::string metric{};
  std::optional<Direction> better{};  // none: as trial_metrics.def has it
  std::string tolerance_text{};
  Tolerance tolerance{};

  [[nodiscard]] bool is_pointer() const { return metric.starts_with('/'); }
  [[nodiscard]] Direction direction() const;
};

// A command, once.
struct SuiteRun {
  std::string name{};
  std::vector<std::string> command{};  // "simulate", "NAME", ...; $SUITE/ is the folder of the suite
  std::vector<MetricRule> metrics{};
  std::int64_t trials = 0;  // that a baseline keeps, of one with metrics of trials

  // Is asked for trials one by one.
  [[nodiscard]] bool has_trials() const;
};

struct Suite {
  std::string file{};
  std::string name{};  // of the file, without .json
  std::int64_t trials = 64;
  std::vector<SuiteRun> runs{};  // in the order of their names
};

// Strict: errors name file and JSON pointer.
[[nodiscard]] Result<Suite> read_suite(const std::string& file);

[[nodiscard]] config::Fields config_fields(Suite& suite);
[[nodiscard]] config::Fields config_fields(SuiteRun& run);
[[nodiscard]] config::Fields config_fields(MetricRule& rule);
[[nodiscard]] Status config_finish(Suite& suite);
[[nodiscard]] Status config_finish(SuiteRun& run);
[[nodiscard]] Status config_finish(MetricRule& rule);

}  // namespace goodput
