// Fields of spot traces: times, counts and prices as text, within bounds that nothing real exceeds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/base/units.h"
#include "sim/nodes/spot_trace.h"
#include "traces/spot/spot_format.h"

namespace goodput {

inline constexpr std::int32_t kMostSpotNodes = 1'000'000;              // at once, or with a name each
inline constexpr std::size_t kMostSpotRows = std::size_t{1} << 26;     // 2 GiB of events
inline constexpr std::size_t kSpotBlockBytes = std::size_t{64} << 10;  // no line may be longer
inline constexpr double kMostSpotPrice = 1e6;                          // USD a node and hour

// Errors have no place: the caller knows the line. `column` is how messages call the field.

// From the start of the recording, in units of `unit`, a power of ten of nanoseconds: "40920", "0.25".
// Exact; finer than a nanosecond is refused.
Result<SimTime> parse_spot_time(std::string_view text, SimDuration unit, std::string_view column);

// A whole number of nodes.
Result<std::int32_t> parse_spot_count(std::string_view text, std::string_view column);
Result<std::int32_t> check_spot_count(std::int64_t count, std::string_view column);

// USD a node and hour.
Result<double> parse_spot_price(std::string_view text, std::string_view column);
Result<double> check_spot_price(double price, std::string_view column);

// Seconds with as many decimals as it takes: parse_spot_time() gives the same time back.
void append_spot_seconds(std::string& text, SimTime time);

// Counts and prices are kept where they change; of several values at one time the last holds.
// REQUIRES: `time` is not before the time of the last one.
void append_spot_count(SpotTrace& trace, SimTime time, std::int32_t count);
void append_spot_price(SpotTrace& trace, SimTime time, double usd_per_node_hour);

// Formats that count available nodes by definition have no other polarity.
Status refuse_preempted(const SpotOptions& options, const std::string& path);

}  // namespace goodput
