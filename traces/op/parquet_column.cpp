#ifdef GOODPUT_HAVE_PARQUET

#include "traces/op/parquet_column.h"

#include <fmt/format.h>
#include <parquet/column_reader.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "traces/op/ndtimeline_names.h"

namespace goodput {
namespace {

constexpr std::int64_t kBatchRows = 1 << 15;

bool is_unsigned(const parquet::ColumnDescriptor& column) {
  const auto& logical = column.logical_type();
  return logical != nullptr && logical->is_int() &&
         !static_cast<const parquet::IntLogicalType&>(*logical).is_signed();
}

// Calls `take(values, row)` for the runs of values and `take_null(row)` for the nulls between them.
template <typename Value, typename Take, typename TakeNull>
Status take_runs(std::span<const Value> values, std::span<const std::int16_t> levels, std::size_t row,
                 Take take, TakeNull take_null) {
  for (std::size_t i = 0; i < levels.size();) {
    if (levels[i] == 0) {
      GOODPUT_TRY_STATUS(take_null(row + i));
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < levels.size() && levels[end] != 0) ++end;
    GOODPUT_TRY_STATUS(take(values.first(end - i), row + i));
    values = values.subspan(end - i);
    i = end;
  }
  return Ok{};
}

// Reads all values of a column chunk and hands them to `take(values, row)` in batches, nulls to
// `take_null(row)`.
template <typename ParquetType, typename Take, typename TakeNull>
Status read_chunk(parquet::ColumnReader& untyped, const ParquetColumn& column, std::int64_t rows,
                  std::size_t row, const ParquetPlace& place, Take take, TakeNull take_null) {
  auto& reader = static_cast<parquet::TypedColumnReader<ParquetType>&>(untyped);
  std::vector<typename ParquetType::c_type> values(kBatchRows);
  const bool nullable = column.descriptor->max_definition_level() > 0;
  std::vector<std::int16_t> levels(nullable ? kBatchRows : 0);
  while (rows > 0) {
    std::int64_t value_count = 0;
    const std::int64_t count = reader.ReadBatch(
        std::min(rows, kBatchRows), nullable ? levels.data() : nullptr, nullptr, values.data(), &value_count);
    if (count <= 0 || value_count > count || (!nullable && value_count != count)) {
      return place.at(row, fmt::format("column {} ends early: the file is damaged", name_of(column.column)));
    }
    const std::span<const typename ParquetType::c_type> read(values.data(),
                                                             static_cast<std::size_t>(value_count));
    if (value_count < count) {
      const std::span<const std::int16_t> defined(levels.data(), static_cast<std::size_t>(count));
      if (std::ranges::count(defined, 0) != count - value_count) {
        return place.at(row,
                        fmt::format("column {} ends early: the file is damaged", name_of(column.column)));
      }
      GOODPUT_TRY_STATUS(take_runs(read, defined, row, take, take_null));
    } else {
      GOODPUT_TRY_STATUS(take(read, row));
    }
    row += static_cast<std::size_t>(count);
    rows -= count;
  }
  return Ok{};
}

Error null_value(const ParquetColumn& column, std::size_t row, const ParquetPlace& place) {
  return place.at(row, fmt::format("{} is null", name_of(column.column)));
}

// What OpTrace says about a row that is fine but for this integer.
Error bad_integer(const ParquetColumn& column, std::int64_t value, std::size_t row,
                  const ParquetPlace& place) {
  OpRow probe;
  probe.*kOpRowIntegers[index_of(column.column)] = value;
  return place.at(row, problem_with(probe).value_or("is damaged"));
}

std::int64_t lowest_of(OpColumn column) {
  OpRow probe;
  probe.*kOpRowIntegers[index_of(column)] = kUnset;
  return problem_with(probe) ? 0 : kUnset;
}

// Narrows `values` into `target`. One loop converts and gathers the extremes; only when they are out of range
// another looks for the culprit.
template <typename Value, typename Target>
Status take_integers(std::span<const Value> values, std::vector<Target>& target, const ParquetColumn& column,
                     std::size_t row, const ParquetPlace& place) {
  const std::int64_t low =
      column.column == OpColumn::kStep ? std::numeric_limits<std::int64_t>::min() : lowest_of(column.column);
  // One below the largest number, as in OpTrace::append(), but for steps, which are not counted from 0.
  constexpr bool kIsStep = sizeof(Target) == sizeof(std::int64_t);
  constexpr auto kHigh = std::uint64_t{std::numeric_limits<Target>::max()} - (kIsStep ? 0 : 1);
  const auto in_range = [&](Value value) {
    return std::cmp_greater_equal(value, low) && std::cmp_less_equal(value, kHigh);
  };
  bool all_in_range = true;
  const std::size_t old_size = target.size();
  target.resize(old_size + values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    all_in_range &= in_range(values[i]);
    target[old_size + i] = static_cast<Target>(values[i]);
  }
  if (all_in_range) return Ok{};
  const auto bad = std::find_if_not(values.begin(), values.end(), in_range);
  const std::size_t bad_row = row + static_cast<std::size_t>(bad - values.begin());
  if (std::cmp_greater(*bad, std::numeric_limits<std::int64_t>::max())) {
    return place.at(bad_row, fmt::format("{} is {}, which is too large", name_of(column.column), *bad));
  }
  return bad_integer(column, static_cast<std::int64_t>(*bad), bad_row, place);
}

// A row that is fine but for this time.
OpRow row_of_time(double value, OpColumn column) {
  OpRow probe;
  (column == OpColumn::kStart ? probe.start_s : probe.duration_s) = value;
  return probe;
}

std::optional<std::string> problem_with_time(double value, OpColumn column) {
  return problem_with(row_of_time(value, column));
}

// Appends `values` to `target`. When neither extreme is out of range and no value is NaN, none is out of
// range. Rows of damaged times are noted, unless strict.
template <typename Value>
Status take_times(std::span<const Value> values, std::vector<double>& target, const ParquetColumn& column,
                  std::size_t row, const ParquetPlace& place, ParquetRows& rows) {
  double low = 0;
  double high = 0;
  bool any_nan = false;
  for (const Value value : values) {
    low = value < low ? value : low;
    high = value > high ? value : high;
    any_nan |= value != value;
  }
  if (any_nan || problem_with_time(low, column.column) || problem_with_time(high, column.column)) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const OpRow probe = row_of_time(static_cast<double>(values[i]), column.column);
      auto problem = problem_with(probe);
      if (problem && (rows.intake.is_strict() || !is_damaged(probe)))
        return place.at(row + i, *std::move(problem));
      if (problem) rows.damaged.insert(row + i);
    }
  }
  target.insert(target.end(), values.begin(), values.end());
  return Ok{};
}

