// Which ranks each of several files holds: files that have none in common are one a host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/ops/op_trace.h"

namespace goodput {

class FileRanks {
 public:
  explicit FileRanks(const std::vector<std::string>& paths) : paths_(paths) {}

  // The rows of the next of the paths end where `trace` now ends.
  void end_file(const OpTrace& trace);

  // The file by rank, named as far as names tell them apart: "node7" of "logs/node7.csv.gz", "node7/trace" of
  // "node7/trace.json". Empty for a single file and when a rank is in two.
  [[nodiscard]] std::map<std::int64_t, std::string> hosts() const;

 private:
  std::vector<std::string> paths_;
  std::vector<std::set<std::int32_t>> ranks_;  // a file
  std::size_t rows_ = 0;                       // of the files before
};

}  // namespace goodput
