// A whole run: on what it was measured, how, and what came out; as a table for people and as JSON for
// programs (schema goodput.dispatch_bench/1).
#pragma once

#include <string>
#include <vector>

#include "gpu/bench/ceilings.h"
#include "gpu/bench/machine.h"
#include "gpu/bench/point.h"

namespace goodput::gpu::bench {

#if defined(GOODPUT_SIMT)
inline constexpr bool kEmulated = true;
#else
inline constexpr bool kEmulated = false;
#endif

// Of a point that ran, or why it did not.
struct PointOutcome {
  Point point;
  std::optional<PointResult> result;
  std::string reason;  // "deadline" or what was thrown; "" with a result
};

struct RunReport {
  Machine machine;
  std::string date;
  std::vector<std::string> arguments;
  std::string method;
  std::vector<CopyCeiling> ceilings;
  std::vector<PointOutcome> points;
  std::vector<std::string> notes;  // what the run could not do

  // The rate of the ceiling of that flow, as measured first.
  [[nodiscard]] std::optional<double> ceiling_gb_per_s(const CopyFlow& flow) const;
  // A point or a ceiling has wrong results or none at all, or a point failed; a deadline is no failure.
  [[nodiscard]] bool has_wrong() const;
  [[nodiscard]] bool has_result() const;
};

[[nodiscard]] std::string table_of(const RunReport& report);
[[nodiscard]] std::string json_of(const RunReport& report);

}  // namespace goodput::gpu::bench
