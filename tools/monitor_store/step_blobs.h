// What of a step's result is stored as bytes: everything that has no column of its own.
#pragma once

#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/live/step_result.h"

namespace goodput {

// By its bytes a layout is known again; compressed it is stored.
[[nodiscard]] std::string layout_bytes(const JobLayout& layout);
[[nodiscard]] std::string layout_blob(std::string_view layout_bytes);
Result<JobLayout> read_layout_blob(std::string_view blob);

// By stage, replica and op type, the paper's figures, causes, problem, missing workers, notes. Empty: there
// is nothing of it.
[[nodiscard]] std::string details_blob(const StepResult& result);
Status read_details_blob(std::string_view blob, StepResult& result);

// The figures of every worker, to the bit.
[[nodiscard]] std::string workers_blob(const StepResult& result);
Status read_workers_blob(std::string_view blob, StepResult& result);

}  // namespace goodput
