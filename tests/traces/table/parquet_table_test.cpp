#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/traces/io/temporary_file.h"
#include "tests/traces/table/parquet_as_csv.h"
#include "traces/table/table.h"

#ifdef GOODPUT_HAVE_PARQUET

namespace goodput {
namespace {

using testing::parquet_as_csv;
using testing::parquet_schema;
using ParquetRow = std::array<TableCell, 4>;

void write_parquet_rows(const std::string& path, const std::vector<ParquetRow>& rows) {
  const std::vector<TableColumn> columns = {{"i", ColumnType::kInteger},
                                            {"r", ColumnType::kReal},
                                            {"b", ColumnType::kBoolean},
                                            {"t", ColumnType::kText}};
  auto table = parquet_table(path, columns);
  REQUIRE(table);
  bool is_added = true;
  for (const ParquetRow& row : rows) is_added = is_added && (*table)->add(row);
  REQUIRE(is_added);
  REQUIRE((*table)->close());
}

TEST_CASE("Parquet table: types, values and nulls come back through Arrow") {
  const TemporaryFile file("t.parquet");
  write_parquet_rows(file.path(),
                     {ParquetRow{std::int64_t{-3}, 0.1, true, std::string_view("caf\xc3\xa9")},
                      ParquetRow{TableCell(), -0.0, false, std::string_view("x, y")}, ParquetRow{}});
  CHECK(parquet_schema(file.path()) == "i: int64\nr: double\nb: bool\nt: string");
  CHECK(parquet_as_csv(file.path()) == "i,r,b,t\n-3,0.1,1,caf\xc3\xa9\n,-0,0,\"x, y\"\n,,,\n");
}

TEST_CASE("Parquet table: several row groups are one table, and the same rows the same bytes") {
  std::vector<ParquetRow> rows;
  std::string csv = "i,r,b,t\n";
  for (std::int64_t i = 0; i < 70000; ++i) {  // a group has 65,536 rows at most
    rows.push_back({i, static_cast<double>(i) / 4, i % 2 == 0, std::string_view("same")});
    csv += std::to_string(i) + ",";
    csv += std::to_string(i / 4) + std::array{"", ".25", ".5", ".75"}[static_cast<std::size_t>(i % 4)];
    csv += i % 2 == 0 ? ",1,same\n" : ",0,same\n";
  }
  const TemporaryFile file("t.parquet");
  write_parquet_rows(file.path(), rows);
  CHECK((parquet_as_csv(file.path()) == csv));
  const TemporaryFile again("t.parquet");
  write_parquet_rows(again.path(), rows);
  CHECK((file.content() == again.content()));
}

TEST_CASE("Parquet table: a table without rows has its columns") {
  const TemporaryFile file("t.parquet");
  write_parquet_rows(file.path(), {});
  CHECK(parquet_schema(file.path()) == "i: int64\nr: double\nb: bool\nt: string");
}

TEST_CASE("Parquet table: a file that cannot be written is named") {
  const std::vector<TableColumn> columns = {{"i", ColumnType::kInteger}};
  const auto table = parquet_table("/nowhere/t.parquet", columns);
  REQUIRE(!table);
  CHECK(table.error().message().starts_with("/nowhere/t.parquet: cannot write: "));
}

}  // namespace
}  // namespace goodput

#endif  // GOODPUT_HAVE_PARQUET
