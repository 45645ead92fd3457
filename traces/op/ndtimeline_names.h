// NDTimeline's metric names, as they vary between releases, and the op types they mean.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/ops/op_type.h"

namespace goodput {

// The op type of a metric name in any known spelling. Names of metrics that are no ops of a step are absent.
[[nodiscard]] std::optional<OpType> find_metric(std::string_view name);

// Whether the metric exists but is no op of a step (a part of one, an enclosing span, a marker): readers
// skip it.
[[nodiscard]] bool is_ignored_metric(std::string_view name);

// Whether the metric is an op of a step that the dependency model cannot place, or may be one by its name.
// Left out, it would change the answers: readers refuse it.
[[nodiscard]] bool is_unsupported_metric(std::string_view name);

// `; did you mean "X"?` for the nearest known name, else the empty string.
[[nodiscard]] std::string suggest_metric(std::string_view name);

// The error text for a name that is neither: why it cannot be used, or the nearest known one.
[[nodiscard]] std::string unknown_metric(std::string_view name);

}  // namespace goodput
