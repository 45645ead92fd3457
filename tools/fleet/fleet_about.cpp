#include "tools/fleet/fleet_about.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "sim/base/text.h"
#include "traces/io/byte_source.h"
#include "traces/io/csv_lines.h"

namespace goodput {
namespace {

constexpr std::array<std::string_view, 4> kAboutColumns = {"job", "gpus", "gpu_hours", "restarts"};
constexpr std::size_t kGpus = 1;
constexpr std::size_t kGpuHours = 2;
constexpr std::size_t kRestarts = 3;
constexpr double kLargestAbout = 1e15;

// A number of a column of kAboutColumns.
Result<double> about_number(std::size_t column, std::string_view text) {
  const double least = column == kGpus ? 1 : 0;
  const bool is_whole = column != kGpuHours;
  const std::optional<double> number = parse_number(text);
  if (number && *number >= least && *number <= kLargestAbout && (!is_whole || *number == std::floor(*number)))
    return *number;
  return Error{fmt::format("{} must be a {} of {} or more, not {}", kAboutColumns[column],
                           is_whole ? "whole number" : "number", least, in_quotes(text))};
}

// Hours are those of the clock times the GPUs, so other GPUs mean other hours.
void set_gpus(FleetJob& job, double gpus) {
  if (job.gpu_hours && job.gpus) *job.gpu_hours *= gpus / static_cast<double>(*job.gpus);
  job.gpus = static_cast<std::int64_t>(gpus);
}

struct AboutJob {
  std::array<std::optional<double>, kAboutColumns.size()> values{};  // but of the first column
  std::size_t line = 0;
  bool is_used = false;
};

class AboutTable {
 public:
  Status take(std::string_view line, std::size_t number) {
    if (number == 1) return take_header(without_byte_order_mark(line));
    if (without_line_end(line).empty()) return Ok{};
    const auto fields = split_csv(line);
    if (!fields) return Error{std::string(kUnclosedQuote)};
    if (fields->size() != columns_)
      return Error{fmt::format("expected {} fields, found {}", columns_, fields->size())};
    AboutJob about;
    about.line = number;
    for (std::size_t i = 1; i < kAboutColumns.size(); ++i) {
      const std::string_view text = at_[i] ? (*fields)[*at_[i]] : std::string_view{};
      if (text.empty()) continue;
      GOODPUT_TRY(about.values[i], about_number(i, text));
    }
    const std::string name = on_one_line((*fields)[*at_[0]]);
    const auto [same, is_new] = jobs_.emplace(name, about);
    if (is_new) return Ok{};
    return Error{fmt::format("job {} is also in line {}; remove one of the two lines", in_quotes(name),
                             same->second.line)};
  }

  void tell(FleetJob& job) {
    const auto found = jobs_.find(job.name);
    if (found == jobs_.end()) {
      ++untold_;
      return;
    }
    AboutJob& about = found->second;
    about.is_used = true;
    if (about.values[kGpus]) set_gpus(job, *about.values[kGpus]);
    if (about.values[kGpuHours]) {
      job.gpu_hours = about.values[kGpuHours];
      job.hours_of = HoursOf::kTable;
    }
    if (about.values[kRestarts]) job.restarts = static_cast<std::int64_t>(*about.values[kRestarts]);
  }

  [[nodiscard]] std::vector<std::string> notes(const std::string& file) const {
    std::vector<std::string> notes;
    const auto unused =
        std::count_if(jobs_.begin(), jobs_.end(), [](const auto& job) { return !job.second.is_used; });
    if (unused > 0)
      notes.push_back(fmt::format("{}: number of jobs in this table that are not among the analyzed jobs: {}",
                                  file, unused));
    if (untold_ > 0)
      notes.push_back(
          fmt::format("{}: number of analyzed jobs without a line in this table: {}", file, untold_));
    return notes;
  }

 private:
  Status take_header(std::string_view line) {
    const auto names = split_csv(line);
    if (!names) return Error{std::string(kUnclosedQuote)};
    columns_ = names->size();
    for (std::size_t i = 0; i < kAboutColumns.size(); ++i) {
      const auto found = std::find(names->begin(), names->end(), kAboutColumns[i]);
      if (found != names->end()) at_[i] = static_cast<std::size_t>(found - names->begin());
    }
    if (at_[0] && (at_[1] || at_[2] || at_[3])) return Ok{};
    return Error{"must have a column job and at least one of gpus, gpu_hours, restarts"};
  }

  std::size_t columns_ = 0;
  std::array<std::optional<std::size_t>, kAboutColumns.size()> at_{};
  std::map<std::string, AboutJob> jobs_;
  std::size_t untold_ = 0;
};

}  // namespace

Result<std::vector<std::string>> tell_about_jobs(const std::string& file, std::vector<FleetJob>& jobs) {
  GOODPUT_TRY(ByteSource source, ByteSource::open(file));
  AboutTable table;
  GOODPUT_TRY_STATUS(for_each_line(source, kCsvBlockBytes, [&](std::string_view line, std::size_t number) {
    return table.take(line, number);
  }));
  for (FleetJob& job : jobs) table.tell(job);
  return table.notes(file);
}

}  // namespace goodput