// The same of values in another unit.
template <typename Value>
Status take_scaled_times(std::span<const Value> values, std::vector<double>& target,
                         const ParquetColumn& column, std::size_t row, const ParquetPlace& place,
                         ParquetRows& rows) {
  const double unit = rows.intake.seconds_per_unit();
  if (unit == 1) return take_times(values, target, column, row, place, rows);
  std::vector<double> seconds(values.begin(), values.end());
  for (double& value : seconds) value *= unit;
  return take_times(std::span<const double>(seconds), target, column, row, place, rows);
}

// The strings of a batch point into a dictionary or a page: equal pointers mean equal names until the next
// batch.
class OpTypeNames {
 public:
  std::optional<OpType> find(const parquet::ByteArray& name) {
    Known& known = known_[(reinterpret_cast<std::uintptr_t>(name.ptr) >> 2) % known_.size()];
    if (known.data == name.ptr && known.size == name.len) return known.type;
    const auto type = find_metric({reinterpret_cast<const char*>(name.ptr), name.len});
    if (type) known = {name.ptr, name.len, *type};
    return type;
  }

 private:
  struct Known {
    const std::uint8_t* data = nullptr;
    std::uint32_t size = 0;
    OpType type{};
  };
  std::array<Known, 64> known_{};
};

// What is wrong with a name that is no op type; nothing when its row is to be left out.
std::optional<std::string> settle_unknown(std::string_view name, std::size_t row, ParquetRows& rows) {
  if (rows.intake.is_strict()) return unknown_op_type(name);
  if (is_ignored_metric(name)) {
    ++rows.ignored_metrics;
  } else if (!rows.intake.skips(name)) {
    return unknown_metric(name);
  } else {
    rows.unknown_types.push_back(row);
  }
  rows.unknown.insert(rows.unknown.end(), row);
  return std::nullopt;
}

