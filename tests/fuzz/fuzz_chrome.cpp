#include "tests/fuzz/fuzz_target.h"
#include "traces/op/chrome.h"

namespace {

// Rows read, or -1: where the windows are cut must not show.
std::ptrdiff_t rows_read(const std::string& path, const goodput::JsonWindowLimits& limits) {
  auto source = goodput::ByteSource::open(path);
  goodput::OpTrace trace;
  if (!source || !goodput::append_chrome_events(*source, trace, limits)) return -1;
  return static_cast<std::ptrdiff_t>(trace.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const goodput::fuzz::MemoryFile file(data, size);
  goodput::JsonWindowLimits small;
  small.window_bytes = 16;
  if (rows_read(file.path(), {}) != rows_read(file.path(), small)) std::abort();
  goodput::fuzz::read_and_analyse(file.path(), "chrome");
  return 0;
}
