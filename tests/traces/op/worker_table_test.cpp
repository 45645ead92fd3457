#include "traces/op/worker_table.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#ifdef GOODPUT_HAVE_PARQUET
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#endif

namespace goodput {
namespace {

std::string table_path(const std::string& name) {
  return (std::filesystem::temp_directory_path() / ("goodput_test_" + std::to_string(getpid()) + name))
      .string();
}

// Two steps of two replicas of one stage.
struct SmallTable {
  std::vector<std::int64_t> steps = {7, 9};
  std::vector<std::int32_t> ranks = {0, 8};
  std::vector<std::string> hosts = {"a", "b,\"c\""};
  std::vector<std::vector<double>> of_worker = {{1, 1.5}, {1.25, 1}};
  std::vector<std::vector<double>> of_dp_rank = {{1, 1.5}, {1.25, 1}};
  std::vector<std::vector<double>> of_stage = {{1.5}, {1.25}};

  [[nodiscard]] WorkerTable table() const {
    return {steps, 1, ranks, hosts, of_worker, of_dp_rank, of_stage};
  }
};

}  // namespace

TEST_CASE("worker table: a CSV row a step and worker, hosts in quotes where they need them") {
  const SmallTable small;
  const std::string path = table_path("_workers.csv");
  REQUIRE(write_worker_table(small.table(), path, path).has_value());
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  CHECK(text.str() ==
        "step,dp_rank,stage,rank,host,slowdown,slowdown_dp_rank,slowdown_stage\n"
        "7,0,0,0,a,1.0,1.0,1.5\n"
        "7,1,0,8,\"b,\"\"c\"\"\",1.5,1.5,1.5\n"
        "9,0,0,0,a,1.25,1.25,1.25\n"
        "9,1,0,8,\"b,\"\"c\"\"\",1.0,1.0,1.25\n");
}

TEST_CASE("worker table: hosts that are not known are empty") {
  const SmallTable small;
  WorkerTable table = small.table();
  table.hosts = {};
  CHECK(table.host(1).empty());
}

TEST_CASE("worker table: other names are refused") {
  const Status status = check_worker_table_path("workers.json");
  REQUIRE_FALSE(status.has_value());
  CHECK(status.error().message() ==
        "workers.json: a table of workers must be written to a .csv, .csv.gz or .parquet file");
#ifndef GOODPUT_HAVE_PARQUET
  const Status parquet = check_worker_table_path("workers.parquet");
  REQUIRE_FALSE(parquet.has_value());
  CHECK(parquet.error().message() ==
        "workers.parquet: goodput was built without Parquet; write .csv or .csv.gz");
#endif
}

#ifdef GOODPUT_HAVE_PARQUET
TEST_CASE("worker table: Parquet holds the same rows") {
  const SmallTable small;
  const std::string path = table_path("_workers.parquet");
  REQUIRE(write_worker_table(small.table(), path, path).has_value());
  std::shared_ptr<arrow::Table> table;
  {
    const auto file = arrow::io::ReadableFile::Open(path).ValueOrDie();
    auto reader = parquet::arrow::OpenFile(file, arrow::default_memory_pool()).ValueOrDie();
    table = reader->ReadTable().ValueOrDie();
  }
  std::filesystem::remove(path);
  REQUIRE(table->num_rows() == 4);
  REQUIRE(table->num_columns() == static_cast<int>(kWorkerTableColumns.size()));
  for (int i = 0; i < table->num_columns(); ++i) {
    CHECK(table->field(i)->name() == kWorkerTableColumns[static_cast<std::size_t>(i)]);
  }
  const auto value = [&](const std::string& column, std::int64_t row) {
    return table->GetColumnByName(column)->GetScalar(row).ValueOrDie()->ToString();
  };
  CHECK(value("step", 2) == "9");
  CHECK(value("rank", 1) == "8");
  CHECK(value("host", 3) == "b,\"c\"");
  CHECK(value("slowdown", 1) == "1.5");
  CHECK(value("slowdown_stage", 3) == "1.25");
}
#endif

}  // namespace goodput
