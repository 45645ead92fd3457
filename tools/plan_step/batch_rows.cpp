#include "tools/plan_step/batch_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "sim/base/text.h"
#include "tools/plan_step/csv_rows.h"
#include "traces/io/byte_source.h"

namespace goodput {
namespace {

constexpr std::size_t kLargestBatch = std::size_t{1} << 26;

// The measured time of a row; none if the header has no such column or the cell is empty.
Result<std::optional<double>> measured_ms(const std::vector<std::string>& cells,
                                          const std::optional<std::size_t>& column) {
  if (!column) return std::optional<double>{};
  const std::string_view cell = trimmed(cells[*column]);
  if (cell.empty()) return std::optional<double>{};
  double value = 0;
  const auto [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (problem != std::errc{} || end != cell.data() + cell.size() || !(value > 0 && value < 1e12))
    return Error{
        fmt::format("{} must be more than 0 milliseconds, not {}", kMeasuredColumn, in_quotes(cell))};
  return std::optional(value);
}

}  // namespace

Result<BatchRows> BatchRows::open(const TrainingPlan& base, const std::string& path,
                                  std::string_view ignored) {
  BatchRows rows(path);
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  GOODPUT_TRY(std::string content, read_all(source, kLargestBatch));
  rows.content_ = std::make_unique<const std::string>(std::move(content));
  rows.rest_ = *rows.content_;
  if (rows.rest_.starts_with("\xEF\xBB\xBF")) rows.rest_.remove_prefix(3);
  rows.header_text_ = rows.row_ = rows.take_line();
  if (const Status read = rows.read_header(base, ignored); !read) return rows.error(read.error().message());
  return rows;
}

std::string_view BatchRows::take_line() {
  line_ = next_line_;
  const std::string_view before = rest_;
  const std::string_view row = take_row(rest_);
  const std::string_view taken = before.substr(0, before.size() - rest_.size());
  next_line_ += static_cast<std::size_t>(std::count(taken.begin(), taken.end(), '\n'));
  return row;
}

Status BatchRows::read_header(const TrainingPlan& base, std::string_view ignored) {
  for (const std::string& cell : cells_of(header_text_)) header_.emplace_back(trimmed(cell));
  if (const auto at = std::ranges::find(header_, kMeasuredColumn); at != header_.end())
    measured_at_ = static_cast<std::size_t>(at - header_.begin());
  if (VtrainColumns::are_in(header_)) {
    GOODPUT_TRY(vtrain_, VtrainColumns::find(header_, base));
    return Ok{};
  }
  std::vector<std::string> names = header_;
  std::ranges::replace(names, ignored, std::string{});
  GOODPUT_TRY(keys_, BatchColumns::find(names, base));
  others_ = keys_->others();
  std::erase_if(others_, [](const std::string& name) { return name.empty() || name == kMeasuredColumn; });
  return Ok{};
}

bool BatchRows::next() {
  while (!rest_.empty()) {
    row_ = take_line();
    if (!trimmed(row_).empty()) return true;
  }
  return false;
}

Result<BatchInput> BatchRows::read() const {
  const auto read_row = [this]() -> Result<BatchInput> {
    const std::vector<std::string> cells = cells_of(row_);
    if (cells.size() != header_.size())
      return Error{fmt::format("the row has {} cell{}, but the header has {}", cells.size(),
                               cells.size() == 1 ? "" : "s", header_.size())};
    GOODPUT_TRY(TrainingPlan plan, keys_ ? keys_->plan_of(cells) : vtrain_->plan_of(cells));
    GOODPUT_TRY(const std::optional<double> measured, measured_ms(cells, measured_at_));
    return BatchInput{line_, row_, std::move(plan), measured};
  };
  Result<BatchInput> row = read_row();
  if (!row) return error(row.error().message());
  return row;
}

Error BatchRows::error(std::string_view what) const {
  return {std::string(what), {.file = path_, .position = Position::line(line_)}};
}

}  // namespace goodput
