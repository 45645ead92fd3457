// A new SQLite database in a file, written once: tables are made, filled row by row, and closed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "traces/table/table.h"

struct sqlite3;

namespace goodput {

// All is one transaction, and what ends before close() leaves no usable file: write to a temporary one.
// Takes no locks, which file systems of clusters often lack: nobody else may open the file meanwhile.
class SqliteDatabase {
 public:
  // Into the file at `path`, which is not there or empty.
  static Result<SqliteDatabase> create(const std::string& path);

  // REQUIRES: statements without results.
  Status run(const std::string& sql);

  // Makes a table; kFirstColumn: of which the first column, of integers, is the primary key. Booleans are 0
  // and 1. The writer must be closed before the database is.
  enum class Key { kNone, kFirstColumn };
  Result<std::unique_ptr<TableWriter>> table(std::string_view name, std::span<const TableColumn> columns,
                                             Key key = Key::kNone);

  Status close();

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  SqliteDatabase(std::string path, sqlite3* database) : path_(std::move(path)), database_(database) {}

  std::string path_;
  std::unique_ptr<sqlite3, Close> database_;
};

// A name in SQL: in double quotes.
[[nodiscard]] std::string sql_name(std::string_view name);

}  // namespace goodput
