// A result as pages hold it: JSON on one line, inert within HTML.
//
// It is rewritten while it is parsed and never becomes a tree: maps of results have an entry a worker, and
// keep their order only in containers that look for every key among all others.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/base/errors.h"

namespace goodput {

struct PageResult {
  std::string name;    // what tells it from the others: its file; empty for the only one
  std::string schema;  // goodput.whatif/1
  std::string json;
};

// Of the text of a result (docs/formats/json-results.md). Numbers stay as they are written; strings beyond
// kLongestPageText bytes are cut, and say so. Fails on what is no JSON, is nested absurdly, or is no result
// of a schema that this version reads: goodput.NAME/1. The error has no place.
inline constexpr std::size_t kLongestPageText = 4096;
[[nodiscard]] Result<PageResult> page_result(std::string name, std::string_view text);

// A JSON string, inert within HTML; what is no UTF-8 is replaced.
[[nodiscard]] std::string page_text(std::string_view text);

}  // namespace goodput
