// A connection to the database of a monitor: statements, transactions, and what went wrong in words.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/errors.h"
#include "traces/io/file_descriptor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace goodput {

// Bytes that are no text.
struct SqlBlob {
  std::string_view bytes;
};

// A statement at work: it is given its values, then stepped; reset when this goes. What it was given and what
// it returns must not outlive the next step.
class StoreStatement {
 public:
  StoreStatement(const std::string& path, sqlite3* database, sqlite3_stmt* statement)
      : path_(&path), database_(database), statement_(statement) {}
  StoreStatement(StoreStatement&& other) noexcept
      : path_(other.path_),
        database_(other.database_),
        statement_(std::exchange(other.statement_, nullptr)),
        bound_(other.bound_) {}
  StoreStatement(const StoreStatement&) = delete;
  StoreStatement& operator=(const StoreStatement&) = delete;
  StoreStatement& operator=(StoreStatement&&) = delete;
  ~StoreStatement();

  // The values of the question marks, from the first on. A double that is not a number is null, as SQLite has
  // it.
  template <typename... Values>
  void bind(const Values&... values) {
    reset();
    (bind_next(values), ...);
  }

  Result<bool> next();  // whether there is a row (more)
  Status run();         // of what returns no rows

  // Of the row. Null: 0, not a number, an empty text.
  [[nodiscard]] std::int64_t integer(int column) const;
  template <typename Integer>
  [[nodiscard]] Integer integer_as(int column) const {
    return static_cast<Integer>(integer(column));
  }
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::optional<double> optional_real(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::string_view bytes(int column) const;
  [[nodiscard]] bool is_null(int column) const;

 private:
  void reset();
  void bind_next(std::int64_t value);
  void bind_next(int value) { bind_next(static_cast<std::int64_t>(value)); }
  void bind_next(std::uint64_t value) { bind_next(static_cast<std::int64_t>(value)); }  // as the same bits
  void bind_next(bool value) { bind_next(static_cast<std::int64_t>(value)); }
  void bind_next(double value);
  void bind_next(std::string_view text);
  void bind_next(const std::string& text) { bind_next(std::string_view(text)); }
  void bind_next(SqlBlob blob);
  template <typename Value>
  void bind_next(const std::optional<Value>& value) {
    if (value) {
      bind_next(*value);
    } else {
      ++bound_;  // what is not bound is null
    }
  }

  const std::string* path_;
  sqlite3* database_;
  sqlite3_stmt* statement_;
  int bound_ = 0;
};

// Not thread-safe.
class StoreConnection {
 public:
  // kWrite makes the file if there is none, and holds the lock that keeps other writers away.
  enum class Access { kRead, kWrite };
  static Result<std::unique_ptr<StoreConnection>> open(const std::string& path, Access access);

  StoreConnection(std::string path, std::optional<FileDescriptor> lock, sqlite3* database)
      : path_(std::move(path)), lock_(std::move(lock)), database_(database) {}

  [[nodiscard]] const std::string& path() const { return path_; }

  // Several statements without results, or with results that do not matter.
  Status run(const std::string& sql);
  // Kept for the next time. REQUIRES: no other statement of the same text is at work.
  Result<StoreStatement> prepare(std::string_view sql);
  // The first column of the first row of a query without values.
  Result<std::int64_t> integer_of(std::string_view sql);

  [[nodiscard]] std::int64_t last_row() const;  // the rowid of the last insertion
  [[nodiscard]] std::int64_t changes() const;   // rows that the last statement changed
  [[nodiscard]] bool is_in_transaction() const;

 private:
  struct CloseDatabase {
    void operator()(sqlite3* database) const;
  };
  struct FinalizeStatement {
    void operator()(sqlite3_stmt* statement) const;
  };

  std::string path_;
  std::optional<FileDescriptor> lock_;  // let go of after the database is closed
  std::unique_ptr<sqlite3, CloseDatabase> database_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, FinalizeStatement>, std::less<>> statements_;
};

// Rolled back when it goes without commit().
class StoreTransaction {
 public:
  // kRead: several statements see the same state.
  static Result<StoreTransaction> begin(StoreConnection& connection, StoreConnection::Access access);
  StoreTransaction(StoreTransaction&& other) noexcept
      : connection_(std::exchange(other.connection_, nullptr)) {}
  StoreTransaction(const StoreTransaction&) = delete;
  StoreTransaction& operator=(const StoreTransaction&) = delete;
  StoreTransaction& operator=(StoreTransaction&&) = delete;
  ~StoreTransaction();

  Status commit();

 private:
  explicit StoreTransaction(StoreConnection& connection) : connection_(&connection) {}
  StoreConnection* connection_;
};

}  // namespace goodput
