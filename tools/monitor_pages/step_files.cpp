#include "tools/monitor_pages/step_files.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "models/megatron/megatron_rules.h"
#include "sim/cleaning/trace_cleaning.h"
#include "sim/recording/recording.h"
#include "traces/op/op_trace_format.h"
#include "traces/timeline/step_timeline.h"

namespace goodput {
namespace {

// A file in memory that has a path, for writers that want one.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("goodput", MFD_CLOEXEC)) {}
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

  [[nodiscard]] Result<std::string> content() const {
    const off_t size = lseek(descriptor_, 0, SEEK_END);
    if (size < 0) return cannot("read");
    std::string bytes(static_cast<std::size_t>(size), '\0');
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t count = pread(descriptor_, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
      if (count <= 0) return cannot("read");
      at += static_cast<std::size_t>(count);
    }
    return bytes;
  }

  [[nodiscard]] static Error cannot(std::string_view what) {
    return {fmt::format("cannot {} a file in memory: {}", what, std::strerror(errno))};
  }

 private:
  int descriptor_;
};

// write(PATH, FINAL_PATH)
template <typename Write>
Result<std::string> bytes_written(std::string_view final_path, Write write) {
  const MemoryFile file;
  if (!file.is_open()) return MemoryFile::cannot("make");
  GOODPUT_TRY_STATUS(write(file.path(), final_path));
  return file.content();
}

}  // namespace

Result<std::string> timeline_file(OpTrace rows) {
  GOODPUT_TRY(CleanTrace clean, clean_trace(std::move(rows), {}, {}));
  GOODPUT_TRY(const OpGraph graph, megatron::build_graph(clean.index.lane));
  const Recording recording = arrange(std::move(clean.trace), std::move(clean.index), graph, clean.selected);
  return bytes_written("timeline.json.gz", [&](const std::string& path, std::string_view final_path) {
    return write_recorded_timeline(recording, graph, path, final_path);
  });
}

Result<std::string> rows_file(const OpTrace& rows) {
  const auto formats = op_trace_formats();
  const auto csv = std::ranges::find(formats, "csv", &OpTraceFormat::name);
  GOODPUT_CHECK(csv != formats.end(), "traces can be written as CSV");
  return bytes_written("rows.csv.gz", [&](const std::string& path, std::string_view final_path) {
    return csv->write(rows, path, final_path);
  });
}

}  // namespace goodput
