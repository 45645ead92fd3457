// Everything a monitor knows, in one SQLite file (WAL): results of steps, maps of workers, rows of the latest
// steps, incidents and messages about them, and how far each watched file has been used.
//
// One writer; any number of readers, in this process and others. A commit is whole or not there: after
// SIGKILL the file is as after the last commit.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/live/incident.h"
#include "sim/live/open_incidents.h"
#include "sim/live/step_result.h"
#include "sim/ops/op_trace.h"

namespace goodput {

class StoreConnection;

// How far a watched file was used: reading goes on here after a restart. All rows before `offset` belong to
// steps whose results are stored.
struct FilePosition {
  std::string path;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t head_hash = 0;  // of the first head_bytes of the (decompressed) content: who the file is
  std::uint64_t head_bytes = 0;
  std::uint64_t offset = 0;  // bytes of decompressed content
  std::uint64_t seen = 0;    // >= offset: up to here it was read; what comes again before it is no news
  bool is_done = false;      // a whole file (Parquet, Chrome, compressed) that will not grow

  friend bool operator==(const FilePosition&, const FilePosition&) = default;
};

// A message about an incident that its sink has not acknowledged yet.
struct Delivery {
  std::int64_t id = 0;   // of the store
  std::string incident;  // its key
  std::string sink;      // its name
  IncidentEvent event = IncidentEvent::kOpens;
  std::int32_t attempts = 0;
  double next_try_s = 0;    // Unix time
  bool is_refused = false;  // by its last answer, for what it is: its sink takes others
};

// One step to be stored.
struct StepRecord {
  StepResult result;
  std::optional<OpTrace> rows;  // as analysed; kept for the last steps and for those that opened incidents
  bool keeps_rows = false;      // this step opened an incident
};

struct IncidentNotice {
  std::string key;  // of an incident
  IncidentEvent event = IncidentEvent::kOpens;
};

// All that changes at once.
struct StepCommit {
  std::string job;
  std::vector<StepRecord> steps;
  std::vector<FilePosition> positions;  // of files of this job that have moved on
  std::vector<std::string> gone_files;  // paths whose positions are of no use any more
  std::string intake_state;             // what the intake of the job needs to go on; opaque; empty: as it was
  std::string incident_state;           // the same of its incidents
  std::vector<Incident> incidents;      // those that changed, as they are now
  std::vector<StepId> steps_to_keep;    // at which one opened
  std::vector<IncidentNotice> notices;  // what each of the sinks is to be told
  std::vector<std::string> sinks;       // their names
};

// What of a job can be said at once.
struct JobInfo {
  std::int64_t id = 0;
  std::string name;
  std::int32_t runs = 1;
  std::int64_t analysed = 0;  // steps
  std::int64_t incomplete = 0;
  std::int64_t refused = 0;
  std::int64_t skipped = 0;
  std::int64_t open_incidents = 0;
  std::optional<StepTotals> latest;  // whatever its state
  std::optional<StepTotals> latest_analysed;
};

// Of the steps of a time span, or the last ones. All bounds are inclusive.
struct StepQuery {
  std::optional<StepId> from;
  std::optional<StepId> to;
  std::size_t most = 2000;    // of more, evenly spread groups are told by their worst (largest S) step
  bool newest_first = false;  // then simply the newest `most`
  std::optional<StepStatus> status{};  // only of this status. REQUIRES: newest_first; of steps() only
};

// 16-bit: slowdowns to 1e-4 relative (exp of a fixed-point number), saturating; NaN: not known.
struct WorkerMap {
  StepId id;
  std::int32_t dp_size = 1;
  std::int32_t pp_size = 1;
  std::vector<double> slowdown;
};

struct WorkerPoint {
  StepId id;
  double began_s = 0;
  double slowdown = 1;
};

struct StoreOptions {
  std::chrono::seconds keep{std::chrono::hours{24 * 30}};     // totals; older steps go
  std::chrono::seconds maps_in_full{std::chrono::hours{24}};  // then one a minute
  std::int32_t rows_of_last = 20;                             // steps a job
  std::int32_t rows_of_incidents = 200;  // steps per job at which incidents opened, the newest, but
  std::int64_t rows_of_incidents_bytes = std::int64_t{128} << 20;  // no more than this; the newest one always
};

class MonitorStore {
 public:
  // Opens or makes the file and becomes its writer. Fails when another process writes it, when its schema is
  // newer than ours, and when it is no database of a monitor.
  static Result<MonitorStore> open(const std::string& path, const StoreOptions& options);
  // For reading only, beside a writer or without one. The file must be there. One of an older goodput is
  // upgraded first; fails if it cannot be written, or another process writes it.
  static Result<MonitorStore> open_for_reading(const std::string& path);

