// The command line of dispatch_bench.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpu/bench/sizes.h"

namespace goodput::gpu::bench {

struct Options {
  Sizes sizes = Sizes::kFull;
  std::string only;                      // part of the name of a point; empty: all
  std::optional<std::string> json_file;  // where the results go
  std::string date;                      // empty: the clock's
  double deadline_s = 600;
  bool help = false;
};

// `arguments` without the name of the program. Throws std::invalid_argument with one line for a person.
[[nodiscard]] Options parse_options(const std::vector<std::string>& arguments);

[[nodiscard]] std::string help_text();

}  // namespace goodput::gpu::bench
