#include "gpu/calibrate/calibration_tables.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace goodput::gpu::calibrate {
namespace {

bool comes_before(const MeasuredTable& a, const MeasuredTable& b) {
  const auto less = [](const Param& x, const Param& y) {
    return x.name != y.name ? x.name < y.name : x.value < y.value;
  };
  return std::lexicographical_compare(a.key.params.begin(), a.key.params.end(), b.key.params.begin(),
                                      b.key.params.end(), less);
}

// Of the ops, in the order in which they were first seen.
void sort_tables(std::vector<MeasuredTable>& tables) {
  std::vector<std::string> ops;
  for (const MeasuredTable& table : tables) {
    if (std::find(ops.begin(), ops.end(), table.key.op) == ops.end()) ops.push_back(table.key.op);
  }
  const auto turn = [&](const MeasuredTable& table) {
    return std::find(ops.begin(), ops.end(), table.key.op) - ops.begin();
  };
  std::stable_sort(tables.begin(), tables.end(), [&](const MeasuredTable& a, const MeasuredTable& b) {
    return turn(a) != turn(b) ? turn(a) < turn(b) : comes_before(a, b);
  });
}

MeasuredTable& table_of(const PointKey& key, std::vector<MeasuredTable>& tables) {
  const auto same = std::find_if(tables.begin(), tables.end(),
                                 [&](const MeasuredTable& table) { return table.key == key.table; });
  if (same != tables.end()) return *same;
  tables.push_back({key.table, key.size_name, "", {}});
  return tables.back();
}

// Points of a table may have been measured in different ways: all of them are said.
void add_source(const std::string& source, std::string& all) {
  if (all.find(source) == std::string::npos) all += (all.empty() ? "" : "; or ") + source;
}

void add_ceiling(const VisitRecord& record, const PointSummary& summary,
                 std::vector<MeasuredCeiling>& ceilings) {
  const bool is_flops = record.ceiling->name.find("tflops") != std::string::npos;
  const double rate = record.ceiling->amount / summary.visit.us.median / (is_flops ? 1e6 : 1e3);
  const auto same = std::find_if(ceilings.begin(), ceilings.end(), [&](const MeasuredCeiling& ceiling) {
    return ceiling.name == record.ceiling->name;
  });
  const std::string of = text_of(record.key);
  if (same == ceilings.end()) return ceilings.push_back({record.ceiling->name, rate, of});
  if (rate > same->value) *same = {record.ceiling->name, rate, of};
}

// The same without its layout; none: it has no layout.
std::optional<TableKey> without_layout(const TableKey& key) {
  TableKey plain = key;
  const auto layout = std::find_if(plain.params.begin(), plain.params.end(),
                                   [](const Param& param) { return param.name == "layout"; });
  if (layout == plain.params.end()) return std::nullopt;
  plain.params.erase(layout);
  return plain;
}

bool agree_on_common_sizes(const MeasuredTable& a, const MeasuredTable& b) {
  bool any = false;
  for (const auto& [size, summary] : a.by_size) {
    const auto other = b.by_size.find(size);
    if (other == b.by_size.end()) continue;
    any = true;
    const double ratio = summary.visit.us.median / other->second.visit.us.median;
    if (std::max(ratio, 1 / ratio) > 1 + kSameLayout) return false;
  }
  return any;
}

void leave_out_same_layouts(MeasuredTables& all) {
  const std::vector<MeasuredTable> before = all.tables;
  const auto is_same = [&](const MeasuredTable& table) {
    const std::optional<TableKey> plain = without_layout(table.key);
    if (!plain) return false;
    const auto other = std::find_if(before.begin(), before.end(),
                                    [&](const MeasuredTable& one) { return one.key == *plain; });
    if (other == before.end() || !agree_on_common_sizes(table, *other)) return false;
    all.notes.push_back("left out: " + text_of(table.key) + ": within 5 % of the plain table at all sizes");
    return true;
  };
  all.tables.erase(std::remove_if(all.tables.begin(), all.tables.end(), is_same), all.tables.end());
}

}  // namespace

MeasuredTables tables_of(const MeasuredPoints& points) {
  MeasuredTables all;
  for (const VisitRecord* const first : points.points()) {
    const PointSummary summary = points.summary(first->key);
    if (summary.visit.nwrong.value_or(0) > 0) {
      all.notes.push_back("left out: " + text_of(first->key) + ": " + std::to_string(*summary.visit.nwrong) +
                          " wrong values");
    } else if (first->ceiling) {
      add_ceiling(*first, summary, all.ceilings);
    } else if (!summary.visit.parts.empty()) {
      all.checks.push_back({first->key, summary});
    } else {
      MeasuredTable& table = table_of(first->key, all.tables);
      add_source(summary.visit.source, table.source);
      table.by_size.emplace(first->key.size, summary);
    }
  }
  sort_tables(all.tables);
  leave_out_same_layouts(all);
  return all;
}

}  // namespace goodput::gpu::calibrate
