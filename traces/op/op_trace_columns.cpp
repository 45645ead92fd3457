#include "traces/op/op_trace_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr OpColumn kIdColumns[] = {OpColumn::kSeqId, OpColumn::kMc, OpColumn::kMbId};

bool is_ours(std::string_view name) {
  return std::find(kOpColumnNames.begin(), kOpColumnNames.end(), name) != kOpColumnNames.end();
}

// The column that was meant to be `missing`, as the end of a sentence.
std::string nearest_other(std::string_view missing, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const std::string hint = is_ours(name) ? "" : did_you_mean(name, {&missing, 1});
    if (!hint.empty()) return fmt::format(", but {}{}", in_quotes(name), hint);
  }
  std::string all;
  for (const std::string_view name : kOpColumnNames) all.append(all.empty() ? "" : ", ").append(name);
  return "; want " + all;
}

Error missing_column(OpColumn column, std::span<const std::string_view> names, const Where& where) {
  std::string what = fmt::format("no column {}", in_quotes(name_of(column)));
  if (std::find(std::begin(kIdColumns), std::end(kIdColumns), column) != std::end(kIdColumns)) {
    what += " (seq_id, mc and mb_id are there together, or all absent and derived)";
  }
  if (column == OpColumn::kGmc)
    what += " (the global model chunk: mc * pipeline stages + stage, -1 where mc is -1)";
  return Error{what + nearest_other(name_of(column), names), where};
}

}  // namespace

Result<OpTableLayout> find_op_columns(std::span<const std::string_view> names, const Where& where) {
  OpTableLayout layout;
  layout.position.fill(OpTableLayout::kAbsent);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto ours = std::find(kOpColumnNames.begin(), kOpColumnNames.end(), names[i]);
    if (ours == kOpColumnNames.end()) continue;
    int& position = layout.position[static_cast<std::size_t>(ours - kOpColumnNames.begin())];
    if (position != OpTableLayout::kAbsent)
      return Error{fmt::format("two columns {}", in_quotes(names[i])), where};
    position = static_cast<int>(i);
  }
  const bool no_ids = std::all_of(std::begin(kIdColumns), std::end(kIdColumns),
                                  [&](OpColumn id) { return layout.at(id) == OpTableLayout::kAbsent; });
  if (no_ids) layout.position[index_of(OpColumn::kGmc)] = OpTableLayout::kAbsent;
  for (std::size_t i = 0; i < kOpColumnCount; ++i) {
    const bool may_be_absent = no_ids && i >= index_of(OpColumn::kSeqId);
    if (layout.position[i] == OpTableLayout::kAbsent && !may_be_absent) {
      return missing_column(static_cast<OpColumn>(i), names, where);
    }
  }
  return layout;
}

bool looks_like_op_table(std::span<const std::string_view> names) {
  const auto ours = std::count_if(names.begin(), names.end(), is_ours);
  return ours >= 4;  // no other table of ours has so many of these names
}

std::string unknown_op_type(std::string_view name) {
  std::array<std::string_view, kOpTypeCount> known;
  std::transform(kOpTypes.begin(), kOpTypes.end(), known.begin(),
                 [](const OpTypeInfo& type) { return type.name; });
  return fmt::format("unknown optype {}{}", in_quotes(name), did_you_mean(name, known));
}

}  // namespace goodput