  MonitorStore(MonitorStore&&) noexcept;
  MonitorStore& operator=(MonitorStore&&) noexcept;
  ~MonitorStore();

  // ---- Writing. Not thread-safe; a reader has an object of its own.

  // All of it or nothing. A step that is there already (of the same job and run) is left as it is.
  Status commit(const StepCommit& commit);
  Status update_delivery(const Delivery& delivery);  // attempts and next_try_s
  Status finish_delivery(std::int64_t id);           // it got there
  // Of a file that is gone for good.
  Status forget_position(std::string_view job, std::string_view path);
  // Lets go of what is older than it is kept for, a bounded piece at a time; true: there is more to do.
  Result<bool> thin_out(double now_s);

  // ---- Reading.

  [[nodiscard]] Result<std::vector<JobInfo>> jobs();
  [[nodiscard]] Result<std::optional<JobInfo>> job(std::string_view name);
  [[nodiscard]] Result<std::vector<FilePosition>> positions(std::string_view job);
  [[nodiscard]] Result<std::string> intake_state(std::string_view job);
  [[nodiscard]] Result<std::string> incident_state(std::string_view job);
  [[nodiscard]] Result<std::vector<StepTotals>> steps(std::string_view job, const StepQuery& query);
  [[nodiscard]] Result<bool> has_step(std::string_view job, StepId id);
  // Everything of one step as far as it is still kept: worker_slowdown is exact while its rows are kept, then
  // it is that of the map, then empty.
  [[nodiscard]] Result<std::optional<StepResult>> step(std::string_view job, StepId id);
  // Of the latest step at or before `id` that has one.
  [[nodiscard]] Result<std::optional<WorkerMap>> map(std::string_view job, StepId id);
  // Of `worker` (dp_rank * pp_size + stage) in evenly spread steps that have maps, ascending.
  [[nodiscard]] Result<std::vector<WorkerPoint>> worker_history(std::string_view job, std::size_t worker,
                                                                const StepQuery& query);
  [[nodiscard]] Result<std::optional<OpTrace>> rows(std::string_view job, StepId id);
  [[nodiscard]] Result<std::vector<StepId>> steps_with_rows(std::string_view job);
  // Of all else that step() tells besides totals and layout, ascending.
  [[nodiscard]] Result<std::vector<StepId>> steps_with_details(std::string_view job);
  // The newest first. `job`: empty: of all.
  [[nodiscard]] Result<std::vector<Incident>> incidents(std::string_view job, bool only_open,
                                                        std::size_t max_count);
  [[nodiscard]] Result<std::optional<Incident>> incident(std::string_view key);
  [[nodiscard]] Result<std::vector<Delivery>> deliveries();  // in the order in which they were queued
  [[nodiscard]] Result<std::uint64_t> file_bytes();

 private:
  MonitorStore(std::unique_ptr<StoreConnection> connection, const StoreOptions& options);
  std::unique_ptr<StoreConnection> connection_;
  StoreOptions options_;
};

}  // namespace goodput
