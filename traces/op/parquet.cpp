// Op traces as Parquet, through Apache Arrow.
#include <string>
#include <utility>

#include "traces/op/op_trace_format.h"
#include "traces/op/parquet_file.h"

namespace goodput {
namespace {

bool is_parquet(std::string_view head) {
  return head.starts_with("PAR1") || head.starts_with("PARE");  // E: with an encrypted footer
}

#ifdef GOODPUT_HAVE_PARQUET

// Parquet is read from its end: the file is opened anew, and the source only says which, unless it has to be
// decompressed.
Result<FileNotes> append_parquet(ByteSource& source, TraceIntake& intake) {
  GOODPUT_TRY([[maybe_unused]] const std::string_view head, source.peek());
  if (!source.is_compressed()) return append_parquet_file(source.path(), intake);
  constexpr std::size_t kMostBytes = std::size_t{1} << 36;
  GOODPUT_TRY(std::string bytes, read_all(source, kMostBytes));
  if (const std::string truncation = source.truncation(); !truncation.empty()) {
    return Error{truncation + ": the file is truncated, and Parquet needs the end of the file",
                 {.file = source.path()}};
  }
  return append_parquet_bytes(std::move(bytes), source.path(), intake);
}

Status write_parquet(const OpTrace& trace, const std::string& path, std::string_view) {
  return write_parquet_file(trace, path);
}

#else

Error built_without(const std::string& path) {
  return {"goodput was built without Parquet; run ./goodput-setup and build again, or use CSV",
          {.file = path}};
}

Result<FileNotes> append_parquet(ByteSource& source, TraceIntake&) {
  return built_without(source.path());
}

Status write_parquet(const OpTrace&, const std::string& path, std::string_view) {
  return built_without(path);
}

#endif

}  // namespace

OpTraceFormat op_trace_format_parquet() {
  return {.name = "parquet",
          .summary = "Apache Parquet with the columns of csv, in any order",
          .extensions = {".parquet"},
          .matches = is_parquet,
          .append_file = append_parquet,
          .write = write_parquet};
}

}  // namespace goodput
