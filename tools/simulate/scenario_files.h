// Which file is read where a scenario names one and perhaps another to fall back on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/errors.h"

namespace goodput {

// A file that was read for a scenario.
struct ScenarioFile {
  std::string pointer;  // where the scenario names it: /failures/file
  std::string named;    // the file it would rather have
  std::string used;     // the same, or the one it falls back on

  [[nodiscard]] bool is_fallback() const { return used != named; }
};

// `named` where there is such a file, else `fallback`; both as seen from here, either may be empty.
// Error::where is `pointer` in the file `scenario`.
Result<ScenarioFile> choose_file(std::string_view scenario, std::string pointer, const std::string& named,
                                 const std::string& fallback);

// Of the file's bytes.
Result<std::uint64_t> hash_of_file(const std::string& path);

}  // namespace goodput
