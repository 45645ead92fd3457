#include <unistd.h>

#include <cstdlib>
#include <string>

#include "sim/base/apportion.h"
#include "sim/routing/routing_statistics.h"
#include "tests/fuzz/fuzz_target.h"
#include "traces/routing/routing_reader.h"

namespace {

// SmartMoE's logs say iteration and rank in their names: a link of such a name to the file in memory.
class NamedFile {
 public:
  explicit NamedFile(const std::string& path) {
    if (mkdtemp(folder_) == nullptr) std::abort();
    link_ = std::string(folder_) + "/table_iter1_rank0.log";
    if (symlink(path.c_str(), link_.c_str()) != 0) std::abort();
  }
  ~NamedFile() {
    unlink(link_.c_str());
    rmdir(folder_);
  }
  NamedFile(const NamedFile&) = delete;
  NamedFile& operator=(const NamedFile&) = delete;

  [[nodiscard]] const std::string& path() const { return link_; }

 private:
  char folder_[64] = "/tmp/goodput-fuzz-routing-XXXXXX";
  std::string link_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const goodput::fuzz::MemoryFile file(data, size);
  const NamedFile named(file.path());
  const auto reading = goodput::read_routing_files({named.path()});
  if (!reading) return 0;
  const goodput::RoutingTrace& trace = reading->trace;
  constexpr std::int64_t kMostCounts = 1 << 16;  // keeps an input below a second
  if (static_cast<std::int64_t>(trace.iterations().size() * trace.layers().size()) * trace.experts() >
      kMostCounts) {
    return 0;
  }
  for (std::size_t i = 0; i < trace.iterations().size(); ++i) {
    for (std::size_t l = 0; l < trace.layers().size(); ++l) {
      static_cast<void>(goodput::skew_of(trace.loads(i, l)));
      static_cast<void>(goodput::apportion(trace.loads(i, l), 4096));
    }
  }
  return 0;
}
