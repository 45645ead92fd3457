#include "traces/op/worker_table.h"

#include <fmt/format.h>

#include <iterator>

#include "sim/base/append.h"
#include "traces/io/byte_sink.h"
#include "traces/io/decimal.h"

namespace goodput {
namespace {

constexpr std::size_t kTableBlockBytes = std::size_t{1} << 18;

// As RFC 4180 wants it, where a host's name would be taken for several fields.
std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

void append_slowdown(std::string& text, double slowdown) {
  text += ',';
  append_float64(text, slowdown);
}

Status write_worker_csv(const WorkerTable& table, const std::string& path, std::string_view final_path) {
  GOODPUT_TRY(ByteSink file, ByteSink::open(path, final_path));
  std::string text;
  for (const std::string_view name : kWorkerTableColumns) text.append(text.empty() ? "" : ",").append(name);
  text += '\n';
  for (std::size_t i = 0; i < table.steps.size(); ++i) {
    for (std::size_t worker = 0; worker < table.ranks.size(); ++worker) {
      const std::size_t dp_rank = worker / table.stages;
      const std::size_t stage = worker % table.stages;
      append(text, "{},{},{},{},{}", table.steps[i], dp_rank, stage, table.ranks[worker],
             csv_field(table.host(worker)));
      append_slowdown(text, table.of_worker[i][worker]);
      append_slowdown(text, table.of_dp_rank[i][dp_rank]);
      append_slowdown(text, table.of_stage[i][stage]);
      text += '\n';
      GOODPUT_TRY_STATUS(file.write_if_full(text, kTableBlockBytes));
    }
  }
  GOODPUT_TRY_STATUS(file.write(text));
  return file.close();
}

}  // namespace

Status check_worker_table_path(std::string_view final_path) {
  if (final_path.ends_with(".csv") || final_path.ends_with(".csv.gz")) return Ok{};
  if (final_path.ends_with(".parquet")) {
#ifdef GOODPUT_HAVE_PARQUET
    return Ok{};
#else
    return Error{"goodput was built without Parquet; write .csv or .csv.gz",
                 {.file = std::string(final_path)}};
#endif
  }
  return Error{"a table of workers must be written to a .csv, .csv.gz or .parquet file",
               {.file = std::string(final_path)}};
}

Status write_worker_table(const WorkerTable& table, const std::string& path, std::string_view final_path) {
  GOODPUT_TRY_STATUS(check_worker_table_path(final_path));
#ifdef GOODPUT_HAVE_PARQUET
  if (final_path.ends_with(".parquet")) return write_worker_parquet(table, path);
#endif
  return write_worker_csv(table, path, final_path);
}

}  // namespace goodput
