#include "tools/monitor_store/store_connection.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstring>
#include <limits>

#include "tools/monitor_store/store_place.h"

namespace goodput {
namespace {

constexpr int kBusyMilliseconds = 10'000;  // readers wait for a recovery, never for a commit

Error store_error(const std::string& path, sqlite3* database) {
  if (database == nullptr) return Error{"out of memory", {.file = path}};
  const int code = sqlite3_errcode(database) & 0xff;
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
    return Error{
        "is damaged, or is not a database of goodput monitor; move it away, or replace it with an intact "
        "copy",
        {.file = path}};
  }
  const int system = code == SQLITE_CANTOPEN ? sqlite3_system_errno(database) : 0;
  std::string what = sqlite3_errmsg(database);
  if (system != 0) what += fmt::format(" ({})", std::strerror(system));
  return Error{fmt::format("cannot be used: {}", what), {.file = path}};
}

}  // namespace

StoreStatement::~StoreStatement() {
  if (statement_ != nullptr) reset();
}

void StoreStatement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  bound_ = 0;
}

void StoreStatement::bind_next(std::int64_t value) {
  sqlite3_bind_int64(statement_, ++bound_, value);
}

void StoreStatement::bind_next(double value) {
  sqlite3_bind_double(statement_, ++bound_, value);
}

void StoreStatement::bind_next(std::string_view text) {
  // An empty view may have no address, which would be null.
  sqlite3_bind_text64(statement_, ++bound_, text.empty() ? "" : text.data(), text.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
}

void StoreStatement::bind_next(SqlBlob blob) {
  sqlite3_bind_blob64(statement_, ++bound_, blob.bytes.empty() ? "" : blob.bytes.data(), blob.bytes.size(),
                      SQLITE_STATIC);
}

Result<bool> StoreStatement::next() {
  const int stepped = sqlite3_step(statement_);
  if (stepped == SQLITE_ROW) return true;
  if (stepped == SQLITE_DONE) return false;
  return store_error(*path_, database_);
}

Status StoreStatement::run() {
  GOODPUT_TRY([[maybe_unused]] const bool has_row, next());
  return Ok{};
}

std::int64_t StoreStatement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double StoreStatement::real(int column) const {
  return is_null(column) ? std::numeric_limits<double>::quiet_NaN()
                         : sqlite3_column_double(statement_, column);
}

std::optional<double> StoreStatement::optional_real(int column) const {
  return is_null(column) ? std::nullopt : std::optional(sqlite3_column_double(statement_, column));
}

std::string StoreStatement::text(int column) const {
  return std::string(bytes(column));
}

std::string_view StoreStatement::bytes(int column) const {
  const void* begin = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return begin == nullptr ? std::string_view()
                          : std::string_view(static_cast<const char*>(begin), static_cast<std::size_t>(size));
}

bool StoreStatement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

void StoreConnection::CloseDatabase::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

void StoreConnection::FinalizeStatement::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Result<std::unique_ptr<StoreConnection>> StoreConnection::open(const std::string& path, Access access) {
  std::optional<FileDescriptor> lock;
  if (access == Access::kWrite) {
    GOODPUT_TRY_STATUS(refuse_network_folder(path));
    GOODPUT_TRY(lock, lock_for_writing(path));
  } else {
    GOODPUT_TRY_STATUS(find_readable(path));
  }
  // Not NOFOLLOW: a link to a larger disk is fine.
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
  flags |= access == Access::kWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  sqlite3* opened = nullptr;
  const std::string name =
      database_uri(path, access == Access::kRead && !can_have_readers(path) ? "immutable=1" : "");
  const int result = sqlite3_open_v2(name.c_str(), &opened, flags, nullptr);
  auto connection = std::make_unique<StoreConnection>(path, std::move(lock), opened);
  if (result != SQLITE_OK) return store_error(path, opened);
  sqlite3_busy_timeout(opened, kBusyMilliseconds);
  sqlite3_extended_result_codes(opened, 1);
  return connection;
}

Status StoreConnection::run(const std::string& sql) {
  if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return store_error(path_, database_.get());
  return Ok{};
}

Result<StoreStatement> StoreConnection::prepare(std::string_view sql) {
  auto found = statements_.find(sql);
  if (found == statements_.end()) {
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                           SQLITE_PREPARE_PERSISTENT, &prepared, nullptr) != SQLITE_OK) {
      return store_error(path_, database_.get());
    }
    found = statements_.emplace(std::string(sql), std::unique_ptr<sqlite3_stmt, FinalizeStatement>(prepared))
                .first;
  }
  return StoreStatement(path_, database_.get(), found->second.get());
}

Result<std::int64_t> StoreConnection::integer_of(std::string_view sql) {
  GOODPUT_TRY(StoreStatement statement, prepare(sql));
  GOODPUT_TRY(const bool has_row, statement.next());
  return has_row ? statement.integer(0) : 0;
}

std::int64_t StoreConnection::last_row() const {
  return sqlite3_last_insert_rowid(database_.get());
}

std::int64_t StoreConnection::changes() const {
  return sqlite3_changes(database_.get());
}

bool StoreConnection::is_in_transaction() const {
  return sqlite3_get_autocommit(database_.get()) == 0;
}

Result<StoreTransaction> StoreTransaction::begin(StoreConnection& connection,
                                                 StoreConnection::Access access) {
  GOODPUT_TRY_STATUS(connection.run(access == StoreConnection::Access::kWrite ? "BEGIN IMMEDIATE" : "BEGIN"));
  return StoreTransaction(connection);
}

StoreTransaction::~StoreTransaction() {
  // SQLite has rolled back already where it could not go on, as on a full disk.
  if (connection_ != nullptr && connection_->is_in_transaction())
    static_cast<void>(connection_->run("ROLLBACK"));
}

Status StoreTransaction::commit() {
  GOODPUT_TRY_STATUS(connection_->run("COMMIT"));
  connection_ = nullptr;
  return Ok{};
}

}  // namespace goodput
