#include "tools/sweep/results/point_columns.h"

#include <algorithm>
#include <string_view>

#include "sim/base/json.h"
#include "tools/sweep/results/result_names.h"

namespace goodput {
namespace {

bool is_integer_cell(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() <= INT64_MAX;
  return value.is_number_integer();
}

// Of the values of one parameter; "not set" is of any type.
ColumnType type_of(const std::vector<Json>& values) {
  const auto all = [&](auto is) {
    return std::all_of(values.begin(), values.end(),
                       [&](const Json& value) { return value.is_null() || is(value); });
  };
  if (all([](const Json&) { return false; })) return ColumnType::kText;
  if (all(is_integer_cell)) return ColumnType::kInteger;
  if (all([](const Json& value) { return value.is_number(); })) return ColumnType::kReal;
  return ColumnType::kText;
}

// `text` keeps what the cell points to.
void set_cell(const Json& value, ColumnType type, std::string& text, TableCell& cell) {
  if (value.is_null()) return;
  if (type == ColumnType::kInteger) {
    cell = value.get<std::int64_t>();
  } else if (type == ColumnType::kReal) {
    cell = value.get<double>();
  } else {
    text = value.is_string() ? value.get<std::string>() : value.dump();
    cell = std::string_view(text);
  }
}

}  // namespace

PointColumns::PointColumns(const SweepManifest& manifest, const std::vector<std::string>& names) {
  const std::size_t points = manifest.values.size();
  const std::size_t width = 1 + names.size();
  columns_.push_back({std::string(kPoint), ColumnType::kInteger});
  texts_.resize(points * width);
  cells_.resize(points * width);
  for (std::size_t point = 0; point < points; ++point)
    cells_[point * width] = static_cast<std::int64_t>(point);
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<Json> values;
    for (const std::vector<std::string>& point : manifest.values)
      values.push_back(point[i].empty() ? Json() : Json::parse(point[i]));
    columns_.push_back({names[i], type_of(values)});
    for (std::size_t point = 0; point < points; ++point) {
      const std::size_t place = point * width + 1 + i;
      set_cell(values[point], columns_.back().type, texts_[place], cells_[place]);
    }
  }
}

void PointColumns::begin_row(std::uint64_t point, std::span<TableCell> row) const {
  const std::span<const TableCell> cells = of_point(point);
  const auto behind = std::copy(cells.begin(), cells.end(), row.begin());
  std::fill(behind, row.end(), TableCell());
}

}  // namespace goodput
