#include "traces/op/op_trace_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr OpColumn kIdColumns[] = {OpColumn::kSeqId, OpColumn::kMc, OpColumn::kMbId};

std::string_view trimmed(std::string_view name) {
  constexpr std::string_view kBlanks = " \t";
  name.remove_prefix(std::min(name.find_first_not_of(kBlanks), name.size()));
  return name.substr(0, name.find_last_not_of(kBlanks) + 1);
}

// Whatever the case and the spaces around it.
bool is_spelling_of(std::string_view ours, std::string_view name) {
  return equals_lower(ours, trimmed(name));
}

bool is_ours(std::string_view name) {
  return std::ranges::any_of(kOpColumnNames,
                             [&](std::string_view ours) { return is_spelling_of(ours, name); });
}

// Where `ours` stands, as it is written or else in another case. Fails when it is there twice.
Result<int> find_column(std::string_view ours, std::span<const std::string_view> names, const Where& where) {
  int found = OpTableLayout::kAbsent;
  bool is_exact = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool exact = names[i] == ours;
    if (!exact && (is_exact || !is_spelling_of(ours, names[i]))) continue;
    if (found != OpTableLayout::kAbsent && exact == is_exact) {
      return Error{fmt::format("column {} occurs twice", in_quotes(names[i])), where};
    }
    found = static_cast<int>(i);
    is_exact = exact;
  }
  return found;
}

// The column that was meant to be `missing`, as the end of a sentence.
std::string nearest_other(std::string_view missing, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const std::string hint = is_ours(name) ? "" : did_you_mean(name, {&missing, 1});
    if (!hint.empty()) return fmt::format(", but {}{}", in_quotes(name), hint);
  }
  std::string all;
  for (const std::string_view name : kOpColumnNames) all.append(all.empty() ? "" : ", ").append(name);
  return "; expected " + all;
}

Error missing_column(OpColumn column, std::span<const std::string_view> names, const Where& where) {
  std::string what = fmt::format("no column {}", in_quotes(name_of(column)));
  if (std::find(std::begin(kIdColumns), std::end(kIdColumns), column) != std::end(kIdColumns)) {
    what += " (seq_id, mc and mb_id must be all present, or all absent so that goodput derives them)";
  }
  return Error{what + nearest_other(name_of(column), names), where};
}

}  // namespace

Result<OpTableLayout> find_op_columns(std::span<const std::string_view> names, const Where& where) {
  OpTableLayout layout;
  for (std::size_t i = 0; i < kOpColumnCount; ++i) {
    GOODPUT_TRY(layout.position[i], find_column(kOpColumnNames[i], names, where));
  }
  const bool no_ids = std::all_of(std::begin(kIdColumns), std::end(kIdColumns),
                                  [&](OpColumn id) { return layout.at(id) == OpTableLayout::kAbsent; });
  if (no_ids) layout.position[index_of(OpColumn::kGmc)] = OpTableLayout::kAbsent;
  for (std::size_t i = 0; i < kOpColumnCount; ++i) {
    const bool may_be_absent =
        static_cast<OpColumn>(i) == OpColumn::kGmc || (no_ids && i >= index_of(OpColumn::kSeqId));
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
  std::array<std::string_view, kNdtimelineTypeCount> known;
  std::transform(kNdtimelineTypes.begin(), kNdtimelineTypes.end(), known.begin(),
                 [](const OpTypeInfo& type) { return type.name; });
  return fmt::format("unknown optype {}{}", in_quotes(name), did_you_mean(name, known));
}

}  // namespace goodput
