// Numbers and moments as pages write them.
#pragma once

#include <cstdint>
#include <string>

namespace goodput {

[[nodiscard]] std::string slowdown_text(double slowdown);   // 1.234×; what is no number: a dash, as below
[[nodiscard]] std::string share_text(double share);         // 0.213: 21.3 %
[[nodiscard]] std::string seconds_text(double seconds);     // 340 ms, 12.3 s, 5 min 20 s, 3.4 h, 2.5 d
[[nodiscard]] std::string usd_text(double usd);             // $1,234; below 100: $12.30
[[nodiscard]] std::string count_text(std::int64_t count);   // 12,345
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);  // 12.3 MiB

// A moment of Unix time as <time> in UTC, to the second; 0: a dash.
[[nodiscard]] std::string time_html(double unix_s);
// 2026-11-24T13:36:05Z. REQUIRES: a year of four digits, as of any clock.
[[nodiscard]] std::string iso_time(double unix_s);
// `5 min 20 s ago`; of what is to come: `now`.
[[nodiscard]] std::string ago_text(double unix_s, double now_s);

}  // namespace goodput
