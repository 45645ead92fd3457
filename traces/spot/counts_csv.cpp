// Neutral spot counts: `t_s,count`, optionally `usd_per_node_hour`. A row holds until the next one; the last
// one ends the recording. The column of the count is called `held` or `probe` where that is known. An empty
// count: nothing is known until the next row. An empty price: as before.
//
// A file may list changes only, or every observation. It lists observations when a row between its first and
// last repeats the one before; when these come at a constant pace too, a missing one is a hole.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "traces/io/byte_sink.h"
#include "traces/io/csv_lines.h"
#include "traces/spot/count_changes.h"
#include "traces/spot/spot_columns.h"
#include "traces/spot/spot_fields.h"
#include "traces/spot/spot_format.h"

namespace goodput {
namespace {

enum Column : std::size_t { kTime, kHeld, kProbe, kCount, kPrice };
constexpr std::array<std::string_view, 5> kCountsColumns = {
    kSpotTimeColumn, kSpotMeaningNames[0], kSpotMeaningNames[1], "count", "usd_per_node_hour"};
using Fields = std::array<std::string_view, kCountsColumns.size()>;

bool has(const std::vector<std::size_t>& columns, Column column) {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

// Which of held, probe and count there is. Nothing: none or several.
std::optional<Column> count_column(const std::vector<std::size_t>& columns) {
  std::optional<Column> found;
  for (const Column column : {kHeld, kProbe, kCount}) {
    if (!has(columns, column)) continue;
    if (found) return std::nullopt;
    found = column;
  }
  return found;
}

Result<std::vector<std::size_t>> parse_counts_header(std::string_view line) {
  GOODPUT_TRY(auto columns, parse_spot_header(line, kCountsColumns));
  if (has(columns, kTime) && count_column(columns)) return columns;
  return Error{"expected the columns t_s, one of count, held and probe, and optionally usd_per_node_hour"};
}

// Observations at a constant pace: at least 3 of 4 gaps are within a tenth of the middle one. Zero: no such
// pace.
SimDuration pace_of(std::vector<SimDuration> gaps) {
  if (gaps.size() < 3) return {};
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  const SimDuration pace = *middle;
  const auto near = std::count_if(gaps.begin(), gaps.end(), [&](SimDuration gap) {
    return gap >= pace - pace / 10 && gap <= pace + pace / 10;
  });
  return static_cast<std::size_t>(near) * 4 >= gaps.size() * 3 ? pace : SimDuration{};
}

class CountRows {
 public:
  explicit CountRows(Column column) : column_(column) {}

  [[nodiscard]] bool empty() const { return rows_.empty(); }

  Status add(const Fields& fields) {
    GOODPUT_TRY(const SimTime time,
                parse_spot_time(fields[kTime], std::chrono::seconds{1}, kCountsColumns[kTime]));
    GOODPUT_TRY_STATUS(check_time(time, fields[kTime]));
    const std::size_t known = trace_.counts.size() + trace_.prices.size();
    if (!fields[kPrice].empty()) {
      GOODPUT_TRY(const double price, parse_spot_price(fields[kPrice], kCountsColumns[kPrice]));
      append_spot_price(trace_, time, price);
    }
    const bool is_known = !fields[column_].empty();
    if (is_known) {
      GOODPUT_TRY(const std::int32_t count, parse_spot_count(fields[column_], kCountsColumns[column_]));
      append_spot_count(trace_, time, count);
    } else if (rows_.empty()) {
      return Error{"the first row has no count; begin the recording at the first known count"};
    }
    if (last_repeats_) lists_observations_ = true;
    last_repeats_ = is_known && !rows_.empty() && rows_.back().is_known &&
                    trace_.counts.size() + trace_.prices.size() == known;
    rows_.push_back({time, is_known});
    return Ok{};
  }

  [[nodiscard]] SpotTrace finish() && {
    trace_.end = rows_.back().time;
    add_holes();
    return std::move(trace_);
  }

 private:
  struct Row {
    SimTime time{};
    bool is_known = false;  // has a count
  };

  [[nodiscard]] Status check_time(SimTime time, std::string_view text) const {
    if (rows_.empty() && time != SimTime{}) {
      return Error{fmt::format(
          "the first row must be at 0 s, not {} s, because t_s counts from the start of the recording",
          text)};
    }
    if (!rows_.empty() && time <= rows_.back().time) {
      std::string last;
      append_spot_seconds(last, rows_.back().time);
      return Error{
          fmt::format("{} s comes after {} s; sort the rows by time, with one row per time", text, last)};
    }
    if (rows_.size() == kMostSpotRows) return Error{fmt::format("has more than {} rows", kMostSpotRows)};
    return Ok{};
  }

  [[nodiscard]] SimDuration pace() const {
    if (!lists_observations_) return {};
    std::vector<SimDuration> gaps;
    for (std::size_t i = 1; i < rows_.size(); ++i) gaps.push_back(rows_[i].time - rows_[i - 1].time);
    return pace_of(std::move(gaps));
  }

  void add_holes() {
    const SimDuration tick = pace();
    for (std::size_t i = 1; i < rows_.size(); ++i) {
      const Row& before = rows_[i - 1];
      const SimDuration gap = rows_[i].time - before.time;
      const bool misses_ticks = tick > SimDuration{} && gap > tick + tick / 2;
      if (before.is_known && !misses_ticks) continue;
      const SimTime begin = before.is_known ? before.time + tick : before.time;
      const bool goes_on = !trace_.holes.empty() && trace_.holes.back().end == begin;
      if (goes_on)
        trace_.holes.back().end = rows_[i].time;
      else
        trace_.holes.push_back({begin, rows_[i].time});
    }
  }

  Column column_;
  SpotTrace trace_;
  std::vector<Row> rows_;
  bool last_repeats_ = false;  // the last row says what the one before it said
  bool lists_observations_ = false;
};

std::optional<SpotMeaning> meaning_of(Column column) {
  if (column == kCount) return std::nullopt;
  return column == kHeld ? SpotMeaning::kHeld : SpotMeaning::kProbe;
}

Result<SpotContent> read_counts_csv(ByteSource& source, const SpotOptions& options) {
  GOODPUT_TRY_STATUS(refuse_preempted(options, source.path()));
  std::vector<std::size_t> columns;
  std::optional<CountRows> rows;
  const auto take = [&](std::string_view line, std::size_t) -> Status {
    if (!rows) {
      GOODPUT_TRY(columns, parse_counts_header(line));
      rows.emplace(*count_column(columns));
      return Ok{};
    }
    if (line.empty()) return Ok{};
    Fields fields;
    GOODPUT_TRY_STATUS(split_spot_row(line, columns, fields));
    return rows->add(fields);
  };
  GOODPUT_TRY_STATUS(for_each_line(source, kSpotBlockBytes, take));
  if (!rows || rows->empty())
    return Error{"has no rows; was the recording cut off?", {.file = source.path()}};
  return SpotContent{.trace = std::move(*rows).finish(),
                     .stated_meaning = meaning_of(*count_column(columns))};
}

bool is_counts_csv(std::string_view head) {
  const auto names = spot_header(head);
  const auto named = [&](Column column) {
    return std::find(names.begin(), names.end(), kCountsColumns[column]) != names.end();
  };
  return named(kTime) || (names.size() <= 3 && (named(kCount) || named(kHeld) || named(kProbe)));
}

// ---- Writing.

// When a count or price changes, or a hole begins or ends.
std::vector<SimTime> row_times(const SpotTrace& trace, const std::vector<SpotCount>& counts) {
  std::vector<SimTime> times = {trace.end};
  for (const SpotCount& count : counts) times.push_back(count.time);
  for (const SpotPrice& price : trace.prices) times.push_back(price.time);
  for (const SpotHole& hole : trace.holes) times.insert(times.end(), {hole.begin, hole.end});
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

// The last step at or before the times that are asked for, which ascend.
template <typename Step>
class Cursor {
 public:
  explicit Cursor(const std::vector<Step>& steps) : steps_(steps) {}
  const Step* at(SimTime time) {
    while (next_ < steps_.size() && steps_[next_].time <= time) ++next_;
    return next_ == 0 ? nullptr : &steps_[next_ - 1];
  }

 private:
  const std::vector<Step>& steps_;
  std::size_t next_ = 0;
};

bool is_in_hole(const std::vector<SpotHole>& holes, SimTime time) {
  const auto behind = std::upper_bound(holes.begin(), holes.end(), time,
                                       [](SimTime at, const SpotHole& hole) { return at < hole.begin; });
  return behind != holes.begin() && time < std::prev(behind)->end;
}

Status write_counts_csv(const SpotTrace& trace, const std::string& path, std::string_view final_path) {
  GOODPUT_TRY(ByteSink file, ByteSink::open(path, final_path));
  const std::vector<SpotCount> counts = spot_counts(trace);
  Cursor count_at(counts);
  Cursor price_at(trace.prices);
  std::string text = fmt::format("{},{}{}\n", kCountsColumns[kTime],
                                 kSpotMeaningNames[static_cast<std::size_t>(trace.meaning)],
                                 trace.prices.empty() ? "" : ",usd_per_node_hour");
  for (const SimTime time : row_times(trace, counts)) {
    append_spot_seconds(text, time);
    const SpotCount* count = count_at.at(time);
    const SpotPrice* price = price_at.at(time);
    text += is_in_hole(trace.holes, time) ? "," : fmt::format(",{}", count->count);
    if (!trace.prices.empty()) text += price == nullptr ? "," : fmt::format(",{}", price->usd_per_node_hour);
    text += '\n';
    GOODPUT_TRY_STATUS(file.write_if_full(text, kCsvBlockBytes));
  }
  GOODPUT_TRY_STATUS(file.write(text));
  return file.close();
}

}  // namespace

SpotFormat spot_format_counts_csv() {
  return {.name = "counts_csv",
          .summary =
              "spot counts: t_s,count and optionally usd_per_node_hour; a column held or probe instead of "
              "count states what was counted",
          .extensions = {".csv", ".csv.gz"},
          .matches = is_counts_csv,
          .read = read_counts_csv,
          .write = write_counts_csv};
}

}  // namespace goodput
