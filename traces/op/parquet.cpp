// Op traces as Parquet, through Apache Arrow.
#include <string>

#include "traces/op/op_trace_format.h"
#include "traces/op/parquet_file.h"

namespace goodput {
namespace {

bool is_parquet(std::string_view head) {
  return head.starts_with("PAR1") || head.starts_with("PARE");  // E: with an encrypted footer
}

#ifdef GOODPUT_HAVE_PARQUET

// Parquet is read from its end: the file is opened anew, and the source only says which.
Result<FileNotes> append_parquet(ByteSource& source, OpTrace& trace) {
  GOODPUT_TRY_STATUS(append_parquet_file(source.path(), trace));
  return FileNotes{};
}

Status write_parquet(const OpTrace& trace, const std::string& path, std::string_view) {
  return write_parquet_file(trace, path);
}

#else

Error built_without(const std::string& path) {
  return {"this goodput was built without Parquet; run ./goodput-setup and build again, or use CSV",
          {.file = path}};
}

Result<FileNotes> append_parquet(ByteSource& source, OpTrace&) {
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
