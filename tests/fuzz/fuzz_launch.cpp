// Launch files: recognized, read, and checked as a plan or a model.
#include "models/launch/import_launch.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace goodput;
  const fuzz::MemoryFile file(data, size);
  launch::ImportRequest request;
  request.files = {file.path()};
  request.gpus = 8;
  request.approximated = {"sliding-window"};
  const auto imported = launch::import_launch(request, {});
  // Without a library there is no cluster, so that plans end with an error; models are read to their end.
  if (imported && imported->missing.empty()) GOODPUT_CHECK(!imported->text.empty(), "an import has no text");
  return 0;
}
