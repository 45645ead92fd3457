// The command line of goodput-calibrate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/bench/sizes.h"

namespace goodput::gpu::calibrate {

struct CalibrateOptions {
  std::string out;   // the calibration file; its journal is out + ".journal"
  std::string only;  // part of 'SWEEP POINT'; empty: all
  double deadline_s = 480;
  int rounds = 2;
  std::uint64_t seed = 1;
  std::int32_t ranks = 0;  // of collectives; 0: the GPUs there are
  std::string id_file;     // not empty: this process is a rank that torchrun or Slurm has started
  std::string date;        // empty: the clock's
  bench::Sizes sizes = bench::Sizes::kFull;
  bool resume = false;
  bool list = false;
  bool help = false;

  [[nodiscard]] std::string journal() const { return out + ".journal"; }
};

// `arguments` without the name of the program. Throws std::invalid_argument with one line for a person.
[[nodiscard]] CalibrateOptions parse_calibrate_options(const std::vector<std::string>& arguments);
[[nodiscard]] std::string calibrate_help();

// What decides what is measured, and how: a journal is resumed with the same only.
[[nodiscard]] std::vector<std::string> arguments_that_count(const CalibrateOptions& options);

}  // namespace goodput::gpu::calibrate
