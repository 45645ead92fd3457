#include "tools/sweep/results/summary_rows.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "tools/sweep/results/result_rows.h"

namespace goodput {

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

namespace {

constexpr std::string_view kBetweenMetrics = ", ";
constexpr std::string_view kBetweenWarnings = "; ";

void append_item(std::string& list, std::string_view between, std::string_view item) {
  if (!list.empty()) list += between;
  list += item;
}

ColumnType type_of_summary_field(std::string_view name) {
  return name == "trials" || name == "finished" ? ColumnType::kInteger : ColumnType::kText;
}

}  // namespace

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

}  // namespace goodput
