// What a run of a suite's command showed, as far as a check looks at it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/check/tolerance.h"
#include "sim/base/errors.h"
#include "tools/check/suite.h"

namespace goodput {

// What the figures rest on: where it differs, that is why they do.
struct RunOrigin {
  std::string version{}, revision{};
  std::string config_hash{};  // of everything that moves a number but the seed
  std::string calibration{};  // the file's name and a hash of its bytes; empty: none was used

  friend bool operator==(const RunOrigin&, const RunOrigin&) = default;
};

// Where time goes, or what else a figure is made of, by name: "productive_s".
using Parts = std::map<std::string, double>;

struct RunFigure {
  std::string name{};    // RUN/POLICY/METRIC, or RUN/pointer
  std::string policy{};  // of a figure of trials
  MetricRule rule{};
  std::vector<double> values{};  // one a trial; one of what is no figure of trials
  std::string text{};   // JSON of what is no number, keys sorted, for tolerance exact; then no values
  std::string fault{};  // why there is none; then neither of both

  [[nodiscard]] bool is_of_trials() const { return !rule.is_pointer(); }
};

struct RunFigures {
  RunOrigin origin{};
  std::vector<RunFigure> figures{};
  std::map<std::string, Parts> parts{};  // by policy; by "" where there are none
  bool is_one_run = false;               // more trials would be the same
};

// Of the JSON that the command wrote. Fails where it is none of a result.
[[nodiscard]] Result<RunFigures> figures_of(const SuiteRun& run, std::string_view json);

}  // namespace goodput
