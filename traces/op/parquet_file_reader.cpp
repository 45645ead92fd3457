// Reads column by column, each in batches straight into the trace: a row group of any size needs no more
// memory.
#ifdef GOODPUT_HAVE_PARQUET

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/memory_pool.h>
#include <fmt/format.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "traces/op/op_trace_columns.h"
#include "traces/op/parquet_column.h"
#include "traces/op/parquet_file.h"

namespace goodput {
namespace {

constexpr std::int64_t kBufferBytes = 1 << 18;       // of a column's compressed bytes
constexpr std::int64_t kMostArrowBytes = 1LL << 29;  // for pages: no sane file needs as much
constexpr std::int64_t kMostRowsPerByte =
    1000;  // compresses better than any trace; a damaged footer says more
constexpr std::int32_t kMostFooterItems = 1 << 20;  // row groups, columns

bool is_integer(const parquet::ColumnDescriptor& column) {
  const auto physical = column.physical_type();
  if (physical != parquet::Type::INT32 && physical != parquet::Type::INT64) return false;
  const auto& logical = column.logical_type();
  return logical == nullptr || logical->is_none() || logical->is_int();
}

bool is_floating(const parquet::ColumnDescriptor& column) {
  const auto physical = column.physical_type();
  return physical == parquet::Type::FLOAT || physical == parquet::Type::DOUBLE;
}

bool is_string(const parquet::ColumnDescriptor& column) {
  const auto& logical = column.logical_type();
  return column.physical_type() == parquet::Type::BYTE_ARRAY &&
         (logical == nullptr || logical->is_none() || logical->is_string() || logical->is_enum());
}

std::string describe(const parquet::ColumnDescriptor& column) {
  const auto& logical = column.logical_type();
  const bool plain = logical == nullptr || logical->is_none();
  return plain ? parquet::TypeToString(column.physical_type()) : logical->ToString();
}

Status check_type(const ParquetColumn& column, const std::string& path) {
  const parquet::ColumnDescriptor& descriptor = *column.descriptor;
  const bool is_time = column.column == OpColumn::kStart || column.column == OpColumn::kDuration;
  const auto refuse = [&](std::string_view wanted) {
    return Error{fmt::format("column {} must contain {}, not {}", name_of(column.column), wanted,
                             describe(descriptor)),
                 {.file = path}};
  };
  if (column.column == OpColumn::kOptype) return is_string(descriptor) ? Status{Ok{}} : refuse("strings");
  if (is_time) return is_floating(descriptor) ? Status{Ok{}} : refuse("float or double (seconds)");
  return is_integer(descriptor) || is_floating(descriptor) ? Status{Ok{}} : refuse("integers");
}

// Our columns among the top-level columns of the file.
Result<std::vector<ParquetColumn>> find_columns(const parquet::SchemaDescriptor& schema,
                                                const std::string& path) {
  const parquet::schema::GroupNode& root = *schema.group_node();
  std::vector<std::string_view> names;
  for (int i = 0; i < root.field_count(); ++i) names.push_back(root.field(i)->name());
  GOODPUT_TRY(const OpTableLayout layout, find_op_columns(names, {.file = path}));
  std::vector<ParquetColumn> columns;
  for (std::size_t i = 0; i < kOpColumnCount; ++i) {
    const auto column = static_cast<OpColumn>(i);
    if (layout.at(column) == OpTableLayout::kAbsent) continue;
    const parquet::schema::Node& node = *root.field(layout.at(column));
    if (!node.is_primitive() || node.is_repeated()) {
      return Error{fmt::format("column {} is nested, but must have plain values", name_of(column)),
                   {.file = path}};
    }
    const int leaf = schema.ColumnIndex(node);
    columns.push_back({column, leaf, schema.Column(leaf)});
    GOODPUT_TRY_STATUS(check_type(columns.back(), path));
  }
  return columns;
}

// The columns that the file does not have.
void fill_absent_ids(OpTrace& trace) {
  const std::size_t rows = trace.step.size();
  trace.seq_id.resize(rows, kUnset);
  trace.mc.resize(rows, kUnset);
  trace.mb_id.resize(rows, kUnset);
  trace.gmc.resize(rows, kUnset);
}

// The number of rows in the file, made plausible: a damaged footer may claim any.
Result<std::int64_t> count_rows(const parquet::FileMetaData& metadata, std::int64_t bytes,
                                const std::string& path) {
  std::int64_t rows = 0;
  for (int i = 0; i < metadata.num_row_groups(); ++i) {
    const std::int64_t group_rows = metadata.RowGroup(i)->num_rows();
    if (group_rows < 0 || group_rows > bytes * kMostRowsPerByte - rows) {
      return Error{fmt::format("claims {} rows in {} bytes: the file is damaged", group_rows, bytes),
                   {.file = path}};
    }
    rows += group_rows;
  }
  return rows;
}

parquet::ReaderProperties reader_properties(arrow::MemoryPool& pool) {
  parquet::ReaderProperties properties(&pool);
  properties.enable_buffered_stream();
  properties.set_buffer_size(kBufferBytes);
  properties.set_thrift_container_size_limit(kMostFooterItems);
  properties.set_page_checksum_verification(true);
  return properties;
}

// Takes the rows out that are to be left out, and counts those that are not counted yet, and the negative
// durations.
void settle_rows(ParquetRows& rows, const ParquetPlace& place) {
  OpTrace& trace = rows.trace;
  for (const std::size_t row : rows.unknown_types)
    rows.intake.count(CleaningRule::kUnknownOps, 0, trace.step[row]);
  for (const std::size_t row : rows.damaged) {
    if (rows.unknown.contains(row)) continue;
    OpRow probe;
    probe.start_s = trace.start_s[row];
    probe.duration_s = trace.duration_s[row];
    rows.intake.count_at(CleaningRule::kDamagedRows, place.position(row),
                         problem_with(probe).value_or("is damaged"), trace.step[row]);
  }
  rows.unknown.merge(rows.damaged);
  auto next = rows.unknown.begin();
  std::vector<bool> kept(trace.size() - place.first_row, true);
  for (; next != rows.unknown.end(); ++next) kept[*next - place.first_row] = false;
  for (std::size_t row = place.first_row; row < trace.size(); ++row) {
    if (trace.duration_s[row] < 0 && kept[row - place.first_row])
      rows.intake.count(CleaningRule::kNegativeDurations, 1, trace.step[row]);
  }
  if (!rows.unknown.empty()) keep_rows(trace, place.first_row, kept);
}

Result<FileNotes> append_rows(parquet::ParquetFileReader& file, std::int64_t bytes, const std::string& path,
                              TraceIntake& intake) {
  const parquet::FileMetaData& metadata = *file.metadata();
  GOODPUT_TRY(const std::vector<ParquetColumn> columns, find_columns(*metadata.schema(), path));
  GOODPUT_TRY(const std::int64_t row_count, count_rows(metadata, bytes, path));
  ParquetRows rows(intake);
  // A row of a real trace takes a byte and more; beyond, the columns grow as they are read.
  rows.trace.reserve(rows.trace.size() + static_cast<std::size_t>(std::min(row_count, bytes)));
  const ParquetPlace place{path, rows.trace.size()};
  for (int i = 0; i < metadata.num_row_groups(); ++i) {
    const auto group = file.RowGroup(i);
    for (const ParquetColumn& column : columns) {
      const auto reader = group->Column(column.leaf);
      GOODPUT_TRY_STATUS(read_parquet_column(*reader, column, group->metadata()->num_rows(), place, rows));
    }
  }
  const auto has = [&](OpColumn wanted) {
    return std::ranges::find(columns, wanted, &ParquetColumn::column) != columns.end();
  };
  if (has(OpColumn::kSeqId) && !has(OpColumn::kGmc)) intake.note_absent_chunks();
  fill_absent_ids(rows.trace);
  settle_rows(rows, place);
  FileNotes notes;
  if (rows.ignored_metrics > 0) {
    notes.push_back(fmt::format("{}: ignored rows of metrics that are not ops of a step: {}", path,
                                rows.ignored_metrics));
  }
  return notes;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// `open(properties)` opens the file.
template <typename Open>
Result<FileNotes> append_opened(const std::string& path, std::int64_t bytes, TraceIntake& intake, Open open) {
  try {
    arrow::CappedMemoryPool pool(arrow::system_memory_pool(), kMostArrowBytes);
    const std::unique_ptr<parquet::ParquetFileReader> file = open(reader_properties(pool));
    return append_rows(*file, bytes, path, intake);
  } catch (const std::exception& error) {
    return Error{fmt::format("cannot read as Parquet: {}", one_line(error.what())), {.file = path}};
  }
}

}  // namespace

Result<FileNotes> append_parquet_file(const std::string& path, TraceIntake& intake) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    return Error{
        "Parquet cannot be read from a pipe, because it needs the end of the file first; write it to a file",
        {.file = path}};
  }
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, ignored));
  return append_opened(path, bytes, intake, [&](const parquet::ReaderProperties& properties) {
    return parquet::ParquetFileReader::OpenFile(path, /*memory_map=*/false, properties);
  });
}

Result<FileNotes> append_parquet_bytes(std::string bytes, const std::string& path, TraceIntake& intake) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  const auto buffer = arrow::Buffer::FromString(std::move(bytes));
  return append_opened(path, size, intake, [&](const parquet::ReaderProperties& properties) {
    return parquet::ParquetFileReader::Open(std::make_shared<arrow::io::BufferReader>(buffer), properties);
  });
}

}  // namespace goodput

#endif  // GOODPUT_HAVE_PARQUET
