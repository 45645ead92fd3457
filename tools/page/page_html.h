// Results as one page for a browser: a file that needs no other, and no network.
//
// A page is a function of JSON results alone, so that `--report` and `goodput report` of what --json wrote
// show the same. What a result holds is data in it, never markup: names of jobs and files come from anywhere.
#pragma once

#include <string>
#include <vector>

#include "tools/page/page_result.h"

namespace goodput {

// The same bytes for the same results.
[[nodiscard]] std::string page_html(const std::vector<PageResult>& results);

}  // namespace goodput
