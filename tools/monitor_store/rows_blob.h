// The rows of a step in two parts: who did what, which is the same from step to step, and when.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/ops/op_trace.h"

namespace goodput {

// Of all columns but step, start and duration: rows that agree in it have the same op_columns_blob(). 16
// bytes.
[[nodiscard]] std::string op_columns_hash(const OpTrace& rows);
[[nodiscard]] std::string op_columns_blob(const OpTrace& rows);

// Steps, starts and durations, to the bit; where they are float32 values, in four bytes before compression.
[[nodiscard]] std::string times_blob(const OpTrace& rows);

Result<OpTrace> read_rows(std::string_view op_columns, std::string_view times);

}  // namespace goodput
