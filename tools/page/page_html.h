// Results as one page for a browser: a file that needs no other, and no network.
//
// A page is a function of JSON results alone, so that `--report` and `goodput report` of what --json wrote
// show the same. What a result holds is data in it, never markup: names of jobs and files come from anywhere.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// A result as the page holds it.
struct PageResult {
  std::string name;    // what tells it from the others: its file; empty for the only one
  std::string schema;  // goodput.whatif/1
  std::string json;    // on one line, inert within HTML
};

// Strings beyond kLongestPageText bytes are cut, and say so. REQUIRES: result["schema"] is a string.
inline constexpr std::size_t kLongestPageText = 4096;
[[nodiscard]] PageResult page_result(std::string name, const nlohmann::ordered_json& result);

// The same bytes for the same results.
[[nodiscard]] std::string page_html(const std::vector<PageResult>& results);

}  // namespace goodput
