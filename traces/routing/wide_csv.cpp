// Routing as CSV with a column an expert: `iter,layer,e0,e1,...`, optionally with `rank` and `micro_batch`.
// Columns and rows in any order.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "sim/base/append.h"
#include "traces/io/byte_sink.h"
#include "traces/routing/routing_columns.h"
#include "traces/routing/routing_format.h"

namespace goodput {
namespace {

constexpr RoutingColumn kWideColumns[] = {RoutingColumn::kIteration, RoutingColumn::kLayer,
                                          RoutingColumn::kRank, RoutingColumn::kMicroBatch,
                                          RoutingColumn::kLoad};

class WideRows {
 public:
  explicit WideRows(RoutingRows& rows) : rows_(rows) {}

  Status take(std::string_view line, std::size_t number) {
    if (fields_.empty()) return take_header(line, number);
    return line.empty() ? Ok{} : take_row(line, number);
  }

 private:
  Status take_header(std::string_view line, std::size_t number) {
    GOODPUT_TRY(fields_, parse_routing_header(line, kWideColumns));
    const auto experts = std::count_if(fields_.begin(), fields_.end(),
                                       [](const RoutingField& field) { return is_load(field); });
    if (experts == 0) return Error{"no column \"e0\"; expected columns e0, e1, ..., one per expert"};
    if (experts > kMostRoutingExperts) {
      return Error{fmt::format("has {} experts, but at most {} are supported", experts, kMostRoutingExperts)};
    }
    loads_.resize(static_cast<std::size_t>(experts));
    run_length_.resize(fields_.size());
    for (std::size_t i = fields_.size(); i-- > 0;) {
      const bool goes_on =
          i + 1 < fields_.size() && is_load(fields_[i + 1]) && fields_[i + 1].expert == fields_[i].expert + 1;
      if (is_load(fields_[i])) run_length_[i] = 1 + (goes_on ? run_length_[i + 1] : 0);
    }
    return rows_.expect_experts(loads_.size(), number);
  }

  Status take_row(std::string_view line, std::size_t number) {
    RoutingRowKey key;
    CsvFields left(line);
    for (std::size_t i = 0; i < fields_.size();) {
      if (left.exhausted()) return wrong_field_count(line, fields_.size());
      const RoutingField& field = fields_[i];
      if (const std::size_t taken = left.take_plain_integers(run_at(i)); taken > 0) {
        i += taken;
        continue;
      }
      const std::int64_t most = field.column == RoutingColumn::kLayer
                                    ? kMostRoutingExperts - 1
                                    : std::numeric_limits<std::int64_t>::max();
      GOODPUT_TRY(const std::int64_t value, take_number(left, field, most));
      (is_load(field) ? loads_[field.expert] : part_of(key, field.column)) = value;
      ++i;
    }
    if (!left.exhausted()) return wrong_field_count(line, fields_.size());
    GOODPUT_TRY(const auto counts, rows_.add(key, number, loads_.size()));
    std::copy(loads_.begin(), loads_.end(), counts.begin());
    return Ok{};
  }

  // Where the counts of the columns from `field` on go, as far as they are e<k>, e<k+1>, ...
  std::span<std::int64_t> run_at(std::size_t field) {
    return std::span(loads_).subspan(fields_[field].expert, run_length_[field]);
  }

  static bool is_load(const RoutingField& field) { return field.column == RoutingColumn::kLoad; }

  static std::int64_t& part_of(RoutingRowKey& key, RoutingColumn column) {
    if (column == RoutingColumn::kIteration) return key.iteration;
    if (column == RoutingColumn::kLayer) return key.layer;
    return column == RoutingColumn::kRank ? key.rank : key.micro_batch;
  }

  RoutingRows& rows_;
  std::vector<RoutingField> fields_;  // of a line; empty: no header yet
  std::vector<std::size_t> run_length_;
  std::vector<std::int64_t> loads_;  // of the line that is read
};

bool is_wide_csv(std::string_view head) {
  const auto fields = known_routing_columns(head);
  const auto has = [&](RoutingColumn column) {
    return std::any_of(fields.begin(), fields.end(),
                       [&](const auto& field) { return field.column == column; });
  };
  return has(RoutingColumn::kLoad) && (has(RoutingColumn::kLayer) || has(RoutingColumn::kIteration));
}

Status append_wide_csv(ByteSource& source, RoutingRows& rows) {
  WideRows wide(rows);
  return for_each_line(source, kRoutingBlockBytes,
                       [&](std::string_view line, std::size_t number) { return wide.take(line, number); });
}

std::string header_line(std::int32_t experts) {
  std::string text = "iter,layer";
  for (std::int32_t e = 0; e < experts; ++e) text += fmt::format(",e{}", e);
  return text + '\n';
}

Status write_wide_csv(const RoutingTrace& trace, const std::string& path, std::string_view final_path) {
  GOODPUT_TRY(ByteSink file, ByteSink::open(path, final_path));
  std::string text = header_line(trace.experts());
  for (std::size_t i = 0; i < trace.iterations().size(); ++i) {
    for (std::size_t l = 0; l < trace.layers().size(); ++l) {
      append(text, "{},{}", trace.iterations()[i], trace.layers()[l]);
      for (const std::int64_t load : trace.loads(i, l)) append(text, ",{}", load);
      text += '\n';
    }
    GOODPUT_TRY_STATUS(file.write_if_full(text, kCsvBlockBytes));
  }
  GOODPUT_TRY_STATUS(file.write(text));
  return file.close();
}

}  // namespace

RoutingFormat routing_format_wide_csv() {
  return {.name = "wide_csv",
          .summary = "expert routing: iter,layer,e0,e1,... with one column per expert, optionally gzipped",
          .extensions = {".csv", ".csv.gz"},
          .matches = is_wide_csv,
          .append_file = append_wide_csv,
          .write = write_wide_csv};
}

}  // namespace goodput
