#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "tests/traces/io/temporary_file.h"
#include "traces/table/table.h"

namespace goodput {
namespace {

using CsvRow = std::array<TableCell, 4>;

TEST_CASE("CSV table: cells of every type, null and text that wants quotes") {
  const TemporaryFile file("t.csv");
  const std::vector<TableColumn> columns = {{"i", ColumnType::kInteger},
                                            {"a \"real\"", ColumnType::kReal},
                                            {"b", ColumnType::kBoolean},
                                            {"t", ColumnType::kText}};
  auto table = csv_table(file.path(), columns);
  REQUIRE(table);
  const std::array<CsvRow, 3> rows = {CsvRow{std::int64_t{-3}, 0.1, true, std::string_view("x, y")},
                                      CsvRow{TableCell(), 1e300, false, std::string_view("")}, CsvRow{}};
  for (const CsvRow& row : rows) REQUIRE((*table)->add(row));
  REQUIRE((*table)->close());
  CHECK(file.content() == "i,\"a \"\"real\"\"\",b,t\n-3,0.1,1,\"x, y\"\n,1e+300,0,\n,,,\n");
}

TEST_CASE("CSV table: a file that cannot be written is named") {
  const std::vector<TableColumn> columns = {{"i", ColumnType::kInteger}};
  const auto table = csv_table("/nowhere/t.csv", columns);
  REQUIRE(!table);
  CHECK(table.error().message() == "/nowhere/t.csv: cannot write: No such file or directory");
}

}  // namespace
}  // namespace goodput
