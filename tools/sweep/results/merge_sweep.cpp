#include "tools/sweep/results/merge_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "tools/cli/output_file.h"
#include "tools/sweep/results/point_columns.h"
#include "tools/sweep/results/result_names.h"
#include "tools/sweep/results/result_rows.h"
#include "tools/sweep/results/sqlite_results.h"
#include "tools/sweep/store/journal_index.h"
#include "tools/sweep/store/sweep_folder.h"
#include "tools/sweep/store/sweep_paths.h"
#include "tools/sweep/store/sweep_progress.h"
#include "traces/io/file_descriptor.h"
#include "traces/table/table.h"

namespace goodput {
namespace {

// ---- summary.csv: a row a point and policy, with means and their intervals; one of a point that cannot be.

class SummaryRows {
 public:
  // `metrics`: of estimates, as points name them; `names`: as the table does. `manifest` and `points`
  // must outlive this.
  SummaryRows(const SweepManifest& manifest, const PointColumns& points,
              const std::vector<std::string>& metrics, const ResultNames& names);

  [[nodiscard]] const std::vector<TableColumn>& columns() const { return columns_; }

  // The rows of a point.
  Status write(const PointRows& rows, TableWriter& into);

 private:
  enum Field : std::size_t;
  TableCell& field(Field field);
  void begin(const PointRows& rows);
  Status write(const PolicyRows& policy, TableWriter& into);

  const SweepManifest& manifest_;
  const PointColumns& points_;
  std::vector<TableColumn> columns_;
  std::unordered_map<std::string, std::size_t> metrics_;  // places in a row
  std::vector<TableCell> row_;
};

constexpr std::string_view kBetweenMetrics = ", ";
constexpr std::string_view kBetweenWarnings = "; ";

void append_item(std::string& list, std::string_view between, std::string_view item) {
  if (!list.empty()) list += between;
  list += item;
}

ColumnType type_of_summary_field(std::string_view name) {
  return name == "trials" || name == "finished" ? ColumnType::kInteger : ColumnType::kText;
}

// Behind the parameters; as kSummaryFields.
enum SummaryRows::Field : std::size_t {
  kPolicy,
  kStatus,
  kReason,
  kConfigHash,
  kVersion,
  kTier,
  kTrials,
  kFinished
};

SummaryRows::SummaryRows(const SweepManifest& manifest, const PointColumns& points,
                         const std::vector<std::string>& metrics, const ResultNames& names)
    : manifest_(manifest), points_(points), columns_(points.columns()) {
  for (const std::string_view name : kSummaryFields)
    columns_.push_back({std::string(name), type_of_summary_field(name)});
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    metrics_.emplace(metrics[i], columns_.size());
    for (const std::string& name : names.metrics[i]) columns_.push_back({name, ColumnType::kReal});
  }
  for (const std::string_view name : kSummaryRemarks)
    columns_.push_back({std::string(name), ColumnType::kText});
  row_.resize(columns_.size());
}

TableCell& SummaryRows::field(Field field) {
  return row_[points_.columns().size() + field];
}

void SummaryRows::begin(const PointRows& rows) {
  points_.begin_row(rows.point, row_);
  field(kStatus) = status_of(rows);
  field(kReason) = text_cell(rows.error);
  field(kConfigHash) = text_cell(rows.config_hash);
  field(kVersion) = text_cell(manifest_.version);
}

Status SummaryRows::write(const PolicyRows& policy, TableWriter& into) {
  field(kPolicy) = std::string_view(policy.name);
  field(kStatus) = status_of(policy);
  field(kReason) = text_cell(policy.refused);
  field(kTier) = text_cell(policy.tier);
  if (policy.refused.empty()) {
    const auto finished = std::count_if(policy.trials.begin(), policy.trials.end(),
                                        [](const TrialRow& trial) { return trial.finished; });
    field(kTrials) = static_cast<std::int64_t>(policy.trials.size());
    field(kFinished) = static_cast<std::int64_t>(finished);
  }
  std::string doubtful;
  for (const MetricEstimate& metric : policy.estimates) {
    const std::size_t place = metrics_.at(metric.metric);
    row_[place] = metric.estimate.mean;
    if (metric.estimate.interval) {
      row_[place + 1] = (*metric.estimate.interval)[0];
      row_[place + 2] = (*metric.estimate.interval)[1];
    }
    if (metric.estimate.is_doubtful) append_item(doubtful, kBetweenMetrics, columns_[place].name);
  }
  std::string warnings;
  for (const std::string& warning : policy.warnings) append_item(warnings, kBetweenWarnings, warning);
  row_[row_.size() - 2] = text_cell(doubtful);
  row_[row_.size() - 1] = text_cell(warnings);
  return into.add(row_);
}

Status SummaryRows::write(const PointRows& rows, TableWriter& into) {
  begin(rows);
  if (!rows.error.empty()) return into.add(row_);
  for (const PolicyRows& policy : rows.policies) {
    begin(rows);
    GOODPUT_TRY_STATUS(write(policy, into));
  }
  return Ok{};
}

// ---- Merging.

constexpr std::string_view kResultFiles[] = {"results.csv", "summary.csv", "results.sqlite",
                                             "results.parquet"};
constexpr std::string_view kWrittenFiles[] = {"results.csv", "summary.csv", "results.sqlite",
                                              "results.parquet", "sweep.json"};
#ifdef GOODPUT_HAVE_PARQUET
constexpr std::size_t kResultFileCount = 4;
#else
constexpr std::size_t kResultFileCount = 3;
constexpr std::string_view kNoParquet =
    "no results.parquet: goodput was built without Parquet; run ./goodput-setup, rebuild and merge "
    "again";
#endif

// Several tables of the same rows.
class SameTables final : public TableWriter {
 public:
  explicit SameTables(std::vector<TableWriter*> tables) : tables_(std::move(tables)) {}

