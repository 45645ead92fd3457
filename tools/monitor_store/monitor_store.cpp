#include "tools/monitor_store/monitor_store.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "tools/monitor_store/incident_rows.h"
#include "tools/monitor_store/step_writing.h"
#include "tools/monitor_store/store_columns.h"
#include "tools/monitor_store/store_connection.h"
#include "tools/monitor_store/store_schema.h"

namespace goodput {
namespace {

Result<std::int64_t> job_to_write(StoreConnection& connection, const std::string& name) {
  GOODPUT_TRY(const std::optional<std::int64_t> found, find_job(connection, name));
  if (found) return *found;
  GOODPUT_TRY(StoreStatement insert, connection.prepare("INSERT INTO jobs (name) VALUES (?)"));
  insert.bind(name);
  GOODPUT_TRY_STATUS(insert.run());
  return connection.last_row();
}

Status store_positions(StoreConnection& connection, std::int64_t job, const StepCommit& commit) {
  for (const std::string& path : commit.gone_files) {
    GOODPUT_TRY(StoreStatement remove,
                connection.prepare("DELETE FROM positions WHERE job = ? AND path = ?"));
    remove.bind(job, path);
    GOODPUT_TRY_STATUS(remove.run());
  }
  for (const FilePosition& position : commit.positions) {
    GOODPUT_TRY(StoreStatement insert,
                connection.prepare("INSERT OR REPLACE INTO positions (job, path, device, inode, head_hash, "
                                   "head_bytes, used, seen, is_done) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    insert.bind(job, position.path, position.device, position.inode, position.head_hash, position.head_bytes,
                position.offset, position.seen, position.is_done);
    GOODPUT_TRY_STATUS(insert.run());
  }
  return Ok{};
}

Status store_states(StoreConnection& connection, std::int64_t job, const StepCommit& commit) {
  if (!commit.intake_state.empty()) {
    GOODPUT_TRY(StoreStatement update, connection.prepare("UPDATE jobs SET intake_state = ? WHERE id = ?"));
    update.bind(SqlBlob{commit.intake_state}, job);
    GOODPUT_TRY_STATUS(update.run());
  }
  if (!commit.incident_state.empty()) {
    GOODPUT_TRY(StoreStatement update, connection.prepare("UPDATE jobs SET alert_state = ? WHERE id = ?"));
    update.bind(SqlBlob{commit.incident_state}, job);
    GOODPUT_TRY_STATUS(update.run());
  }
  return Ok{};
}

}  // namespace

MonitorStore::MonitorStore(std::unique_ptr<StoreConnection> connection, const StoreOptions& options)
    : connection_(std::move(connection)), options_(options) {}
MonitorStore::MonitorStore(MonitorStore&&) noexcept = default;
MonitorStore& MonitorStore::operator=(MonitorStore&&) noexcept = default;
MonitorStore::~MonitorStore() = default;

Result<MonitorStore> MonitorStore::open(const std::string& path, const StoreOptions& options) {
  GOODPUT_TRY(auto connection, StoreConnection::open(path, StoreConnection::Access::kWrite));
  GOODPUT_TRY_STATUS(prepare_for_writing(*connection));
  return MonitorStore(std::move(connection), options);
}

Result<MonitorStore> MonitorStore::open_for_reading(const std::string& path) {
  GOODPUT_TRY(auto connection, StoreConnection::open(path, StoreConnection::Access::kRead));
  GOODPUT_TRY(const bool is_current, prepare_for_reading(*connection));
  if (is_current) return MonitorStore(std::move(connection), {});
  connection.reset();
  GOODPUT_TRY([[maybe_unused]] const MonitorStore upgraded, open(path, {}));
  GOODPUT_TRY(connection, StoreConnection::open(path, StoreConnection::Access::kRead));
  GOODPUT_TRY([[maybe_unused]] const bool is_upgraded, prepare_for_reading(*connection));
  return MonitorStore(std::move(connection), {});
}

Status MonitorStore::commit(const StepCommit& commit) {
  GOODPUT_TRY(StoreTransaction transaction,
              StoreTransaction::begin(*connection_, StoreConnection::Access::kWrite));
  GOODPUT_TRY(const std::int64_t job, job_to_write(*connection_, commit.job));
  for (const StepRecord& record : commit.steps) GOODPUT_TRY_STATUS(store_step(*connection_, job, record));
  GOODPUT_TRY_STATUS(store_positions(*connection_, job, commit));
  GOODPUT_TRY_STATUS(store_states(*connection_, job, commit));
  GOODPUT_TRY_STATUS(store_incidents(*connection_, job, commit));
  GOODPUT_TRY_STATUS(drop_old_rows(*connection_, job, options_));
  return transaction.commit();
}

Result<std::uint64_t> MonitorStore::file_bytes() {
  std::uint64_t bytes = 0;
  for (const char* suffix : {"", "-wal"}) {
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(connection_->path() + suffix, error);
    if (!error) bytes += size;
  }
  return bytes;
}

}  // namespace goodput
