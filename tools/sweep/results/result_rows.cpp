#include "tools/sweep/results/result_rows.h"

#include <algorithm>
#include <limits>
#include <variant>

#include "tools/sweep/results/result_names.h"

namespace goodput {

// Behind the parameters; as kTrialFields.
enum ResultRows::Field : std::size_t {
  kPolicy,
  kTrial,
  kSeed,
  kStatus,
  kReason,
  kConfigHash,
  kVersion,
  kTier,
  kFinished,
  kStopped
};

namespace {

bool fits_integer(std::uint64_t seed) {
  return seed <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

ColumnType type_of_field(std::string_view name, std::uint64_t seed) {
  if (name == "trial") return ColumnType::kInteger;
  if (name == "seed") return fits_integer(seed) ? ColumnType::kInteger : ColumnType::kText;
  return name == "finished" ? ColumnType::kBoolean : ColumnType::kText;
}

}  // namespace

TableCell text_cell(std::string_view text) {
  return text.empty() ? TableCell() : TableCell(text);
}

std::string_view status_of(const PointRows& rows) {
  return rows.error.empty() ? "ok" : "error";
}

std::string_view status_of(const PolicyRows& policy) {
  return policy.refused.empty() ? "ok" : "refused";
}

ResultRows::ResultRows(const SweepManifest& manifest, const PointColumns& points,
                       const std::vector<std::string>& columns, const std::vector<std::string>& names)
    : manifest_(manifest),
      points_(points),
      seed_text_(std::to_string(manifest.seed)),
      columns_(points.columns()) {
  for (const std::string_view name : kTrialFields)
    columns_.push_back({std::string(name), type_of_field(name, manifest.seed)});
  for (std::size_t i = 0; i < columns.size(); ++i) {
    figures_.emplace(columns[i], columns_.size());
    columns_.push_back({names[i], ColumnType::kReal});
  }
  row_.resize(columns_.size());
}

TableCell& ResultRows::field(Field field) {
  return row_[points_.columns().size() + field];
}

void ResultRows::begin(const PointRows& rows) {
  points_.begin_row(rows.point, row_);
  field(kSeed) = fits_integer(manifest_.seed) ? TableCell(static_cast<std::int64_t>(manifest_.seed))
                                              : TableCell(std::string_view(seed_text_));
  field(kStatus) = status_of(rows);
  field(kReason) = text_cell(rows.error);
  field(kConfigHash) = text_cell(rows.config_hash);
  field(kVersion) = text_cell(manifest_.version);
}

void ResultRows::begin(const PolicyRows& policy) {
  field(kPolicy) = std::string_view(policy.name);
  field(kStatus) = status_of(policy);
  field(kReason) = text_cell(policy.refused);
  field(kTier) = text_cell(policy.tier);
}

Result<std::size_t> ResultRows::write(const PointRows& rows, TableWriter& into) {
  begin(rows);
  if (!rows.error.empty()) {
    GOODPUT_TRY_STATUS(into.add(row_));
    return std::size_t{1};
  }
  std::size_t written = 0;
  for (const PolicyRows& policy : rows.policies) {
    begin(rows);
    begin(policy);
    if (!policy.refused.empty()) {
      GOODPUT_TRY_STATUS(into.add(row_));
      ++written;
      continue;
    }
    std::vector<std::size_t> places;
    for (const std::string& column : policy.columns) places.push_back(figures_.at(column));
    for (std::size_t trial = 0; trial < policy.trials.size(); ++trial) {
      const TrialRow& of_trial = policy.trials[trial];
      field(kTrial) = static_cast<std::int64_t>(trial);
      field(kFinished) = of_trial.finished;
      field(kStopped) = text_cell(of_trial.stopped);
      for (std::size_t i = 0; i < places.size(); ++i)
        row_[places[i]] = of_trial.values[i] ? TableCell(*of_trial.values[i]) : TableCell();
      GOODPUT_TRY_STATUS(into.add(row_));
    }
    written += policy.trials.size();
  }
  return written;
}

}  // namespace goodput
