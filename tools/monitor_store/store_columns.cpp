#include "tools/monitor_store/store_columns.h"

#include <algorithm>
#include <iterator>

namespace goodput {
namespace {

// A value of an enumeration that this program knows: what a damaged file says otherwise is its first.
template <typename Enum, std::size_t kCount>
Enum enum_of(std::int64_t stored, const std::string_view (&)[kCount]) {
  return stored >= 0 && stored < static_cast<std::int64_t>(kCount) ? static_cast<Enum>(stored) : Enum{};
}

}  // namespace

StepTotals read_totals(const StoreStatement& row) {
  StepTotals totals;
  totals.id = {row.integer_as<std::int32_t>(0), row.integer(1)};
  totals.slowdown = row.real(2);
  totals.status = enum_of<StepStatus>(row.integer(3), kStepStatuses);
  totals.began_s = row.real(4);
  totals.received_s = row.real(5);
  totals.finished_s = row.real(6);
  totals.ops = row.integer(7);
  totals.recorded_s = row.real(8);
  totals.replayed_s = row.real(9);
  totals.ideal_s = row.real(10);
  totals.launch_slowdown = row.real(11);
  totals.discrepancy = row.real(12);
  totals.worst_slowdown = row.real(13);
  totals.worst_worker = row.integer_as<std::size_t>(14);
  totals.shape = enum_of<SlowdownShape>(row.integer(15), kSlowdownShapes);
  totals.cause = row.text(16);
  totals.gain = row.real(17);
  return totals;
}

Result<std::optional<std::int64_t>> find_job(StoreConnection& connection, std::string_view name) {
  GOODPUT_TRY(StoreStatement statement, connection.prepare("SELECT id FROM jobs WHERE name = ?"));
  statement.bind(name);
  GOODPUT_TRY(const bool is_there, statement.next());
  return is_there ? std::optional(statement.integer(0)) : std::nullopt;
}

}  // namespace goodput
