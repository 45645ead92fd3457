#include "traces/table/sqlite_database.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/traces/io/temporary_file.h"
#include "tests/traces/table/sqlite_query.h"

namespace goodput {
namespace {

using testing::sqlite_query;
using SqliteRow = std::array<TableCell, 4>;

std::vector<TableColumn> sqlite_columns() {
  return {
      {"id", ColumnType::kInteger}, {"a \"real\"", ColumnType::kReal}, {"b", ColumnType::kBoolean}, {"t"}};
}

std::string message_of_table(Result<std::unique_ptr<TableWriter>> table) {
  return table ? "" : table.error().message();
}

TEST_CASE("SQLite database: types, values and nulls come back through SQL") {
  const TemporaryFile file("t.sqlite");
  auto database = SqliteDatabase::create(file.path());
  REQUIRE(database);
  auto table = database->table("some table", sqlite_columns(), SqliteDatabase::Key::kFirstColumn);
  REQUIRE(table);
  REQUIRE((*table)->add(SqliteRow{std::int64_t{-3}, 0.1, true, std::string_view("it's \"x\"; --")}));
  REQUIRE((*table)->add(SqliteRow{std::int64_t{9007199254740993}, TableCell(), false, TableCell()}));
  REQUIRE((*table)->close());
  REQUIRE(database->close());
  CHECK(sqlite_query(file.path(),
                     "SELECT *, typeof(\"a \"\"real\"\"\"), typeof(t) AS tt FROM \"some table\"") ==
        std::vector<std::string>{"id|a \"real\"|b|t|typeof(\"a \"\"real\"\"\")|tt",
                                 "-3|0.1|1|it's \"x\"; --|real|text",
                                 "9007199254740993|null|0|null|null|null"});
  CHECK(sqlite_query(file.path(), "SELECT sql FROM sqlite_master") ==
        std::vector<std::string>{"sql",
                                 "CREATE TABLE \"some table\" (\"id\" INTEGER PRIMARY KEY, \"a "
                                 "\"\"real\"\"\" REAL, \"b\" INTEGER, \"t\" TEXT)"});
}

TEST_CASE("SQLite database: what SQL refuses is an error with the file") {
  const TemporaryFile file("t.sqlite");
  auto database = SqliteDatabase::create(file.path());
  REQUIRE(database);
  const std::vector<TableColumn> twice = {{"a"}, {"A"}};
  CHECK(message_of_table(database->table("t", twice)) ==
        file.path() + ": cannot write: duplicate column name: A");
  auto table = database->table("t", sqlite_columns(), SqliteDatabase::Key::kFirstColumn);
  REQUIRE(table);
  REQUIRE((*table)->add(SqliteRow{std::int64_t{1}, TableCell(), TableCell(), TableCell()}));
  const Status again = (*table)->add(SqliteRow{std::int64_t{1}, TableCell(), TableCell(), TableCell()});
  REQUIRE(!again);
  CHECK(again.error().message() == file.path() + ": cannot write: UNIQUE constraint failed: t.id");
}

TEST_CASE("SQLite database: a file that cannot be written is named") {
  const auto database = SqliteDatabase::create("/nowhere/t.sqlite");
  REQUIRE(!database);
  CHECK(database.error().message() == "/nowhere/t.sqlite: cannot write: unable to open database file");
}

}  // namespace
}  // namespace goodput
