#include "tests/fuzz/fuzz_target.h"
#include "traces/op/chrome.h"

namespace {

// Rows read, or -1: where the windows are cut must not show.
std::ptrdiff_t rows_read(const std::string& path, const goodput::JsonWindowLimits& limits) {
  auto source = goodput::ByteSource::open(path);
  goodput::TraceIntake intake;
  if (!source || !goodput::append_chrome_events(*source, intake, limits)) return -1;
  return static_cast<std::ptrdiff_t>(intake.trace().size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const goodput::fuzz::MemoryFile file(data, size);
  for (const bool accept_unclosed : {false, true}) {
    goodput::JsonWindowLimits large;
    large.accept_unclosed = accept_unclosed;
    goodput::JsonWindowLimits small = large;
    small.window_bytes = 16;
    if (rows_read(file.path(), large) != rows_read(file.path(), small)) std::abort();
  }
  goodput::fuzz::read_and_analyse(file.path(), "chrome");
  return 0;
}
