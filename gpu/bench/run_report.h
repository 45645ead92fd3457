// A whole run: on what it was measured, how, and what came out so far; as JSON for programs (schema
// goodput.dispatch_bench/2), and as a table for people in run_table.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/bench/ceilings.h"
#include "gpu/bench/judgement.h"
#include "gpu/bench/machine.h"
#include "gpu/bench/point.h"

namespace goodput::gpu::bench {

// Times of the emulator mean nothing: they make no rate, no share and no verdict.
enum class Tier : std::uint8_t { kMeasured, kEmulated };
[[nodiscard]] const char* name_of(Tier tier);

#if defined(GOODPUT_SIMT)
inline constexpr Tier kTierOfBuild = Tier::kEmulated;
#else
inline constexpr Tier kTierOfBuild = Tier::kMeasured;
#endif

// How a run ended; one that was killed is running for ever.
enum class Ended : std::uint8_t { kRunning, kDeadline, kDone };
[[nodiscard]] const char* name_of(Ended ended);

// Of a point that ran, or why it did not.
struct PointOutcome {
  Point point;
  std::optional<PointResult> result;
  std::string reason;  // kDeadlineReason or what was thrown; "" with a result
};
inline constexpr const char* kDeadlineReason = "deadline";

struct RunReport {
  Tier tier = kTierOfBuild;
  Ended ended = Ended::kRunning;
  Machine machine{};
  std::string date;
  std::vector<std::string> arguments;
  std::string method;
  std::vector<std::string> notes;  // what the run could not do
  std::vector<CopyCeiling> ceilings;
  std::vector<PointOutcome> points;

  // The rate of the ceiling of that flow, as measured first.
  [[nodiscard]] std::optional<double> ceiling_gb_per_s(const CopyFlow& flow) const;
  // A point or a ceiling has wrong results or none at all, or a point failed; a deadline is no failure.
  [[nodiscard]] bool has_wrong() const;
  // Of a point.
  [[nodiscard]] bool has_result() const;
};

// What the times of a point are worth.
struct PointVerdict {
  std::optional<AgainstFloor> events;
  std::optional<double> graph_share;  // floor over the median of the replays
  std::string target;                 // "met", "missed", "-" where that cannot be said, "" without a target
};

// A share is held against its target on every GPU, a time against that of an H200 on an H200.
// REQUIRES: a result.
[[nodiscard]] PointVerdict judge(const RunReport& report, const PointOutcome& outcome);

[[nodiscard]] std::string json_of(const RunReport& report);

}  // namespace goodput::gpu::bench
