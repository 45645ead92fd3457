// What the fuzz targets share: a target hands the bytes to a reader as a file, and what the reader accepts to
// the analysis. Errors are fine; a crash, a sanitizer report, an exception and a failed GOODPUT_CHECK are
// findings.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "models/megatron/megatron_rules.h"
#include "sim/ops/trace_index.h"
#include "sim/recording/recording.h"
#include "traces/op/op_trace_reader.h"

namespace goodput::fuzz {

// A file that exists in memory, for as long as this object.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : descriptor_(memfd_create("fuzz", 0)) {
    if (descriptor_ < 0 || write(descriptor_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// As far as goodput goes with a trace before it replays it.
inline void analyse(OpTrace trace) {
  constexpr std::size_t kMostRows = 4096;  // a compressed file may claim many; keeps an input below a second
  if (trace.size() > kMostRows) return;
  Result<TraceIndex> index = index_trace(trace);
  if (!index) return;
  const Result<OpGraph> graph = megatron::build_graph(index->lane);
  if (!graph) return;
  const std::uint32_t first_step = 0;
  const Recording recording = arrange(std::move(trace), *std::move(index), *graph, {&first_step, 1});
  static_cast<void>(compute_launch_delays(recording, recording.blocks.front(), *graph));
  static_cast<void>(compute_ideal_values(recording, *graph));
}

inline void read_and_analyse(const std::string& path, const std::string& format) {
  OpTraceReadOptions options;
  options.format = format;
  const Result<OpTraceReading> reading = read_op_trace({path}, options);
  if (!reading) return;
  analyse(reading->trace);
}

}  // namespace goodput::fuzz
