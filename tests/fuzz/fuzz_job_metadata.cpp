#include "tests/fuzz/fuzz_target.h"
#include "traces/op/job_metadata_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const goodput::fuzz::MemoryFile file(data, size);
  static_cast<void>(goodput::read_job_metadata(file.path()));
  return 0;
}