Status take_optypes(std::span<const parquet::ByteArray> values, std::size_t row, const ParquetPlace& place,
                    ParquetRows& rows) {
  OpTypeNames names;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto type = names.find(values[i]);
    if (!type) {
      auto problem =
          settle_unknown({reinterpret_cast<const char*>(values[i].ptr), values[i].len}, row + i, rows);
      if (problem) return place.at(row + i, *std::move(problem));
    }
    rows.trace.optype.push_back(type.value_or(OpType{}));
  }
  return Ok{};
}

// What becomes of a null among integers.
template <typename Target>
Status take_null_integer(std::vector<Target>& target, const ParquetColumn& column, std::size_t row,
                         const ParquetPlace& place, TraceIntake& intake) {
  const OpColumn id = column.column;
  if (id != OpColumn::kMc && id != OpColumn::kMbId && id != OpColumn::kGmc)
    return null_value(column, row, place);
  intake.note_absent_chunks();
  target.push_back(static_cast<Target>(kUnset));
  return Ok{};
}

// Integers that are stored as floating-point numbers, as tables with nulls often are; NaN is a null.
template <typename Value, typename Target>
Status take_whole_numbers(std::span<const Value> values, std::vector<Target>& target,
                          const ParquetColumn& column, std::size_t row, const ParquetPlace& place,
                          TraceIntake& intake) {
  constexpr double kExact = 9007199254740992;  // 2^53
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>(values[i]);
    if (std::isnan(value)) {
      GOODPUT_TRY_STATUS(take_null_integer(target, column, row + i, place, intake));
      continue;
    }
    if (!(std::abs(value) < kExact) || std::trunc(value) != value) {
      return place.at(row + i, fmt::format("{} must be an integer, not {}", name_of(column.column), value));
    }
    const auto whole = static_cast<std::int64_t>(value);
    GOODPUT_TRY_STATUS(
        take_integers(std::span<const std::int64_t>(&whole, 1), target, column, row + i, place));
  }
  return Ok{};
}

// Reads a chunk of integers stored as `ParquetType` that mean `Value`s (the same, or its unsigned twin).
template <typename ParquetType, typename Value, typename Target>
Status read_integers_as(parquet::ColumnReader& reader, const ParquetColumn& column, std::int64_t count,
                        std::vector<Target>& target, const ParquetPlace& place, TraceIntake& intake) {
  return read_chunk<ParquetType>(
      reader, column, count, target.size(), place,
      [&](auto values, std::size_t row) {
        if constexpr (std::is_floating_point_v<Value>) {
          return take_whole_numbers(values, target, column, row, place, intake);
        } else {
          // Signed and unsigned types of a size may alias.
          const std::span<const Value> meant(reinterpret_cast<const Value*>(values.data()), values.size());
          return take_integers(meant, target, column, row, place);
        }
      },
      [&](std::size_t row) { return take_null_integer(target, column, row, place, intake); });
}