  Status add(std::span<const TableCell> row) override {
    for (TableWriter* table : tables_) GOODPUT_TRY_STATUS(table->add(row));
    return Ok{};
  }
  Status close() override { return Ok{}; }  // whoever owns them does

 private:
  std::vector<TableWriter*> tables_;
};

// The rows of all points, on their way from the journals to the files.
class SweepResults {
 public:
  SweepResults(const SweepManifest& manifest, JournalIndex& index)
      : manifest_(manifest),
        index_(index),
        names_(result_names(manifest.parameters, index.columns(), index.metrics())),
        points_(manifest, names_.parameters),
        results_(manifest, points_, index.columns(), names_.columns),
        summary_(manifest, points_, index.metrics(), names_) {}

  // Into kResultFiles at these places.
  Result<Merged> write(std::span<const std::string> paths, const std::function<void(const PointRows&)>& see) {
    GOODPUT_TRY(const std::unique_ptr<TableWriter> csv, csv_table(paths[0], results_.columns()));
    GOODPUT_TRY(const std::unique_ptr<TableWriter> summary, csv_table(paths[1], summary_.columns()));
    GOODPUT_TRY(SqliteResults sqlite,
                SqliteResults::create(paths[2], manifest_, points_, results_.columns(), summary_.columns()));
    std::vector<TableWriter*> takers = {csv.get(), &sqlite.results()};
#ifdef GOODPUT_HAVE_PARQUET
    GOODPUT_TRY(const std::unique_ptr<TableWriter> parquet, parquet_table(paths[3], results_.columns()));
    takers.push_back(parquet.get());
#endif
    SameTables to_results(takers);
    SameTables to_summary({summary.get(), &sqlite.summary()});
    Merged merged{.points = manifest_.values.size()};
    for (std::uint64_t number = 0; number < merged.points; ++number) {
      GOODPUT_TRY(const PointRows rows, index_.point(number));
      if (see) see(rows);
      GOODPUT_TRY_STATUS(sqlite.add_point(rows));
      GOODPUT_TRY(const std::size_t count, results_.write(rows, to_results));
      GOODPUT_TRY_STATUS(summary_.write(rows, to_summary));
      merged.rows += count;
      ++(rows.error.empty() ? merged.ran : merged.errors);
    }
    GOODPUT_TRY_STATUS(csv->close());
    GOODPUT_TRY_STATUS(summary->close());
    GOODPUT_TRY_STATUS(sqlite.close());
#ifdef GOODPUT_HAVE_PARQUET
    GOODPUT_TRY_STATUS(parquet->close());
#endif
    return merged;
  }

 private:
  const SweepManifest& manifest_;
  JournalIndex& index_;
  ResultNames names_;
  PointColumns points_;
  ResultRows results_;
  SummaryRows summary_;
};

// All files or, where `write` fails, none. It gets a temporary name for each.
Status write_together(std::span<const std::string> paths, std::vector<std::string>& temporaries,
                      const std::function<Status()>& write) {
  if (temporaries.size() == paths.size()) return write();
  return write_file_atomically(paths[temporaries.size()], [&](const std::string& temporary) {
    temporaries.push_back(temporary);
    return write_together(paths, temporaries, write);
  });
}

// What processes left that were killed. REQUIRES: the lock.
Status remove_unfinished(const std::string& dir) {
  GOODPUT_TRY(const std::vector<std::string> names, names_in(dir));
  for (const std::string& name : names) {
    for (const std::string_view file : kWrittenFiles) {
      std::error_code ignored;
      if (name.starts_with(fmt::format("{}.tmp", file)))
        std::filesystem::remove(std::filesystem::path(dir) / name, ignored);
    }
  }
  return Ok{};
}

}  // namespace

Result<Merged> merge_sweep(const std::string& dir, const std::function<void(const PointRows&)>& see) {
  GOODPUT_TRY(const SweepManifest manifest, read_sweep_manifest(dir));
  GOODPUT_TRY(const std::optional<FileDescriptor> lock, lock_file(dir + "/merge.lock", Lock::kWait));
  GOODPUT_TRY(const SweepProgress progress, sweep_progress(dir));
  if (!progress.complete()) return not_complete(dir, progress);
  GOODPUT_TRY(JournalIndex index, JournalIndex::read(dir, manifest, progress.shards));
  GOODPUT_TRY_STATUS(remove_unfinished(dir));
  SweepResults results(manifest, index);
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < kResultFileCount; ++i)
    paths.push_back(dir + "/" + std::string(kResultFiles[i]));
  Merged merged;
  std::vector<std::string> temporaries;
  GOODPUT_TRY_STATUS(write_together(paths, temporaries, [&]() -> Status {
    GOODPUT_TRY(merged, results.write(temporaries, see));
    return Ok{};
  }));
  merged.files = std::move(paths);
#ifndef GOODPUT_HAVE_PARQUET
  std::error_code ignored;
  std::filesystem::remove(dir + "/results.parquet", ignored);  // of an earlier merge
  merged.notes.emplace_back(kNoParquet);
#endif
  return merged;
}

}  // namespace goodput
