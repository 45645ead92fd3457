#ifdef GOODPUT_HAVE_PARQUET

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <fmt/format.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <algorithm>
#include <memory>

#include "traces/op/worker_table.h"

namespace goodput {
namespace {

constexpr std::size_t kRowsAtOnce = std::size_t{1} << 20;  // a row group, and what is in memory

std::shared_ptr<arrow::Schema> worker_schema() {
  const std::shared_ptr<arrow::DataType> types[kWorkerTableColumns.size()] = {
      arrow::int64(), arrow::int32(),   arrow::int32(),   arrow::int32(),
      arrow::utf8(),  arrow::float64(), arrow::float64(), arrow::float64()};
  arrow::FieldVector fields;
  for (std::size_t i = 0; i < kWorkerTableColumns.size(); ++i) {
    fields.push_back(arrow::field(std::string(kWorkerTableColumns[i]), types[i]));
  }
  return arrow::schema(std::move(fields));
}

// The columns of some steps.
class WorkerColumns {
 public:
  arrow::Status append(const WorkerTable& table, std::size_t i) {
    for (std::size_t worker = 0; worker < table.ranks.size(); ++worker) {
      const std::size_t dp_rank = worker / table.stages;
      const std::size_t stage = worker % table.stages;
      ARROW_RETURN_NOT_OK(step_.Append(table.steps[i]));
      ARROW_RETURN_NOT_OK(dp_rank_.Append(static_cast<std::int32_t>(dp_rank)));
      ARROW_RETURN_NOT_OK(stage_.Append(static_cast<std::int32_t>(stage)));
      ARROW_RETURN_NOT_OK(rank_.Append(table.ranks[worker]));
      ARROW_RETURN_NOT_OK(host_.Append(table.host(worker)));
      ARROW_RETURN_NOT_OK(of_worker_.Append(table.of_worker[i][worker]));
      ARROW_RETURN_NOT_OK(of_dp_rank_.Append(table.of_dp_rank[i][dp_rank]));
      ARROW_RETURN_NOT_OK(of_stage_.Append(table.of_stage[i][stage]));
    }
    return arrow::Status::OK();
  }

  // Leaves nothing behind.
  arrow::Result<std::shared_ptr<arrow::Table>> take(const std::shared_ptr<arrow::Schema>& schema) {
    arrow::ArrayVector arrays;
    for (arrow::ArrayBuilder* builder :
         {static_cast<arrow::ArrayBuilder*>(&step_), static_cast<arrow::ArrayBuilder*>(&dp_rank_),
          static_cast<arrow::ArrayBuilder*>(&stage_), static_cast<arrow::ArrayBuilder*>(&rank_),
          static_cast<arrow::ArrayBuilder*>(&host_), static_cast<arrow::ArrayBuilder*>(&of_worker_),
          static_cast<arrow::ArrayBuilder*>(&of_dp_rank_), static_cast<arrow::ArrayBuilder*>(&of_stage_)}) {
      ARROW_ASSIGN_OR_RAISE(auto array, builder->Finish());
      arrays.push_back(std::move(array));
    }
    return arrow::Table::Make(schema, arrays);
  }

 private:
  arrow::Int64Builder step_;
  arrow::Int32Builder dp_rank_;
  arrow::Int32Builder stage_;
  arrow::Int32Builder rank_;
  arrow::StringBuilder host_;
  arrow::DoubleBuilder of_worker_;
  arrow::DoubleBuilder of_dp_rank_;
  arrow::DoubleBuilder of_stage_;
};

arrow::Status write_columns(const WorkerTable& table, const std::string& path) {
  const auto schema = worker_schema();
  ARROW_ASSIGN_OR_RAISE(const auto file, arrow::io::FileOutputStream::Open(path));
  const auto properties =
      parquet::WriterProperties::Builder().compression(arrow::Compression::SNAPPY)->build();
  ARROW_ASSIGN_OR_RAISE(const auto writer, parquet::arrow::FileWriter::Open(
                                               *schema, arrow::system_memory_pool(), file, properties));
  const std::size_t steps_at_once =
      std::max<std::size_t>(1, kRowsAtOnce / std::max<std::size_t>(1, table.ranks.size()));
  WorkerColumns columns;
  for (std::size_t i = 0; i < table.steps.size(); ++i) {
    ARROW_RETURN_NOT_OK(columns.append(table, i));
    if ((i + 1) % steps_at_once != 0 && i + 1 != table.steps.size()) continue;
    ARROW_ASSIGN_OR_RAISE(const auto rows, columns.take(schema));
    ARROW_RETURN_NOT_OK(writer->WriteTable(*rows, static_cast<std::int64_t>(kRowsAtOnce)));
  }
  ARROW_RETURN_NOT_OK(writer->Close());
  return file->Close();
}

}  // namespace

Status write_worker_parquet(const WorkerTable& table, const std::string& path) {
  try {
    const arrow::Status status = write_columns(table, path);
    if (!status.ok()) return Error{fmt::format("cannot write: {}", status.message()), {.file = path}};
    return Ok{};
  } catch (const std::exception& error) {
    return Error{fmt::format("cannot write: {}", error.what()), {.file = path}};
  }
}

}  // namespace goodput

#endif  // GOODPUT_HAVE_PARQUET