template <typename Target>
Status read_integers(parquet::ColumnReader& reader, const ParquetColumn& column, std::int64_t count,
                     std::vector<Target>& target, const ParquetPlace& place, TraceIntake& intake) {
  const auto read = [&]<typename ParquetType, typename Value>() {
    return read_integers_as<ParquetType, Value>(reader, column, count, target, place, intake);
  };
  const bool is_without_sign = is_unsigned(*column.descriptor);
  switch (column.descriptor->physical_type()) {
    case parquet::Type::FLOAT:
      return read.template operator()<parquet::FloatType, float>();
    case parquet::Type::DOUBLE:
      return read.template operator()<parquet::DoubleType, double>();
    case parquet::Type::INT32:
      return is_without_sign ? read.template operator()<parquet::Int32Type, std::uint32_t>()
                             : read.template operator()<parquet::Int32Type, std::int32_t>();
    default:
      return is_without_sign ? read.template operator()<parquet::Int64Type, std::uint64_t>()
                             : read.template operator()<parquet::Int64Type, std::int64_t>();
  }
}

Status read_times(parquet::ColumnReader& reader, const ParquetColumn& column, std::int64_t count,
                  std::vector<double>& target, const ParquetPlace& place, ParquetRows& rows) {
  const auto take = [&](auto values, std::size_t row) {
    return take_scaled_times(std::span<const typename decltype(values)::value_type>(values), target, column,
                             row, place, rows);
  };
  const auto take_null = [&](std::size_t row) -> Status {
    if (rows.intake.is_strict()) return null_value(column, row, place);
    rows.damaged.insert(row);
    target.push_back(std::numeric_limits<double>::quiet_NaN());
    return Ok{};
  };
  return column.descriptor->physical_type() == parquet::Type::FLOAT
             ? read_chunk<parquet::FloatType>(reader, column, count, target.size(), place, take, take_null)
             : read_chunk<parquet::DoubleType>(reader, column, count, target.size(), place, take, take_null);
}

Status read_optypes(parquet::ColumnReader& reader, const ParquetColumn& column, std::int64_t count,
                    const ParquetPlace& place, ParquetRows& rows) {
  return read_chunk<parquet::ByteArrayType>(
      reader, column, count, rows.trace.optype.size(), place,
      [&](std::span<const parquet::ByteArray> values, std::size_t row) {
        return take_optypes(values, row, place, rows);
      },
      [&](std::size_t row) -> Status { return null_value(column, row, place); });
}

}  // namespace

Status read_parquet_column(parquet::ColumnReader& reader, const ParquetColumn& column, std::int64_t count,
                           const ParquetPlace& place, ParquetRows& rows) {
  OpTrace& trace = rows.trace;
  switch (column.column) {
    case OpColumn::kDpRank:
      return read_integers(reader, column, count, trace.dp_rank, place, rows.intake);
    case OpColumn::kStage:
      return read_integers(reader, column, count, trace.stage, place, rows.intake);
    case OpColumn::kRank:
      return read_integers(reader, column, count, trace.rank, place, rows.intake);
    case OpColumn::kStep:
      return read_integers(reader, column, count, trace.step, place, rows.intake);
    case OpColumn::kOptype:
      return read_optypes(reader, column, count, place, rows);
    case OpColumn::kStart:
      return read_times(reader, column, count, trace.start_s, place, rows);
    case OpColumn::kDuration:
      return read_times(reader, column, count, trace.duration_s, place, rows);
    case OpColumn::kSeqId:
      return read_integers(reader, column, count, trace.seq_id, place, rows.intake);
    case OpColumn::kMc:
      return read_integers(reader, column, count, trace.mc, place, rows.intake);
    case OpColumn::kMbId:
      return read_integers(reader, column, count, trace.mb_id, place, rows.intake);
    case OpColumn::kGmc:
      return read_integers(reader, column, count, trace.gmc, place, rows.intake);
  }
  return Ok{};
}

}  // namespace goodput

#endif  // GOODPUT_HAVE_PARQUET
