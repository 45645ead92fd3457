// What a check found, in sentences: for the terminal, reviews, continuous integration and pages alike.
#pragma once

#include <optional>
#include <string>

#include "tools/check/check_report.h"

namespace goodput {

// Did the change make anything worse? One sentence that names the worst figure.
[[nodiscard]] std::string check_headline(const CheckReport& report);

// `3 figures are undecided at 20 trials: ...`, with what would decide them; empty if none is.
[[nodiscard]] std::string undecided_text(const CheckReport& report);

// `goodput of policy ds in scenario s: 71.9 % -> 64.5 %, ...`. REQUIRES: it has a baseline and a figure, or a
// reason.
[[nodiscard]] std::string moved_text(const CheckedFigure& figure);

// `203262 samples/h`, `71.9 %`
[[nodiscard]] std::string value_text(const CheckedFigure& figure, std::optional<double> value);

}  // namespace goodput
