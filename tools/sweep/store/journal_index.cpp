#include "tools/sweep/store/journal_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "tools/sweep/store/number_list.h"
#include "tools/sweep/store/sweep_paths.h"

namespace goodput {
namespace {

void add_missing_names(const std::vector<std::string>& names, std::unordered_set<std::string>& seen,
                       std::vector<std::string>& into) {
  for (const std::string& name : names) {
    if (seen.insert(name).second) into.push_back(name);
  }
}

}  // namespace

Result<JournalIndex> JournalIndex::read(const std::string& dir, const SweepManifest& manifest,
                                        std::uint64_t shards) {
  JournalIndex index;
  index.entries_.resize(manifest.values.size());
  for (std::uint64_t shard = 0; shard < shards; ++shard) {
    GOODPUT_TRY_STATUS(index.add_file(finished_path(dir, {shard, shards}),
                                      {manifest.grid_hash, manifest.version, shard, shards}));
  }
  std::vector<std::uint64_t> missing;
  for (std::uint64_t point = 0; point < index.entries_.size(); ++point) {
    if (index.entries_[point].bytes == 0) missing.push_back(point);
  }
  if (!missing.empty()) {
    return Error{fmt::format("{} {} missing from the journals; run every shard again with --resume",
                             numbered("point", missing), missing.size() == 1 ? "is" : "are"),
                 {.file = dir}};
  }
  index.unite_names();
  return index;
}

Status JournalIndex::add_file(const std::string& path, const JournalHeader& want) {
  GOODPUT_TRY(JournalFile file, JournalFile::open(path));
  const std::uint32_t number = files_.add(path);
  for (;;) {
    GOODPUT_TRY(const std::optional<JournalLine> line, file.next());
    if (!line) break;
    if (!line->is_intact) return damaged_line(path, line->number);
    if (line->number == 1) {
      if (reader_.header(line->text) != want) return foreign_journal(path);
      continue;
    }
    const auto rows = reader_.point(line->text, JournalLineReader::Part::kAllButTrials);
    if (!rows || rows->point >= entries_.size()) return damaged_line(path, line->number);
    GOODPUT_TRY_STATUS(add_line(number, *line, *rows));
  }
  return Ok{};
}

Status JournalIndex::add_line(std::uint32_t file, const JournalLine& line, const PointRows& rows) {
  Entry& entry = entries_[rows.point];
  if (entry.bytes != 0) {
    return Error{fmt::format("contains point {}, which is also in {}; remove one of the two lines",
                             rows.point, files_.path(entry.file)),
                 {.file = files_.path(file), .position = Position::line(line.number)}};
  }
  NameLists names;
  std::unordered_set<std::string> columns;
  std::unordered_set<std::string> metrics;
  for (const PolicyRows& policy : rows.policies) {
    add_missing_names(policy.columns, columns, names.columns);
    for (const MetricEstimate& one : policy.estimates) {
      if (metrics.insert(one.metric).second) names.metrics.push_back(one.metric);
    }
  }
  entry = {line.offset, line.text.size(), file, number_of(std::move(names))};
  return Ok{};
}

// There are about as many lists as kinds of policies: few.
std::uint32_t JournalIndex::number_of(NameLists names) {
  const auto found = std::find(lists_.rbegin(), lists_.rend(), names);
  if (found != lists_.rend()) return static_cast<std::uint32_t>(lists_.rend() - found - 1);
  lists_.push_back(std::move(names));
  return static_cast<std::uint32_t>(lists_.size() - 1);
}

void JournalIndex::unite_names() {
  std::vector<bool> has_seen(lists_.size());
  std::unordered_set<std::string> columns;
  std::unordered_set<std::string> metrics;
  for (const Entry& entry : entries_) {
    if (has_seen[entry.names]) continue;
    has_seen[entry.names] = true;
    add_missing_names(lists_[entry.names].columns, columns, columns_);
    add_missing_names(lists_[entry.names].metrics, metrics, metrics_);
  }
}

Result<PointRows> JournalIndex::point(std::uint64_t number) {
  const Entry& entry = entries_[number];
  GOODPUT_TRY(const std::string_view line, files_.read(entry.file, entry.offset, entry.bytes));
  auto rows = reader_.point(line, JournalLineReader::Part::kAll);
  if (!rows || rows->point != number)
    return Error{fmt::format("changed at point {} while it was being read; merge again", number),
                 {.file = files_.path(entry.file)}};
  return *std::move(rows);
}

}  // namespace goodput
