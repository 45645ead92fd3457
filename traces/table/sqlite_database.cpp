#include "traces/table/sqlite_database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>
#include <vector>

namespace goodput {
namespace {

Error sqlite_error(const std::string& path, sqlite3* database) {
  const char* what = database == nullptr ? "out of memory" : sqlite3_errmsg(database);
  return Error{fmt::format("cannot write: {}", what), {.file = path}};
}

std::string_view sql_type(ColumnType type) {
  switch (type) {
    case ColumnType::kReal:
      return "REAL";
    case ColumnType::kText:
      return "TEXT";
    case ColumnType::kInteger:
    case ColumnType::kBoolean:
      break;
  }
  return "INTEGER";
}

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

// Null is what is not bound.
int bind_cell(sqlite3_stmt* statement, int place, const TableCell& cell) {
  if (const auto* real = std::get_if<double>(&cell)) return sqlite3_bind_double(statement, place, *real);
  if (const auto* integer = std::get_if<std::int64_t>(&cell))
    return sqlite3_bind_int64(statement, place, *integer);
  if (const auto* truth = std::get_if<bool>(&cell)) return sqlite3_bind_int(statement, place, *truth ? 1 : 0);
  if (const auto* text = std::get_if<std::string_view>(&cell)) {
    return sqlite3_bind_text64(statement, place, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  return sqlite3_bind_null(statement, place);
}

class SqliteTable final : public TableWriter {
 public:
  SqliteTable(std::string path, sqlite3* database, Statement insert)
      : path_(std::move(path)), database_(database), insert_(std::move(insert)) {}

  Status add(std::span<const TableCell> row) override {
    int place = 0;
    for (const TableCell& cell : row) {
      if (bind_cell(insert_.get(), ++place, cell) != SQLITE_OK) return sqlite_error(path_, database_);
    }
    const int stepped = sqlite3_step(insert_.get());
    if (sqlite3_reset(insert_.get()) != SQLITE_OK || stepped != SQLITE_DONE)
      return sqlite_error(path_, database_);
    return Ok{};
  }

  Status close() override {
    insert_.reset();
    return Ok{};
  }

 private:
  std::string path_;
  sqlite3* database_;
  Statement insert_;
};

}  // namespace

std::string sql_name(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

void SqliteDatabase::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

Result<SqliteDatabase> SqliteDatabase::create(const std::string& path) {
  sqlite3* opened = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int result = sqlite3_open_v2(path.c_str(), &opened, flags, "unix-none");
  SqliteDatabase database(path, opened);
  if (result != SQLITE_OK) return sqlite_error(path, opened);
  GOODPUT_TRY_STATUS(
      database.run("PRAGMA page_size = 4096; PRAGMA encoding = 'UTF-8'; PRAGMA journal_mode = OFF; PRAGMA "
                   "synchronous = OFF; BEGIN"));
  return database;
}

Status SqliteDatabase::run(const std::string& sql) {
  if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return sqlite_error(path_, database_.get());
  return Ok{};
}

Result<std::unique_ptr<TableWriter>> SqliteDatabase::table(std::string_view name,
                                                           std::span<const TableColumn> columns, Key key) {
  std::string made;
  std::string values;
  for (const TableColumn& column : columns) {
    const bool is_key = key == Key::kFirstColumn && made.empty();
    made += fmt::format("{}{} {}{}", made.empty() ? "" : ", ", sql_name(column.name), sql_type(column.type),
                        is_key ? " PRIMARY KEY" : "");
    values += values.empty() ? "?" : ",?";
  }
  GOODPUT_TRY_STATUS(run(fmt::format("CREATE TABLE {} ({})", sql_name(name), made)));
  const std::string insert = fmt::format("INSERT INTO {} VALUES ({})", sql_name(name), values);
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(database_.get(), insert.c_str(), -1, &prepared, nullptr) != SQLITE_OK)
    return sqlite_error(path_, database_.get());
  return std::unique_ptr<TableWriter>(
      std::make_unique<SqliteTable>(path_, database_.get(), Statement(prepared)));
}

Status SqliteDatabase::close() {
  GOODPUT_TRY_STATUS(run("COMMIT"));
  if (sqlite3_close(database_.get()) != SQLITE_OK) return sqlite_error(path_, database_.get());
  static_cast<void>(database_.release());
  return Ok{};
}

}  // namespace goodput
