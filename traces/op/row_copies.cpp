#include "traces/op/row_copies.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace goodput {
namespace {

using Group = std::pair<std::size_t, std::size_t>;  // begin and end of equal rows

}  // namespace

std::vector<std::size_t> find_row_copies(const OpTrace& trace, const RowWorkers& workers, RunRows step) {
  const auto content = [&](std::size_t row) {
    return std::tuple(workers.of_row[row], trace.optype[row], trace.start_s[row], trace.duration_s[row]);
  };
  std::vector<std::size_t> rows(step.begin(), step.end());
  std::sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(content(a), a) < std::tuple(content(b), b);
  });
  std::vector<std::size_t> copies;
  std::vector<Group> groups;  // of one worker
  std::size_t times = 0;      // that it recorded everything
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    while (end < rows.size() && content(rows[end]) == content(rows[begin])) ++end;
    groups.emplace_back(begin, end);
    times = std::gcd(times, end - begin);
    if (end < rows.size() && workers.of_row[rows[end]] == workers.of_row[rows[begin]]) continue;
    for (const auto& [first, last] : groups) {
      for (std::size_t i = first + (last - first) / times; i < last; ++i) copies.push_back(rows[i]);
    }
    groups.clear();
    times = 0;
  }
  return copies;
}

}  // namespace goodput
