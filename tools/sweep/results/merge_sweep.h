// Makes the tables of a sweep of its shards' journals: results.csv, summary.csv, results.sqlite and, where
// Arrow is built in, results.parquet. docs/formats/sweep-results.md describes them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/sweep/store/point_rows.h"

namespace goodput {

struct Merged {
  std::size_t points = 0;
  std::size_t ran = 0;     // points that could be
  std::size_t errors = 0;  // points that could not
  std::size_t rows = 0;    // of results.csv
  std::vector<std::string> files{};
  std::vector<std::string> notes{};
};

// Writes the results of a sweep whose shards are all finished: the same bytes however many there were. Fails
// where they are not, and names them.
// `see` gets every point, in order.
Result<Merged> merge_sweep(const std::string& dir, const std::function<void(const PointRows&)>& see = {});

}  // namespace goodput
