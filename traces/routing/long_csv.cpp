// Routing as CSV with a row an expert: `iteration,layer,expert,tokens`, optionally with `rank` and
// `micro_batch`. Columns and rows in any order; experts without a row got no tokens.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/base/append.h"
#include "traces/io/byte_sink.h"
#include "traces/routing/routing_columns.h"
#include "traces/routing/routing_format.h"

namespace goodput {
namespace {

constexpr RoutingColumn kLongColumns[] = {RoutingColumn::kIteration, RoutingColumn::kLayer,
                                          RoutingColumn::kRank,      RoutingColumn::kMicroBatch,
                                          RoutingColumn::kExpert,    RoutingColumn::kTokens};

struct LongRow {
  RoutingRowKey key;
  std::int64_t expert = 0;
  std::int64_t tokens = 0;
};

std::int64_t& value_of(LongRow& row, RoutingColumn column) {
  switch (column) {
    case RoutingColumn::kIteration:
      return row.key.iteration;
    case RoutingColumn::kLayer:
      return row.key.layer;
    case RoutingColumn::kRank:
      return row.key.rank;
    case RoutingColumn::kMicroBatch:
      return row.key.micro_batch;
    case RoutingColumn::kExpert:
      return row.expert;
    default:
      return row.tokens;
  }
}

std::int64_t most_of(RoutingColumn column) {
  return column == RoutingColumn::kLayer || column == RoutingColumn::kExpert
             ? kMostRoutingExperts - 1
             : std::numeric_limits<std::int64_t>::max();
}

class LongRows {
 public:
  explicit LongRows(RoutingRows& rows) : rows_(rows) {}

  Status take(std::string_view line, std::size_t number) {
    if (fields_.empty()) {
      GOODPUT_TRY(fields_, parse_routing_header(line, kLongColumns));
      return Ok{};
    }
    if (line.empty()) return Ok{};
    GOODPUT_TRY(const LongRow row, parse(line));
    return count(row, number);
  }

  // Once, at the end of the file.
  Status add_all() {
    for (const auto& [key, seen] : by_key_) {
      GOODPUT_TRY(const auto counts, rows_.add(key, seen.line, seen.tokens.size()));
      std::transform(seen.tokens.begin(), seen.tokens.end(), counts.begin(),
                     [](std::int64_t tokens) { return std::max<std::int64_t>(tokens, 0); });
    }
    return Ok{};
  }

 private:
  static constexpr std::int64_t kUnseen = -1;
  struct Seen {
    std::size_t line = 0;                // the first
    std::vector<std::int64_t> tokens{};  // by expert
  };
  using ByKey = std::map<RoutingRowKey, Seen>;

  Result<LongRow> parse(std::string_view line) const {
    std::array<std::int64_t, std::size(kLongColumns)> values{};
    CsvFields left(line);
    const std::size_t taken = left.take_plain_integers(std::span(values).first(fields_.size()));
    LongRow row;
    bool is_plain = taken == fields_.size() && left.exhausted();
    for (std::size_t i = 0; i < taken; ++i) {
      value_of(row, fields_[i].column) = values[i];
      is_plain = is_plain && values[i] <= most_of(fields_[i].column);
    }
    return is_plain ? row : parse_field_by_field(line);
  }

  // Any form of numbers, and what is wrong with the line.
  Result<LongRow> parse_field_by_field(std::string_view line) const {
    LongRow row;
    CsvFields left(line);
    for (const RoutingField& field : fields_) {
      if (left.exhausted()) return wrong_field_count(line, fields_.size());
      GOODPUT_TRY(value_of(row, field.column), take_number(left, field, most_of(field.column)));
    }
    if (!left.exhausted()) return wrong_field_count(line, fields_.size());
    return row;
  }

  Status count(const LongRow& row, std::size_t number) {
    if (last_ == by_key_.end() || last_->first != row.key) {
      last_ = by_key_.try_emplace(row.key, Seen{number}).first;
    }
    std::vector<std::int64_t>& tokens = last_->second.tokens;
    const auto expert = static_cast<std::size_t>(row.expert);
    if (expert >= tokens.size()) {
      counts_ += expert + 1 - tokens.size();
      if (counts_ > kMostRoutingCounts) return RoutingRows::too_large();
      tokens.resize(expert + 1, kUnseen);
    }
    if (tokens[expert] != kUnseen) {
      return Error{fmt::format("{}, expert {} occurs twice; remove one of the two rows", to_string(row.key),
                               row.expert)};
    }
    tokens[expert] = row.tokens;
    return Ok{};
  }

  RoutingRows& rows_;
  std::vector<RoutingField> fields_;  // of a line; empty: no header yet
  ByKey by_key_;
  ByKey::iterator last_ = by_key_.end();  // the next row mostly has the same key
  std::size_t counts_ = 0;                // in all of by_key_
};

bool is_long_csv(std::string_view head) {
  const auto fields = known_routing_columns(head);
  const auto has = [&](RoutingColumn column) {
    return std::any_of(fields.begin(), fields.end(),
                       [&](const auto& field) { return field.column == column; });
  };
  return has(RoutingColumn::kExpert) && has(RoutingColumn::kTokens);
}

Status append_long_csv(ByteSource& source, RoutingRows& rows) {
  LongRows table(rows);
  GOODPUT_TRY_STATUS(
      for_each_line(source, kRoutingBlockBytes,
                    [&](std::string_view line, std::size_t number) { return table.take(line, number); }));
  return table.add_all();
}

Status write_long_csv(const RoutingTrace& trace, const std::string& path, std::string_view final_path) {
  GOODPUT_TRY(ByteSink file, ByteSink::open(path, final_path));
  std::string text = "iteration,layer,expert,tokens\n";
  for (std::size_t i = 0; i < trace.iterations().size(); ++i) {
    for (std::size_t l = 0; l < trace.layers().size(); ++l) {
      const auto loads = trace.loads(i, l);
      for (std::size_t e = 0; e < loads.size(); ++e) {
        append(text, "{},{},{},{}\n", trace.iterations()[i], trace.layers()[l], e, loads[e]);
      }
    }
    GOODPUT_TRY_STATUS(file.write_if_full(text, kCsvBlockBytes));
  }
  GOODPUT_TRY_STATUS(file.write(text));
  return file.close();
}

}  // namespace

RoutingFormat routing_format_long_csv() {
  return {
      .name = "long_csv",
      .summary = "expert routing: iteration,layer,expert,tokens with one row per expert, optionally gzipped",
      .extensions = {},
      .matches = is_long_csv,
      .append_file = append_long_csv,
      .write = write_long_csv};
}

}  // namespace goodput
