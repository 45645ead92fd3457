#ifdef GOODPUT_HAVE_PARQUET

#include "tests/traces/table/parquet_as_csv.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <fmt/format.h>
#include <parquet/arrow/reader.h>

#include <memory>

#include "traces/table/csv_field.h"

namespace goodput::testing {
namespace {

std::shared_ptr<arrow::Table> arrow_table(const std::string& path) {
  auto file = arrow::io::ReadableFile::Open(path).ValueOrDie();
  auto reader = parquet::arrow::OpenFile(file, arrow::default_memory_pool()).ValueOrDie();
  return reader->ReadTable().ValueOrDie()->CombineChunks().ValueOrDie();
}

std::string field_of(const arrow::Array& array, std::int64_t row) {
  if (array.IsNull(row)) return "";
  switch (array.type_id()) {
    case arrow::Type::INT64:
      return fmt::format("{}", static_cast<const arrow::Int64Array&>(array).Value(row));
    case arrow::Type::DOUBLE:
      return fmt::format("{}", static_cast<const arrow::DoubleArray&>(array).Value(row));
    case arrow::Type::BOOL:
      return static_cast<const arrow::BooleanArray&>(array).Value(row) ? "1" : "0";
    default:
      return csv_field(static_cast<const arrow::StringArray&>(array).GetString(row));
  }
}

}  // namespace

std::string parquet_as_csv(const std::string& path) {
  const auto table = arrow_table(path);
  std::string csv;
  for (int i = 0; i < table->num_columns(); ++i)
    csv += (i == 0 ? "" : ",") + csv_field(table->field(i)->name());
  for (std::int64_t row = 0; row < table->num_rows(); ++row) {
    csv += '\n';
    for (int i = 0; i < table->num_columns(); ++i)
      csv += (i == 0 ? "" : ",") + field_of(*table->column(i)->chunk(0), row);
  }
  return csv + '\n';
}

std::string parquet_schema(const std::string& path) {
  return arrow_table(path)->schema()->ToString();
}

}  // namespace goodput::testing

#endif  // GOODPUT_HAVE_PARQUET
