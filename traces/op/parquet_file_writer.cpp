#ifdef GOODPUT_HAVE_PARQUET

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <fmt/format.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "traces/io/byte_sink.h"
#include "traces/op/op_trace_columns.h"
#include "traces/op/parquet_file.h"

namespace goodput {
namespace {

constexpr std::size_t kRowGroupRows = std::size_t{1} << 20;

// Memory that `values` own, as an Arrow buffer: valid as long as they are.
template <typename Value>
std::shared_ptr<arrow::Buffer> wrap(std::span<const Value> values) {
  return arrow::Buffer::Wrap(values.data(), values.size());
}

template <typename Value>
std::shared_ptr<arrow::Array> array_over(std::shared_ptr<arrow::DataType> type,
                                         std::shared_ptr<arrow::Buffer> buffer, std::size_t rows) {
  return arrow::MakeArray(arrow::ArrayData::Make(std::move(type), static_cast<std::int64_t>(rows),
                                                 {nullptr, std::move(buffer)}, 0));
}

// Copies `values` into a buffer of another type.
template <typename Stored, typename Value>
std::shared_ptr<arrow::Array> converted(std::shared_ptr<arrow::DataType> type,
                                        std::span<const Value> values) {
  std::vector<Stored> stored(values.size());
  std::transform(values.begin(), values.end(), stored.begin(),
                 [](Value value) { return static_cast<Stored>(value); });
  return array_over<Stored>(std::move(type), arrow::Buffer::FromVector(std::move(stored)), values.size());
}

template <typename Value>
bool fits(const std::vector<Value>& values, std::int64_t low, std::int64_t high) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return values.empty() || (*least >= low && *most <= high);
}

// The narrowest integer type of at least `least_bits` that holds all values.
template <typename Value>
std::shared_ptr<arrow::DataType> integer_type(const std::vector<Value>& values, int least_bits) {
  if (least_bits <= 8 && fits(values, INT8_MIN, INT8_MAX)) return arrow::int8();
  if (least_bits <= 16 && fits(values, INT16_MIN, INT16_MAX)) return arrow::int16();
  return sizeof(Value) <= sizeof(std::int32_t) ? arrow::int32() : arrow::int64();
}

template <typename Value>
std::shared_ptr<arrow::Array> integers(const std::shared_ptr<arrow::DataType>& type,
                                       std::span<const Value> values) {
  switch (type->id()) {
    case arrow::Type::INT8:
      return converted<std::int8_t>(type, values);
    case arrow::Type::INT16:
      return converted<std::int16_t>(type, values);
    case arrow::Type::INT32:
      return converted<std::int32_t>(type, values);
    default:
      return converted<std::int64_t>(type, values);
  }
}

std::shared_ptr<arrow::Array> times(const std::shared_ptr<arrow::DataType>& type,
                                    std::span<const double> values) {
  return type->id() == arrow::Type::FLOAT ? converted<float>(type, values) : converted<double>(type, values);
}

// The names of all op types, in the order of the enum: an OpType is its own dictionary index.
arrow::Result<std::shared_ptr<arrow::Array>> optype_dictionary() {
  arrow::StringBuilder builder;
  for (const OpTypeInfo& type : kNdtimelineTypes) ARROW_RETURN_NOT_OK(builder.Append(type.name));
  return builder.Finish();
}

std::shared_ptr<arrow::Schema> schema_of(const OpTrace& trace) {
  const auto time = times_are_float32(trace) ? arrow::float32() : arrow::float64();
  const std::shared_ptr<arrow::DataType> types[kOpColumnCount] = {
      integer_type(trace.dp_rank, 8),
      integer_type(trace.stage, 8),
      integer_type(trace.rank, 16),
      arrow::int64(),
      arrow::dictionary(arrow::int8(), arrow::utf8()),
      time,
      time,
      integer_type(trace.seq_id, 32),
      integer_type(trace.mc, 8),
      integer_type(trace.mb_id, 8),
      integer_type(trace.gmc, 16)};
  arrow::FieldVector fields;
  for (std::size_t i = 0; i < kOpColumnCount; ++i) {
    fields.push_back(arrow::field(std::string(kOpColumnNames[i]), types[i]));
  }
  return arrow::schema(std::move(fields));
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> rows_of(const OpTrace& trace, std::size_t first,
                                                           std::size_t count,
                                                           const std::shared_ptr<arrow::Schema>& schema,
                                                           const std::shared_ptr<arrow::Array>& names) {
  const auto part = [&](const auto& column) { return std::span(column).subspan(first, count); };
  const auto type = [&](OpColumn column) {
    return schema->field(static_cast<int>(index_of(column)))->type();
  };
  const auto indices = converted<std::int8_t>(arrow::int8(), part(trace.optype));
  ARROW_ASSIGN_OR_RAISE(const auto optypes,
                        arrow::DictionaryArray::FromArrays(type(OpColumn::kOptype), indices, names));
  return arrow::RecordBatch::Make(
      schema, static_cast<std::int64_t>(count),
      {integers(type(OpColumn::kDpRank), part(trace.dp_rank)),
       integers(type(OpColumn::kStage), part(trace.stage)), integers(type(OpColumn::kRank), part(trace.rank)),
       integers(type(OpColumn::kStep), part(trace.step)), optypes,
       times(type(OpColumn::kStart), part(trace.start_s)),
       times(type(OpColumn::kDuration), part(trace.duration_s)),
       integers(type(OpColumn::kSeqId), part(trace.seq_id)), integers(type(OpColumn::kMc), part(trace.mc)),
       integers(type(OpColumn::kMbId), part(trace.mb_id)), integers(type(OpColumn::kGmc), part(trace.gmc))});
}

arrow::Status write_rows(const OpTrace& trace, const std::string& path) {
  const auto schema = schema_of(trace);
  ARROW_ASSIGN_OR_RAISE(const auto names, optype_dictionary());
  ARROW_ASSIGN_OR_RAISE(const auto file, path == kStdoutPath
                                             ? arrow::io::FileOutputStream::Open(dup(STDOUT_FILENO))
                                             : arrow::io::FileOutputStream::Open(path));
  const auto properties = parquet::WriterProperties::Builder()
                              .compression(arrow::Compression::SNAPPY)
                              ->max_row_group_length(static_cast<std::int64_t>(kRowGroupRows))
                              ->build();
  const auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  ARROW_ASSIGN_OR_RAISE(const auto writer,
                        parquet::arrow::FileWriter::Open(*schema, arrow::system_memory_pool(), file,
                                                         properties, arrow_properties));
  for (std::size_t first = 0; first < trace.size(); first += kRowGroupRows) {
    const std::size_t count = std::min(kRowGroupRows, trace.size() - first);
    ARROW_ASSIGN_OR_RAISE(const auto batch, rows_of(trace, first, count, schema, names));
    ARROW_ASSIGN_OR_RAISE(const auto table, arrow::Table::FromRecordBatches({batch}));
    ARROW_RETURN_NOT_OK(writer->WriteTable(*table, static_cast<std::int64_t>(kRowGroupRows)));
  }
  ARROW_RETURN_NOT_OK(writer->Close());
  return file->Close();
}

}  // namespace

Status write_parquet_file(const OpTrace& trace, const std::string& path) {
  try {
    const arrow::Status status = write_rows(trace, path);
    if (!status.ok()) return Error{fmt::format("cannot write: {}", status.message()), {.file = path}};
    return Ok{};
  } catch (const std::exception& error) {
    return Error{fmt::format("cannot write: {}", error.what()), {.file = path}};
  }
}

}  // namespace goodput

#endif  // GOODPUT_HAVE_PARQUET
