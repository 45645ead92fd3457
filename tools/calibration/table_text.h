// Tables of a calibration as people read them.
#pragma once

#include <string>
#include <string_view>

#include "models/cost/calibration.h"

namespace goodput {

// "all_reduce: ranks 8, dtype fp16"; flags that are true by their name alone.
[[nodiscard]] std::string table_name(const Measurement& table);

// "64 KiB", "1.5 GiB" of bytes, "4096" of tokens and rows; empty where the op has no size.
[[nodiscard]] std::string size_text(MeasuredOp op, double size);
[[nodiscard]] std::string bytes_text(double bytes);

// "64 KiB .. 1.5 GiB": from the smallest to the largest size of the table.
[[nodiscard]] std::string sizes_text(const Measurement& table);

// "3.1 %"
[[nodiscard]] std::string percent_text(double share);

// "1 table", "2 tables"
[[nodiscard]] std::string counted(std::size_t number, std::string_view noun);

// The lowest of the tables; measured of none.
[[nodiscard]] Tier lowest_tier_of(const Calibration& calibration);

}  // namespace goodput
