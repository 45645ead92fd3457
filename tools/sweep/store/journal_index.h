// The finished journals of a sweep as one list of points, in the order of the design.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/sweep/store/journal_file.h"
#include "tools/sweep/store/journal_line.h"
#include "tools/sweep/store/journal_pool.h"
#include "tools/sweep/store/point_rows.h"
#include "tools/sweep/store/sweep_folder.h"

namespace goodput {

// Knows where every point lies; the points themselves stay on the disk.
class JournalIndex {
 public:
  // Reads every line once. Fails unless all `shards` journals are finished, of this sweep and intact, and
  // have every point once.
  static Result<JournalIndex> read(const std::string& dir, const SweepManifest& manifest,
                                   std::uint64_t shards);

  // REQUIRES: a point of the sweep.
  Result<PointRows> point(std::uint64_t number);

  // Of trials, and of estimates: those of any policy, in the order in which they come up from point to point.
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  [[nodiscard]] const std::vector<std::string>& metrics() const { return metrics_; }

 private:
  struct Entry {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;  // 0: not found yet
    std::uint32_t file = 0;
    std::uint32_t names = 0;  // in lists_
  };
  // Names of the columns and metrics of a point; points that are alike share a list.
  struct NameLists {
    std::vector<std::string> columns;
    std::vector<std::string> metrics;

    friend auto operator<=>(const NameLists&, const NameLists&) = default;
  };

  Status add_file(const std::string& path, const JournalHeader& want);
  Status add_line(std::uint32_t file, const JournalLine& line, const PointRows& rows);
  std::uint32_t number_of(NameLists names);
  void unite_names();

  JournalLineReader reader_;
  JournalPool files_;
  std::vector<Entry> entries_;  // by point
  std::vector<NameLists> lists_;
  std::vector<std::string> columns_;
  std::vector<std::string> metrics_;
};

}  // namespace goodput
