#ifdef GOODPUT_HAVE_PARQUET

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <fmt/format.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <algorithm>
#include <utility>

#include "traces/table/table.h"

namespace goodput {
namespace {

// Of a row group, which is in memory until it is written.
constexpr std::size_t kMostCells = std::size_t{1} << 22;
constexpr std::size_t kMostRows = std::size_t{1} << 16;

std::shared_ptr<arrow::DataType> arrow_type(ColumnType type) {
  switch (type) {
    case ColumnType::kInteger:
      return arrow::int64();
    case ColumnType::kReal:
      return arrow::float64();
    case ColumnType::kBoolean:
      return arrow::boolean();
    case ColumnType::kText:
      break;
  }
  return arrow::utf8();
}

arrow::Status append_cell(const TableCell& cell, arrow::ArrayBuilder& builder) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell))
    return static_cast<arrow::Int64Builder&>(builder).Append(*integer);
  if (const auto* real = std::get_if<double>(&cell))
    return static_cast<arrow::DoubleBuilder&>(builder).Append(*real);
  if (const auto* truth = std::get_if<bool>(&cell))
    return static_cast<arrow::BooleanBuilder&>(builder).Append(*truth);
  if (const auto* text = std::get_if<std::string_view>(&cell))
    return static_cast<arrow::StringBuilder&>(builder).Append(*text);
  return builder.AppendNull();
}

// Arrow tells what went wrong as a status, or throws.
template <typename Act>
Status done_by_arrow(const std::string& path, Act act) {
  try {
    const arrow::Status status = act();
    if (!status.ok()) return Error{fmt::format("cannot write: {}", status.message()), {.file = path}};
    return Ok{};
  } catch (const std::exception& error) {
    return Error{fmt::format("cannot write: {}", error.what()), {.file = path}};
  }
}

class ParquetTable final : public TableWriter {
 public:
  explicit ParquetTable(std::string path) : path_(std::move(path)) {}

  Status open(std::span<const TableColumn> columns) {
    return done_by_arrow(path_, [&] { return start(columns); });
  }
  Status add(std::span<const TableCell> row) override {
    return done_by_arrow(path_, [&] { return append(row); });
  }
  Status close() override {
    return done_by_arrow(path_, [&] { return finish(); });
  }

 private:
  arrow::Status start(std::span<const TableColumn> columns) {
    arrow::FieldVector fields;
    for (const TableColumn& column : columns)
      fields.push_back(arrow::field(column.name, arrow_type(column.type)));
    schema_ = arrow::schema(std::move(fields));
    for (const auto& field : schema_->fields()) {
      ARROW_ASSIGN_OR_RAISE(auto builder, arrow::MakeBuilder(field->type()));
      builders_.push_back(std::move(builder));
    }
    group_rows_ = std::clamp(kMostCells / columns.size(), std::size_t{1}, kMostRows);
    ARROW_ASSIGN_OR_RAISE(file_, arrow::io::FileOutputStream::Open(path_));
    const auto properties = parquet::WriterProperties::Builder()
                                .compression(arrow::Compression::SNAPPY)
                                ->max_row_group_length(static_cast<std::int64_t>(group_rows_))
                                ->build();
    const auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    ARROW_ASSIGN_OR_RAISE(writer_, parquet::arrow::FileWriter::Open(*schema_, arrow::system_memory_pool(),
                                                                    file_, properties, arrow_properties));
    return arrow::Status::OK();
  }

  arrow::Status append(std::span<const TableCell> row) {
    for (std::size_t i = 0; i < row.size(); ++i) ARROW_RETURN_NOT_OK(append_cell(row[i], *builders_[i]));
    return ++rows_ < group_rows_ ? arrow::Status::OK() : write_group();
  }

  arrow::Status write_group() {
    arrow::ArrayVector arrays;
    for (const auto& builder : builders_) {
      ARROW_ASSIGN_OR_RAISE(auto array, builder->Finish());
      arrays.push_back(std::move(array));
    }
    const auto table = arrow::Table::Make(schema_, arrays, static_cast<std::int64_t>(rows_));
    ARROW_RETURN_NOT_OK(writer_->WriteTable(*table, static_cast<std::int64_t>(group_rows_)));
    rows_ = 0;
    return arrow::Status::OK();
  }

  arrow::Status finish() {
    if (rows_ > 0) ARROW_RETURN_NOT_OK(write_group());
    ARROW_RETURN_NOT_OK(writer_->Close());
    return file_->Close();
  }

  std::string path_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders_;  // a column each
  std::shared_ptr<arrow::io::FileOutputStream> file_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
  std::size_t group_rows_ = 1;
  std::size_t rows_ = 0;  // in the builders
};

}  // namespace

Result<std::unique_ptr<TableWriter>> parquet_table(const std::string& path,
                                                   std::span<const TableColumn> columns) {
  GOODPUT_CHECK(!columns.empty(), "a table must have columns");
  auto table = std::make_unique<ParquetTable>(path);
  GOODPUT_TRY_STATUS(table->open(columns));
  return std::unique_ptr<TableWriter>(std::move(table));
}

}  // namespace goodput

#endif  // GOODPUT_HAVE_PARQUET
